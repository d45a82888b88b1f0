// What operators that move data share.
#include "moves.h"

#include "cuda/core/known_data.h"

namespace providers::cuda {

Divisor::Divisor(int64_t d) : by(uint32_t(d)) {
  while ((uint64_t(1) << shift) < by) ++shift;
  magic = uint32_t((uint64_t(1) << 32) * ((uint64_t(1) << shift) - by) / by + 1);
}

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

size_t place_of(size_t axis, size_t rank, Layout layout) {
  if (layout == Layout::rows || axis == 0 || rank < 3) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

Dims in_memory(const Dims& dims, Layout layout) {
  Dims result(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) result[place_of(d, dims.size(), layout)] = dims[d];
  return result;
}

int64_t product(const Dims& dims, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t d = begin; d < end; ++d) n *= dims[d];
  return n;
}

size_t axis_of(const Emitter& e, int64_t axis, size_t rank) {
  if (axis < -int64_t(rank) || axis >= int64_t(rank)) e.fail(text("axis ", axis, " of a tensor of ", rank, " axes"));
  return size_t(axis < 0 ? axis + int64_t(rank) : axis);
}

size_t word_for(size_t unit, std::initializer_list<int64_t> bytes) {
  for (size_t word = 16; word > unit; word /= 2)
    if (std::all_of(bytes.begin(), bytes.end(), [word](int64_t b) { return b % int64_t(word) == 0; })) return word;
  return unit;
}

Kernel move_kernel(Device& device, const Entry& entry, size_t word, size_t unit, bool narrow, Defines more) {
  more["WORD"] = std::to_string(word);
  more["UNIT"] = std::to_string(unit);
  more["WIDE"] = narrow ? "0" : "1";
  return device.kernels().compile(kernel_text("words.cuh") + kernel_text(entry.file), entry.name, more);
}

namespace {

template <typename D, typename Stride>
Argument make_walk(const std::vector<BoxAxis>& axes) {
  Walk<D, Stride> walk;
  for (const BoxAxis& a : axes) {
    walk.extent[walk.rank] = D(a.extent);
    walk.from[walk.rank] = Stride(a.from);
    walk.to[walk.rank++] = Stride(a.to);
  }
  return Argument::of(walk);
}

}  // namespace

Argument walk_of(const std::vector<BoxAxis>& axes, bool narrow) {
  return narrow ? make_walk<Divisor, int32_t>(axes) : make_walk<WideDivisor, int64_t>(axes);
}

int64_t bits_of(Type type, double value) {
  int64_t bits = 0;
  store_known({{int64_t(value)}, {value}}, type, &bits);
  return bits;
}

std::string refuses_type(const Value* value) {
  if (!value || size_of(value->type) == 0) return text("elements of type ", name_of(value ? value->type : Type()));
  return "";
}

std::string refuses_unknown(const Node& node, const Claiming& claiming, size_t i, const char* what) {
  if (!node.input(i) || claiming.known(node.in[i])) return "";
  return text(what, " is computed on the device");
}

std::string refuses_index(const Value* value) {
  if (value &&
      (value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 || value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32))
    return "";
  return text("indices of type ", name_of(value ? value->type : Type()), ", expected int32 or int64");
}

void add_moves(Kinds& kinds) {
  for (const auto add : {add_transposes, add_joins, add_slices, add_gathers, add_scatters, add_pads, add_fills})
    add(kinds);
}

}  // namespace providers::cuda
