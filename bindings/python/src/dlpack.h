// DLPack: tensors of other packages without a copy, and back.
#pragma once

#include <nanobind/nanobind.h>

#include "engine.h"

namespace retort::python {

class Value;

// A tensor in the memory of a capsule "dltensor" or "dltensor_versioned", which is used up, or of an object with
// __dlpack__. The memory must be contiguous. It is released when the engine does not need it any more.
// `writeable` (may be null) is set to false for read-only memory.
Owned<OrtValue> tensor_of_dlpack(nanobind::handle object, bool* writeable = nullptr);

struct ExportOptions {
  bool versioned = false;  // if the consumer knows that: only then can the capsule say that the memory is read-only
  bool waits = true;       // for work of CUDA on the memory: the streams of that work are not known here
  bool as_host = false;    // pinned memory as ordinary memory of the host
};

// A capsule over the memory of a Python OrtValue, which it keeps alive.
nanobind::object dlpack_of_value(nanobind::handle value, const ExportOptions& options = {});

// (device type, device) in DLPack's numbers.
nanobind::tuple dlpack_device_of(const Value& value);

}  // namespace retort::python
