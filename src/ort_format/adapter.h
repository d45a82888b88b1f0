// Adapters (LoRA): values for inputs of a model, in the flatbuffers that ONNX Runtime's AdapterFormat writes, version
// 1.
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
  int version = 0, model_version = 0;  ///< numbers that the adapter's author chose
  std::vector<Parameter> parameters;
};

/// Throws invalid_argument if the file does not exist, and fail if it is not an adapter or is broken, naming the file
/// or the parameter. The bytes are copied. Thread-safe.
Adapter read_adapter(const std::string& path);
Adapter read_adapter(std::span<const std::byte> bytes);

}  // namespace retort
