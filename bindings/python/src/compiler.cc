

#include "rooms.h"

namespace retort::python {

void bind_compiler(nanobind::module_&) {}

}  // namespace retort::python
