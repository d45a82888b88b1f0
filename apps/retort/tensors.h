// Tensors in files (.npy, ONNX TensorProto .pb) and at random.
#pragma once
#include <string>

#include "engine.h"

namespace retort::cli {

/// By the suffix of the path: .npy (C order), .pb. Throws Failure naming the file.
HostTensor read_tensor_file(const std::string& path);
/// Throws Failure for element types that numpy does not have.
void write_npy(const std::string& path, const HostTensor& tensor);
/// Normal floats, integers 0 and 1; the same for the same seed. Free extents become 1 where `shape` is empty.
HostTensor random_tensor(const PortInfo& port, const std::vector<int64_t>& shape, uint64_t seed);

/// Whether the elements are real numbers: not strings, not complex.
bool is_real(ONNXTensorElementDataType type);
/// Element i of a tensor of real numbers; 64-bit integers are rounded.
double number(const HostTensor& tensor, size_t i);

}  // namespace retort::cli
