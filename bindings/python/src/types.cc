#include "types.h"

#include "rooms.h"

namespace retort::python {}  // namespace retort::python
