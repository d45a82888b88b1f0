#include "sparse.h"

#include "rooms.h"

namespace retort::python {

void bind_sparse(nanobind::module_&) {}

}  // namespace retort::python
