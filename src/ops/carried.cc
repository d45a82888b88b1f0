// Elementwise operators on narrow types run in pieces that stay in the caches: each is converted to a wider type, for
// which the operator has a kernel, and its result back.
#include "ops/carried.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/checked.h"
#include "kernels/elementwise/cast.h"
#include "ops/math/arithmetic.h"
#include "ops/op.h"

namespace retort {
namespace {

constexpr size_t kPiece = 4096;  // elements of one piece of the output: a few buffers fit into the second cache
constexpr size_t kTask = 4;      // pieces

// A piece of the output is a range of one axis, for one index of all axes before it, with all axes after it.
struct Pieces {
  Shape shape;           ///< of the output
  size_t axis = 0;       ///< the axis that is divided
  size_t outer = 1;      ///< number of indices of the axes before it
  size_t extent = 1;     ///< of the axis
  size_t inner = 1;      ///< elements of the axes after it
  size_t per_outer = 1;  ///< number of ranges of the axis
  size_t range = 1;      ///< extent of all ranges but the last

  explicit Pieces(const Shape& out) : shape(out) {
    if (shape.rank() == 0) shape.push_back(1);
    inner = element_count(shape) / size_t(shape[0]);
    extent = size_t(shape[0]);
    while (inner > kPiece) {
      outer *= extent;
      extent = size_t(shape[++axis]);
      inner /= extent;
    }
    per_outer = ceil_div(extent, std::max<size_t>(1, kPiece / inner));
    range = ceil_div(extent, per_outer);
    per_outer = ceil_div(extent, range);
  }
  size_t count() const { return outer * per_outer; }
  size_t most() const { return range * inner; }
};

// One piece: `n` indices of the axis from `begin` on.
struct OnePiece {
  size_t outer, begin, n;
};

// What an input or output has of a piece.
struct Part {
  size_t offset = 0, count = 1;
  Shape shape;
};

// `shape` is broadcast to that of the output.
Part part_of(const Pieces& all, const OnePiece& piece, const Shape& shape) {
  Part part;
  const size_t missing = all.shape.rank() - std::min(all.shape.rank(), shape.rank());
  size_t step = 1, rest = piece.outer;
  std::vector<Dim> dims(all.shape.rank() - all.axis, 1);
  for (size_t d = all.shape.rank(); d-- > 0;) {
    const Dim extent = d < missing ? 1 : shape[d - missing];
    size_t index = d == all.axis ? piece.begin : 0;
    if (d < all.axis) {
      index = rest % size_t(all.shape[d]);
      rest /= size_t(all.shape[d]);
    } else {
      dims[d - all.axis] = d > all.axis || extent == 1 ? extent : Dim(piece.n);
      part.count *= size_t(dims[d - all.axis]);
    }
    if (extent != 1) part.offset += index * step;
    step *= size_t(extent);
  }
  part.shape = Shape(dims);
  return part;
}

// The type that computes, and its kernel.
struct Computed {
  DType type;
  KernelFn kernel;
};

Computed computed_as(const OpDef& op, DType dtype) {
  if (dtype == DType::f64) return {dtype, nullptr};
  if (is_float(dtype)) {
    const KernelFn fast = op.fast_for(DType::f32);
    return {DType::f32, fast ? fast : op.reference[0]};
  }
  // Twice as fast as 64 bits. Elements that wrap around do so when they are narrowed.
  if (dtype_bits(dtype) <= 16 && dtype != DType::boolean) {
    if (const KernelFn fast = op.fast_for(DType::i32)) return {DType::i32, fast};
  }
  const bool is_signed = contains(kSigned, dtype);
  return {is_signed ? DType::i64 : DType::u64, op.reference[is_signed ? 2 : 3]};
}

// The inputs and outputs of one piece after the other; one thread uses it.
class PieceRunner {
 public:
  PieceRunner(const OpDef& op, const void* params, const RunContext& whole, DType dtype, const Pieces& pieces)
      : params_(params), whole_(whole), dtype_(dtype), carrier_(computed_as(op, dtype)), pieces_(pieces) {
    const size_t n = whole.input_count(), m = whole.output_count();
    values_.resize(n + m);
    slots_.resize(n + m);
    buffer_bytes_ = round_up(pieces.most() * dtype_bits(carrier_.type) / 8, size_t(64));
    buffers_ = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes_ * (n + m) + 64);
    for (size_t i = 0; i < n; ++i) {
      if (whole.has(i)) add(i, whole.in_slot(i), has_constraint_t(op.info.inputs, i));
    }
    for (size_t i = 0; i < m; ++i) {
      if (whole.wants(i)) add(n + i, whole.out_slot(i), has_constraint_t(op.info.outputs, i));
    }
  }

