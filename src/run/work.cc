#include "run/work.h"

#include <algorithm>

namespace retort {
namespace {

constexpr double kCallNs = 150;  // of a kernel that has next to nothing to do
constexpr double kMacsPerNs = 40, kWeightBytesPerNs = 40, kBytesPerNs = 25;
constexpr double kPickedBytesPerNs = 6;             // rows from anywhere in a table
constexpr double kReferenceTimes = 10;              // a plain loop through a carrier
constexpr double kPieceNs = 6000, kShareNs = 1500;  // kernels cut work into pieces of about so much; handing them out

enum class Kind : uint8_t { convolution, transposed, product, attention, recurrent, pick };

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
    {"Slice", Kind::pick},
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
      break;
  }
  return 0;
}

double one_thread(const Plan& plan, const Seen& s) {
  double made = 0, read = 0, weights = 0;
  for (const SlotIndex v : s.step.outputs)
    made += v == kNoSlot ? 0 : double(dtype_bytes(s.slots[v].type.dtype, s.slots[v].count));
  for (const SlotIndex v : s.step.inputs) {
    if (v == kNoSlot) continue;
    (plan.values[v].home == Home::constant ? weights : read) +=
        double(dtype_bytes(s.slots[v].type.dtype, s.slots[v].count));
  }
  const auto known = std::ranges::find(kKnown, s.step.op->info.name, &Known::name);
  if (known == std::end(kKnown)) return (made + read + weights) / kBytesPerNs;
  if (known->kind == Kind::pick) return made / kPickedBytesPerNs;
  return std::max(multiply_adds(s, *known) / kMacsPerNs, weights / kWeightBytesPerNs + (made + read) / kBytesPerNs);
}

}  // namespace

Work guess_work(const Plan& plan, std::span<const Slot> slots, const Step& step, int threads) {
  Work work;
  work.alone = kCallNs + one_thread(plan, {slots, step}) * (step.kernel.fn ? 1 : kReferenceTimes);
  const double at_once = std::clamp(work.alone / kPieceNs, 1.0, double(threads));
  work.all = work.alone / at_once + (at_once > 1 ? kShareNs : 0);
  return work;
}

}  // namespace retort
