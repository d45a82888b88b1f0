

#include "rooms.h"

namespace retort::python {

void bind_binding(nanobind::module_&) {}

}  // namespace retort::python
