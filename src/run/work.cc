#include "run/work.h"

#include <algorithm>
#include <cmath>

namespace retort {
namespace {

constexpr double kCallNs = 150;  // of a kernel that has next to nothing to do
constexpr double kMacsPerNs = 40, kWeightBytesPerNs = 40, kBytesPerNs = 25;
constexpr double kPickedBytesPerNs = 6;  // rows from anywhere in a table
constexpr double kReferenceTimes = 10;   // a plain loop through a carrier
// How kernels cut their work: products, other multiply-adds, everything else.
constexpr double kProductMacs = 640 << 10, kProductBytes = 256 << 10, kPieceMacs = 128 << 10, kPieceBytes = 128 << 10;
constexpr double kShareNs = 1500;  // handing pieces out and waiting for the last

enum class Kind : uint8_t { convolution, transposed, product, attention, recurrent, pick, part };

struct Known {
  std::string_view name;
  Kind kind;
  size_t weights = 1;  ///< input
};
constexpr Known kKnown[] = {
    {"Conv", Kind::convolution},
    {"ConvInteger", Kind::convolution},
    {"QLinearConv", Kind::convolution, 3},
    {"DeformConv", Kind::convolution},
    {"ConvTranspose", Kind::transposed},
    {"Linear", Kind::product},
    {"MatMul", Kind::product},
    {"Gemm", Kind::product},
    {"FusedMatMul", Kind::product},
    {"MatMulInteger", Kind::product},
    {"QLinearMatMul", Kind::product},
    {"MatMulNBits", Kind::product},
    {"Attention", Kind::attention},
    {"GroupQueryAttention", Kind::attention},
    {"LSTM", Kind::recurrent},
    {"GRU", Kind::recurrent},
    {"RNN", Kind::recurrent},
    {"Gather", Kind::pick},
    {"GatherElements", Kind::pick},
    {"GatherND", Kind::pick},
    {"Slice", Kind::part},
};

/// The values of a step.
struct Seen {
  std::span<const Slot> slots;
  const Step& step;

  const Slot* in(size_t i) const {
    return i < step.inputs.size() && step.inputs[i] != kNoSlot ? &slots[step.inputs[i]] : nullptr;
  }
  double count(size_t i) const { return in(i) ? double(in(i)->count) : 0; }
  /// Extent `axis` of a value, from the end; 1 where it has none.
  static double from_end(const Slot* s, size_t axis) {
    return s && s->type.shape.rank() >= axis ? double(s->type.shape[s->type.shape.rank() - axis]) : 1;
  }
  double first_extent(size_t i) const { return in(i) && in(i)->type.shape.rank() ? double(in(i)->type.shape[0]) : 1; }
  const Slot* out() const {
    const auto found = std::ranges::find_if(step.outputs, [](SlotIndex v) { return v != kNoSlot; });
    return found == step.outputs.end() ? nullptr : &slots[*found];
  }
};

double per(double a, double b) { return b > 0 ? a / b : 0; }

double multiply_adds(const Seen& s, const Known& k) {
  const double out = s.out() ? double(s.out()->count) : 0;
  switch (k.kind) {
    case Kind::convolution:
      return out * per(s.count(k.weights), s.first_extent(k.weights));
    case Kind::transposed:
      return s.count(0) * per(s.count(1), s.first_extent(1));
    case Kind::product:  // rows times inner extent of the left matrix, turned or not, times columns
      return per(Seen::from_end(s.in(0), 1) * Seen::from_end(s.in(0), 2), Seen::from_end(s.out(), 2)) * out;
    case Kind::attention:
      return 2 * s.count(0) * Seen::from_end(s.in(1), s.in(1) && s.in(1)->type.shape.rank() == 3 ? 2 : 3);
    case Kind::recurrent:
      return per(s.count(0), Seen::from_end(s.in(0), 1)) * (s.count(1) + s.count(2));
    case Kind::pick:
    case Kind::part:
      break;
  }
  return 0;
}

struct Guess {
  double ns = 0;
  double pieces = 0;  ///< that the kernel cuts it into
  double rounds = 1;  ///< of pieces, one after the other
};

Guess guess(const Plan& plan, const Seen& s) {
  double made = 0, read = 0, weights = 0;
  for (const SlotIndex v : s.step.outputs)
    made += v == kNoSlot ? 0 : double(dtype_bytes(s.slots[v].type.dtype, s.slots[v].count));
  for (const SlotIndex v : s.step.inputs) {
    if (v == kNoSlot) continue;
    (plan.values[v].home == Home::constant ? weights : read) +=
        double(dtype_bytes(s.slots[v].type.dtype, s.slots[v].count));
  }
  const auto known = std::ranges::find(kKnown, s.step.op->info.name, &Known::name);
  if (known == std::end(kKnown)) return {(made + read + weights) / kBytesPerNs, (made + read) / kPieceBytes};
  if (known->kind == Kind::part) return {2 * made / kBytesPerNs, 2 * made / kPieceBytes};
  if (known->kind == Kind::pick) return {made / kPickedBytesPerNs, made / kPieceBytes};
  const double macs = multiply_adds(s, *known);
  Guess g{std::max(macs / kMacsPerNs, weights / kWeightBytesPerNs + (made + read) / kBytesPerNs), macs / kPieceMacs};
  if (known->kind == Kind::product) g.pieces = std::max(macs / kProductMacs, weights / kProductBytes);
  if (known->kind == Kind::recurrent) g.rounds = std::max(s.first_extent(0), 1.0);
  g.pieces /= g.rounds;
  return g;
}

}  // namespace

Work guess_work(const Plan& plan, std::span<const Slot> slots, const Step& step, int threads) {
  const Guess g = guess(plan, {slots, step});
  Work work;
  work.alone = kCallNs + g.ns * (step.kernel.fn ? 1 : kReferenceTimes);
  const double pieces = std::max(std::floor(g.pieces), 1.0), at_once = pieces / std::ceil(pieces / threads);
  work.all = work.alone / at_once + (at_once > 1 ? g.rounds * kShareNs : 0);
  return work;
}

}  // namespace retort
