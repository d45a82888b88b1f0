

#include "rooms.h"

namespace retort::python {

void bind_options(nanobind::module_&) {}

}  // namespace retort::python
