// Tensors in files (.npy, ONNX TensorProto .pb) and at random.
#pragma once
#include <string>

#include "engine.h"

namespace retort::cli {

/// By the suffix of the path: .npy (C order), .pb. Throws Failure naming the file.
HostTensor read_tensor_file(const std::string& path);
void write_npy(const std::string& path, const HostTensor& tensor);
/// Normal floats, small integers; the same for the same seed. Symbolic extents become `extent` unless `shape` gives
/// them.
HostTensor random_tensor(const PortInfo& port, const std::vector<int64_t>& shape, uint64_t seed, int64_t extent = 1);

}  // namespace retort::cli
