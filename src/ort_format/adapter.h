// Adapters (LoRA): values for inputs of a model, in the flatbuffers that ONNX Runtime's AdapterFormat writes, version 1.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace retort {

struct Adapter {
  struct Parameter {
    std::string name;
    Value value;  ///< a tensor
  };
  int version = 0, model_version = 0;  ///< what its maker numbered
  std::vector<Parameter> parameters;
};

/// Throws invalid_argument where there is no such file, fail for what is no adapter or broken, naming the file or the
/// parameter. The bytes are copied. Thread-safe.
Adapter read_adapter(const std::string& path);
Adapter read_adapter(std::span<const std::byte> bytes);

}  // namespace retort
