

#include "rooms.h"

namespace retort::python {

void bind_devices(nanobind::module_&) {}

}  // namespace retort::python
