// Files of LoRA adapters (".onnx_adapter"): FlatBuffers with the identifier TORT. Knows nothing of Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retort::python {

// A named tensor. `type` is a number of onnx.TensorProto.DataType; `data` are the elements, little-endian.
struct AdapterParameter {
  std::string name;
  int32_t type = 0;
  std::vector<int64_t> shape;
  std::string_view data;
};

struct AdapterContents {
  int32_t format = 1;
  int32_t version = 0;
  int32_t model_version = 0;
  std::vector<AdapterParameter> parameters;
};

// The contents of a file. `data` of the parameters are views of `bytes`. Throws Misuse if a part lies outside.
AdapterContents parse_adapter(std::string_view bytes);

// The bytes of a file. Throws Misuse above 2 GiB, which FlatBuffers cannot express.
std::string write_adapter(const AdapterContents& contents);

}  // namespace retort::python
