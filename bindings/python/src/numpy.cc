#include "numpy.h"

#include "rooms.h"

namespace retort::python {

void bind_numpy(nanobind::module_&) {}

}  // namespace retort::python
