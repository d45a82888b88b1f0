#include "memory.h"

#include "rooms.h"

namespace retort::python {

void bind_memory(nanobind::module_&) {}

}  // namespace retort::python
