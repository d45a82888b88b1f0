// Sequences and maps.
#pragma once

#include <vector>

#include "engine.h"
#include "types.h"

namespace retort::python {

// A sequence or map of values, which the result shares. Throws Error.
Owned<OrtValue> container_of(ONNXType kind, const std::vector<const OrtValue*>& values);

// A sequence of tensors without elements. The C interface cannot make one, so the operator SequenceEmpty does.
Owned<OrtValue> empty_sequence(Element element);

// Elements of a sequence; 2 for a map.
size_t count_of(const OrtValue* container);

// A copy of an element of a sequence; of the keys (0) or values (1) of a map.
Owned<OrtValue> value_at(const OrtValue* container, size_t index);

}  // namespace retort::python
