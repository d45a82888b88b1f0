// Data movement: copies between boxes of memory with strides, which most operators of moves*.cc are.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/core/operators.h"

namespace providers::cuda {

constexpr size_t kMostAxes = 12;  ///< of a box after contiguous axes are merged; kernels/words.cuh has the same

/// One axis of a box: its extent, and the elements from one position to the next in the source and in the target. In
/// the source, 0 repeats the element and a negative number reads backwards.
struct BoxAxis {
  int64_t extent = 1, from = 0, to = 0;
};
/// A copy of elements; `from` and `to` are the places of the first element.
struct Box {
  std::vector<BoxAxis> axes;  ///< in the order of the target's memory
  int64_t from = 0, to = 0;
};
/// Adds the steps that copy the box: nothing if it is empty, a plain copy if it is contiguous, or one launch.
void emit_box(Emitter& e, Box box, const Operand& from, const Operand& to);
/// The box without axes of extent 1, and with axes merged that are contiguous on both sides.
Box simplified(Box box);
/// Whether all elements lie one after another on both sides.
bool is_contiguous(const Box& box);

/// Makes output `i`, in layout `rows`, as the box of `from` (its `to` strides must be those of the output): a view
/// where the elements are contiguous and aligned well enough for every reader, or else a copy.
void emit_view(Emitter& e, size_t i, const Box& box, const Operand& from, const Dims& dims);

/// Strides of a tensor whose axes lie in this order.
Dims strides_of(const Dims& dims);
/// The dims in the order in which they lie in memory, and the place there of axis `axis` of ONNX's order.
Dims in_memory(const Dims& dims, Layout layout);
size_t place_of(size_t axis, size_t rank, Layout layout);

/// `count` elements of an axis: start, start + step and so on.
struct AxisSlice {
  int64_t start = 0, step = 1, count = 0;
};
/// Of start and end as ONNX gives them; step is not 0.
AxisSlice slice_axis(int64_t start, int64_t end, int64_t step, int64_t extent);
/// All of each axis.
std::vector<AxisSlice> whole(const Dims& dims);
/// Makes output `i` from slices of each axis of `x`, in the layout of `x`. `as`: the dims of the output, which may lack
/// axes of one element if `x` is in layout `rows`.
void emit_slice(Emitter& e, size_t i, const Operand& x, const std::vector<AxisSlice>& slices, const Dims& as);

/// Rows of `inner` words, which `chosen` indices (int64 or int32) choose among `extent`: an argument of
/// kernels/gather.cu.
struct RowChoice {
  int64_t inner, chosen, extent;
  bool is_long;
};
Argument rows_of(const RowChoice& choice, bool narrow);

int64_t product(const Dims& dims, size_t begin, size_t end);
/// Axis counted from the begin; throws through `e` if there is no such axis.
size_t axis_of(const Emitter& e, int64_t axis, size_t rank);

/// The widest word of at most 16 bytes that divides `bytes`, which is not 0, and is no smaller than `unit`.
size_t word_for(size_t unit, std::initializer_list<int64_t> bytes);
/// A kernel of a file that follows kernels/words.cuh.
struct Entry {
  const char *file, *name;
};
/// The kernel for words of `word` bytes, of which elements have `unit`. `narrow`: all places are below kNarrow.
Kernel move_kernel(Device& device, const Entry& entry, size_t word, size_t unit, bool narrow, Defines more = {});
inline Kernel move_kernel(Emitter& e, const Entry& entry, size_t word, size_t unit, bool narrow, Defines more = {}) {
  return move_kernel(e.device(), entry, word, unit, narrow, std::move(more));
}

/// Division of numbers below 2^31 by multiplication; kernels have the same struct, and that of 64 bits.
struct Divisor {
  uint32_t by = 1, magic = 0, shift = 0;
  Divisor() = default;
  explicit Divisor(int64_t d);
};
struct WideDivisor {
  int64_t by = 1;
  WideDivisor() = default;
  explicit WideDivisor(int64_t d) : by(d) {}
};
/// The axes over which a kernel walks, as in kernels/words.cuh: with Divisor and int32_t, or with WideDivisor and
/// int64_t.
template <typename D, typename Stride>
struct Walk {
  int32_t rank = 0;
  D extent[kMostAxes];
  Stride from[kMostAxes] = {}, to[kMostAxes] = {};
};
/// Of these axes; the caller checks that there are at most kMostAxes.
Argument walk_of(const std::vector<BoxAxis>& axes, bool narrow);
constexpr int64_t kNarrow = int64_t(1) << 31;  ///< places below fit kernels that count in 32 bits

/// The bits of a number as an element of the type.
int64_t bits_of(Type type, double value);

/// "" if elements of the type can be moved: they have 1, 2, 4 or 8 bytes.
std::string refuses_type(const Value* value);
/// "" if the host will know input `i`, or if it is omitted.
std::string refuses_unknown(const Node& node, const Claiming& claiming, size_t i, const char* what);
/// "" if the input is int32 or int64.
std::string refuses_index(const Value* value);

// Each file of moves*.cc adds its operators.
void add_transposes(Kinds& kinds);
void add_joins(Kinds& kinds);
void add_slices(Kinds& kinds);
void add_gathers(Kinds& kinds);
void add_scatters(Kinds& kinds);
void add_pads(Kinds& kinds);
void add_fills(Kinds& kinds);
void add_samples(Kinds& kinds);  // resize_samples.cc: GridSample, AffineGrid, RoiAlign

/// A Kind whose operator is made from its node: Made(node).
template <typename Made>
Kind kind_of(std::function<std::string(const Node&, const Claiming&)> refuses) {
  return {std::move(refuses),
          [](const Node& node, Builder&) -> std::unique_ptr<Op> { return std::make_unique<Made>(node); }};
}

}  // namespace providers::cuda
