

#include "rooms.h"

namespace retort::python {

void bind_session(nanobind::module_&) {}

}  // namespace retort::python
