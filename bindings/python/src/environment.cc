

#include "rooms.h"

namespace retort::python {

void bind_environment(nanobind::module_&) {}

}  // namespace retort::python
