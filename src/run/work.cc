#include "run/work.h"

#include <algorithm>
#include <cmath>

#include "ops/op.h"

namespace retort {
namespace {

constexpr double kCallNs = 150;  // cost of a call to a kernel with almost no work
constexpr double kMacsPerNs = 40, kWeightBytesPerNs = 40, kBytesPerNs = 25;
constexpr double kPickedBytesPerNs = 6;  // for rows that are scattered over a table
constexpr double kReferenceTimes = 10;   // a reference is this many times slower than a kernel
// The size of the pieces into which kernels divide their work: products, other multiply-adds, everything else.
constexpr double kProductMacs = 640 << 10, kProductBytes = 256 << 10, kPieceMacs = 128 << 10, kPieceBytes = 128 << 10;
constexpr double kShareNs = 1500;  // time to hand out pieces and to wait for the last

/// The values of a step, whose extents are numbers.
class StepShapes final : public CostContext {
 public:
  StepShapes(std::span<const Slot> slots, const Step& step) : slots_(slots), step_(step) {}

 private:
  const ValueType* type(std::span<const SlotIndex> values, size_t i) const {
    return i < values.size() && values[i] != kNoSlot ? &slots_[values[i]].type : nullptr;
  }
  const ValueType* input(size_t i) const override { return type(step_.inputs, i); }
  const ValueType* output(size_t i) const override { return type(step_.outputs, i); }
  double number(Dim extent) const override { return double(extent); }

  std::span<const Slot> slots_;
  const Step& step_;
};

struct Bytes {
  double made = 0, read = 0, weights = 0;
};

Bytes bytes_of(const Plan& plan, std::span<const Slot> slots, const Step& step) {
  Bytes b;
  const auto size = [&](SlotIndex v) { return double(dtype_bytes(slots[v].type.dtype, slots[v].count)); };
  for (const SlotIndex v : step.outputs) b.made += v == kNoSlot ? 0 : size(v);
  for (const SlotIndex v : step.inputs) {
    if (v != kNoSlot) (plan.values[v].home == Home::constant ? b.weights : b.read) += size(v);
  }
  return b;
}

struct Guess {
  double ns = 0;
  double pieces = 0;  ///< number of pieces into which the kernel divides it
};

Guess guess(const Cost& cost, const Bytes& b) {
  if (cost.access == Access::part) return {2 * b.made / kBytesPerNs, 2 * b.made / kPieceBytes};
  if (cost.access == Access::rows) return {b.made / kPickedBytesPerNs, b.made / kPieceBytes};
  if (!(cost.multiply_adds > 0)) return {(b.made + b.read + b.weights) / kBytesPerNs, (b.made + b.read) / kPieceBytes};
  const double macs = cost.multiply_adds;
  return {std::max(macs / kMacsPerNs, b.weights / kWeightBytesPerNs + (b.made + b.read) / kBytesPerNs),
          cost.tiles ? std::max(macs / kProductMacs, b.weights / kProductBytes) : macs / kPieceMacs};
}

}  // namespace

Work guess_work(const Plan& plan, std::span<const Slot> slots, const Step& step, int threads) {
  const Cost cost = cost_of(*step.op, step.params.get(), StepShapes(slots, step));
  const Guess g = guess(cost, bytes_of(plan, slots, step));
  const double rounds = cost.rounds > 1 ? cost.rounds : 1;
  Work work;
  work.alone = kCallNs + g.ns * (step.kernel.fn ? 1 : kReferenceTimes);
  const double pieces = std::max(std::floor(g.pieces / rounds), 1.0), at_once = pieces / std::ceil(pieces / threads);
  work.all = work.alone / at_once + (at_once > 1 ? rounds * kShareNs : 0);
  return work;
}

}  // namespace retort
