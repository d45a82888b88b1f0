#include <algorithm>

#include "reductions.h"

namespace providers::cuda::over_axes {
namespace {

constexpr Type kF32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, kF16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
               kBf16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, kF64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
               kI32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, kI64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
               kU32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, kU64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64,
               kI8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, kU8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
               kBool = ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;

// Adds an axis behind the others, merging it into the last one where that is contiguous with it.
bool add_axis(Walk& walk, int64_t size, int64_t stride) {
  if (walk.rank == Walk::kMost) return false;
  walk.size[walk.rank] = size;
  walk.stride[walk.rank++] = stride;
  return true;
}

void drop_first(Walk& walk) {
  for (int i = 1; i < walk.rank; ++i) {
    walk.size[i - 1] = walk.size[i];
    walk.stride[i - 1] = walk.stride[i];
  }
  --walk.rank;
}

}  // namespace

Merged merge_axes(const Dims& dims, const std::vector<bool>& reduced) {
  Merged m;
  int64_t stride = 1;
  int last = -1;  // whether the axis before was reduced
  for (size_t d = dims.size(); d-- > 0;) {
    if (reduced[d]) m.count *= dims[d];
    if (!reduced[d]) m.outs *= dims[d];
    if (dims[d] == 1) continue;
    Walk& walk = reduced[d] ? m.reduced : m.kept;
    if (last == int(reduced[d]))
      walk.size[walk.rank - 1] *= dims[d];
    else if (!add_axis(walk, dims[d], stride))
      m.fits = false;
    if (!m.fits) return m;
    if (last < 0 && !reduced[d]) m.columns = 1;
    last = int(reduced[d]);
    stride *= dims[d];
  }
  if (m.columns) {
    m.columns = m.kept.size[0];
    drop_first(m.kept);
  }
  if (m.reduced.rank == 0) add_axis(m.reduced, m.count, 1);
  m.plain = m.reduced.rank == 1;
  return m;
}

size_t axis_of(const Emitter& e, int64_t axis, size_t rank) {
  const int64_t r = int64_t(rank), at = axis < 0 ? axis + r : axis;
  if (at < 0 || at >= std::max<int64_t>(r, 1)) e.fail(text("axis ", axis, " for rank ", r));
  return size_t(at);
}

int64_t product(const Dims& dims, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t i = begin; i < end; ++i) n *= dims[i];
  return n;
}

AroundAxis around_axis(const Emitter& e, int64_t axis, const Dims& dims) {
  AroundAxis a;
  a.axis = axis_of(e, axis, dims.size());
  if (dims.empty()) return a;
  a.outer = product(dims, 0, a.axis);
  a.length = dims[a.axis];
  a.inner = product(dims, a.axis + 1, dims.size());
  return a;
}

bool is_real(Type type) { return type == kF32 || type == kF16 || type == kBf16; }

std::string refuses_type(const Node& node, size_t i, const std::string& types) {
  const Value* v = node.input(i);
  if (!v) return text("input ", i, " is missing");
  const auto group = [&]() -> char {
    if (is_real(v->type)) return 'f';
    if (v->type == kF64) return 'd';
    if (v->type == kI32 || v->type == kI64) return 'i';
    if (v->type == kU32 || v->type == kU64) return 'u';
    return v->type == kI8 || v->type == kU8 || v->type == kBool ? 'b' : '-';
  }();
  return types.find(group) != std::string::npos ? "" : text("input ", i, " has type ", name_of(v->type));
}

std::string refuses_unknown(const Node& node, const Claiming& claiming, size_t i, const char* what) {
  const Value* v = node.input(i);
  const bool read =
      v && !v->maker;  // an input of the graph, of one or a few elements: the host reads it before the run
  return !v || read || claiming.known(v) ? "" : text("the values of ", what, " are not known before the run");
}

std::string stored_type(Type type) { return type == kBool ? "u8" : kernel_type(type); }

std::string summed_type(Type type) { return is_real(type) ? "float" : type == kF64 ? "double" : "i64"; }

size_t summed_bytes(Type type) { return is_real(type) ? 4 : 8; }

std::string least_of(Type type) {
  switch (type) {
    case kI32:
      return "(-2147483647-1)";
    case kI64:
      return "(-9223372036854775807LL-1)";
    case kI8:
      return "(-128)";
    case kU32:
    case kU64:
    case kU8:
    case kBool:
      return "0";
    default:
      return "(-bits_to_float(0x7f800000u))";
  }
}

std::string greatest_of(Type type) {
  switch (type) {
    case kI32:
      return "2147483647";
    case kI64:
      return "9223372036854775807LL";
    case kI8:
      return "127";
    case kU32:
      return "4294967295u";
    case kU64:
      return "18446744073709551615ull";
    case kU8:
      return "255";
    case kBool:
      return "1";
    default:
      return "bits_to_float(0x7f800000u)";
  }
}

}  // namespace providers::cuda::over_axes