  void run(const OnePiece& piece) {
    const size_t n = whole_.input_count();
    for (size_t i = 0; i < values_.size(); ++i) place(values_[i], piece, i < n);
    const Parallel alone;
    const std::span<Slot* const> slots = slots_;
    RunContext inner(slots.first(n), slots.subspan(n), nullptr, nullptr, alone);
    inner.set_carried(dtype_);
    carrier_.kernel(params_, inner);
    for (size_t i = n; i < values_.size(); ++i) {
      const Value& v = values_[i];
      if (v.converted) kernels::cast(v.slot.data, carrier_.type, v.at, dtype_, v.slot.count, {});
    }
  }

 private:
  struct Value {
    const Slot* from = nullptr;  ///< null: there is none
    bool converted = false;
    Slot slot;           ///< of the piece
    void* at = nullptr;  ///< the piece in `from`
    void* buffer = nullptr;
  };

  void add(size_t i, const Slot& from, bool is_t) {
    Value& v = values_[i];
    slots_[i] = &v.slot;
    v.from = &from;
    v.converted = is_t && from.dtype() == dtype_;
    v.slot.present = true;
    v.slot.type.kind = from.type.kind;
    v.slot.type.dtype = v.converted ? carrier_.type : from.dtype();
    const auto start = reinterpret_cast<uintptr_t>(buffers_.get());
    v.buffer = buffers_.get() + (round_up(size_t(start), size_t(64)) - start) + i * buffer_bytes_;
  }

  void place(Value& v, const OnePiece& piece, bool is_input) {
    if (!v.from) return;
    Part part = part_of(pieces_, piece, v.from->shape());
    void* const at = static_cast<std::byte*>(v.from->data) + part.offset * dtype_bits(v.from->dtype()) / 8;
    const bool is_there = v.at == at && v.slot.count == part.count;  // an input that all pieces repeat
    v.slot.type.shape = std::move(part.shape);
    v.slot.count = part.count;
    v.slot.data = v.converted ? v.buffer : at;
    v.at = at;
    if (is_input && v.converted && !is_there) kernels::cast(at, dtype_, v.buffer, carrier_.type, part.count, {});
  }

  const void* params_;
  const RunContext& whole_;
  DType dtype_;
  Computed carrier_;
  const Pieces& pieces_;
  std::vector<Value> values_;  ///< inputs, then outputs
  std::vector<Slot*> slots_;   ///< those of values_; null: there is none
  size_t buffer_bytes_ = 0;
  std::unique_ptr<std::byte[]> buffers_;
};

// All divisors are checked before an output is written; the error then has the index in the whole input.
void check_narrow_divisors(const RunContext& c, DType dtype) {
  if (dtype == DType::i8 || dtype == DType::u8) ops::check_divisors(c.input<uint8_t>(1));
  if (dtype == DType::i16 || dtype == DType::u16) ops::check_divisors(c.input<uint16_t>(1));
}

}  // namespace

bool runs_in_pieces(const OpDef& op, DType dtype) {
  return op.has(kElementwise) && kernels::can_cast(dtype) && computed_as(op, dtype).kernel != nullptr;
}

void run_in_pieces(const OpDef& op, const void* params, RunContext& context, DType dtype) {
  if (op.has(kDividesIntegers)) check_narrow_divisors(context, dtype);
  if (context.out_count() == 0) return;
  const Pieces pieces(context.out_shape());
  const size_t count = pieces.count();
  context.parallel().for_each(ceil_div(count, kTask), [&](size_t task, int) {
    PieceRunner runner(op, params, context, dtype, pieces);
    for (size_t i = task * kTask; i < std::min(count, (task + 1) * kTask); ++i) {
      const size_t begin = i % pieces.per_outer * pieces.range;
      runner.run({i / pieces.per_outer, begin, std::min(pieces.range, pieces.extent - begin)});
    }
  });
}

void run_carried(const OpDef& op, const void* params, RunContext& context, DType dtype) {
  if (runs_in_pieces(op, dtype)) return run_in_pieces(op, params, context, dtype);
  run_reference(op, params, context, dtype);
}

}  // namespace retort
