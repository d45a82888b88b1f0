

#include "rooms.h"

namespace retort::python {

void bind_dlpack(nanobind::module_&) {}

}  // namespace retort::python
