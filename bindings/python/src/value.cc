#include "value.h"

#include "rooms.h"

namespace retort::python {

void bind_value(nanobind::module_&) {}

}  // namespace retort::python
