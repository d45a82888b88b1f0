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

// The values of a container: elements of a sequence; keys and values of a map.
std::vector<Owned<OrtValue>> values_of(const OrtValue* container);

}  // namespace retort::python
