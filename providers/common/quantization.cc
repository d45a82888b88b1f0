#include "quantization.h"

#include <algorithm>

namespace providers {
namespace {

bool is_node(const Node& node, const char* type) {
  return node.type == type && node.domain.empty() && !node.in.empty() && node.in[0] && !node.out.empty() && node.out[0];
}

}  // namespace

bool is_byte(const Value* v) {
  return v && (v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 || v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8);
}

std::vector<int32_t> stored(const OrtValue* value) {
  const TensorView v = view_of(value);
  std::vector<int32_t> list(v.count());
  if (v.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8)
    std::copy_n(static_cast<const uint8_t*>(v.data), list.size(), list.begin());
  else if (v.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8)
    std::copy_n(static_cast<const int8_t*>(v.data), list.size(), list.begin());
  else if (v.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32)
    std::copy_n(static_cast<const int32_t*>(v.data), list.size(), list.begin());
  else
    list.clear();
  return list;
}

Scale scale_of(const Node& node, size_t scale, size_t zero, size_t axis) {
  const Value* factors = node.input(scale);
  if (!factors || !factors->constant || factors->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return {};
  const TensorView v = view_of(factors->constant);
  if (v.dims.size() > 1 || v.count() == 0) return {};
  const auto* first = static_cast<const float*>(v.data);
  Scale s{{first, first + v.count()}, 0, axis};
  if (!node.input(zero)) return s;
  if (!node.in[zero]->constant) return {};
  const std::vector<int32_t> zeros = stored(node.in[zero]->constant);
  if (zeros.empty() || std::any_of(zeros.begin(), zeros.end(), [&](int32_t z) { return z != zeros[0]; })) return {};
  s.zero = zeros[0];
  return s;
}

Scale dequantization(const Node& node) {
  const int64_t axis = node.integer("axis", 1);
  return scale_of(node, 1, 2, size_t(axis < 0 ? axis + int64_t(node.in[0]->rank()) : axis));
}

bool dequantizes(const Node& node) {
  if (!is_node(node, "DequantizeLinear")) return false;
  const Value& x = *node.in[0];
  const bool known = is_byte(&x) || (x.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 && x.constant);
  if (!known || !x.has_rank || node.integer("block_size", 0)) return false;
  if (node.out[0]->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return false;
  const Scale s = dequantization(node);
  return s.scales.size() == 1 || (s.axis < x.rank() && x.dims[s.axis] == int64_t(s.scales.size()));
}

bool quantizes(const Node& node) {
  if (!is_node(node, "QuantizeLinear")) return false;
  const Value& x = *node.in[0];
  return x.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && x.has_rank && is_byte(node.out[0]) &&
         !node.integer("block_size", 0) && scale_of(node, 1, 2).scales.size() == 1;
}

}  // namespace providers
