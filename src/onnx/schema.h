// Field numbers of onnx.proto (onnx 1.23) that are read or written, one namespace per message.
#pragma once
#include <cstdint>

namespace retort::onnx {

/// Newest IR version of the pinned onnx release.
inline constexpr int64_t kMaxIrVersion = 14;
inline constexpr int kMaxOpset = 28;  ///< of the domain ai.onnx

/// AttributeProto.AttributeType
enum class AttributeKind : int32_t {
  undefined = 0,
  f = 1,
  i = 2,
  s = 3,
  tensor = 4,
  graph = 5,
  floats = 6,
  ints = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type_proto = 13,
  type_protos = 14
};

namespace tag {

namespace model {
enum : uint32_t {
  ir_version = 1,
  producer_name = 2,
  producer_version = 3,
  domain = 4,
  model_version = 5,
  doc = 6,
  graph = 7,
  opset_import = 8,
  metadata = 14,
  functions = 25
};
}
namespace opset {
enum : uint32_t { domain = 1, version = 2 };
}
namespace entry {  // StringStringEntryProto
enum : uint32_t { key = 1, value = 2 };
}
namespace graph {
enum : uint32_t {
  node = 1,
  name = 2,
  initializer = 5,
  doc = 10,
  input = 11,
  output = 12,
  value_info = 13,
  sparse_initializer = 15
};
}
namespace value_info {
enum : uint32_t { name = 1, type = 2 };
}
namespace node {
enum : uint32_t { input = 1, output = 2, name = 3, op_type = 4, attribute = 5, domain = 7, overload = 8 };
}
namespace attribute {
enum : uint32_t {
  name = 1,
  f = 2,
  i = 3,
  s = 4,
  t = 5,
  g = 6,
  floats = 7,
  ints = 8,
  strings = 9,
  tensors = 10,
  graphs = 11,
  tp = 14,
  type_protos = 15,
  type = 20,
  ref_attr_name = 21,
  sparse_tensor = 22,
  sparse_tensors = 23
};
}
namespace tensor {
enum : uint32_t {
  dims = 1,
  data_type = 2,
  segment = 3,
  float_data = 4,
  int32_data = 5,
  string_data = 6,
  int64_data = 7,
  name = 8,
  raw_data = 9,
  double_data = 10,
  uint64_data = 11,
  doc = 12,
  external_data = 13,
  data_location = 14
};
}
namespace sparse {
enum : uint32_t { values = 1, indices = 2, dims = 3 };
}
namespace type {  // TypeProto
enum : uint32_t { tensor = 1, sequence = 4, map = 5, opaque = 7, sparse = 8, optional = 9 };
}
namespace tensor_type {  // TypeProto.Tensor, .SparseTensor, .Sequence and .Optional; only the first two have a shape
enum : uint32_t { elem_type = 1, shape = 2 };
}
namespace map_type {
enum : uint32_t { key_type = 1, value_type = 2 };
}
namespace shape {
enum : uint32_t { dim = 1 };
}
namespace dim {
enum : uint32_t { value = 1, param = 2, denotation = 3 };
}
namespace function {
enum : uint32_t {
  name = 1,
  input = 4,
  output = 5,
  attribute = 6,
  node = 7,
  opset_import = 9,
  domain = 10,
  attribute_proto = 11,
  value_info = 12,
  overload = 13
};
}

}  // namespace tag
}  // namespace retort::onnx
