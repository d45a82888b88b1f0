#include "lora.h"

#include "rooms.h"

namespace retort::python {

void bind_lora(nanobind::module_&) {}

}  // namespace retort::python
