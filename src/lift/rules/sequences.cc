// Sequences whose elements are known, as the exporter of torch writes chunk(), split() and stack(): SplitToSequence
// becomes a Split, what takes its elements reads them, and what joins them is a Concat. Sequences are values whose
// shapes only a run tells, which would hide those of everything behind them.
#include <algorithm>
#include <optional>

#include "lift/rewriter.h"

namespace retort {
namespace {

constexpr size_t kMostParts = 256;  // parts; a sequence of more is cheaper than as many steps

/// The integers of a constant; empty for another type.
std::vector<int64_t> content_of(const Tensor& t) {
  std::vector<int64_t> all;
  for (size_t i = 0; i < t.count(); ++i) {
    if (t.dtype() == DType::i64) all.push_back(t.data<int64_t>()[i]);
    if (t.dtype() == DType::i32) all.push_back(t.data<int32_t>()[i]);
  }
  return all;
}

/// The axis among those of an input of known rank; nothing for one that does not exist.
std::optional<size_t> split_axis(Rewriter& r) {
  const ValueType& x = r.type(0);
  if (!x.is_tensor() || !x.ranked) return std::nullopt;
  const auto axis = r.attributes().get_or<int64_t>("axis", 0), rank = int64_t(x.rank());
  if (axis < -rank || axis >= rank) return std::nullopt;
  return size_t(axis < 0 ? axis + rank : axis);
}

/// The sizes of the parts; none if only a run tells them, or if they do not fit the input, which a run reports.
std::vector<int64_t> part_sizes(Rewriter& r) {
  const std::optional<size_t> axis = split_axis(r);
  const Tensor* split = r.has(1) ? r.constant_input(1) : nullptr;
  if (!axis || (r.has(1) && !split)) return {};
  const Dim extent = r.type(0).shape[*axis];
  std::vector<int64_t> sizes = split ? content_of(*split) : std::vector<int64_t>{1};
  if (split && split->shape().rank() > 0) {
    int64_t sum = 0;
    for (const int64_t n : sizes) {
      if (n < 0 || n > INT32_MAX) return {};
      sum += n;
    }
    return is_known(extent) && sum == extent && sizes.size() <= kMostParts ? sizes : std::vector<int64_t>{};
  }
  if (!is_known(extent) || sizes.size() != 1 || sizes[0] <= 0) return {};
  const int64_t size = sizes[0];
  if (extent / size >= int64_t(kMostParts)) return {};
  sizes.clear();
  for (int64_t begin = 0; begin < extent; begin += size) sizes.push_back(std::min(size, extent - begin));
  return sizes;
}

void split_to_sequence(Rewriter& r) {
  const std::vector<int64_t> sizes = part_sizes(r);
  if (sizes.empty() || r.type(0).dtype == DType::bf16) return;  // SequenceConstruct has fewer types
  const auto axis = int64_t(*split_axis(r));
  const bool squeezes = !r.has(1) && r.attributes().get_or<int64_t>("keepdims", 1) == 0;
  std::vector<ValueId> parts = r.add_all({.type = "Split",
                                          .inputs = {r.input(0), r.constant(sizes)},
                                          .attributes = {{"axis", axis}},
                                          .outputs = sizes.size()});
  if (squeezes) {
    const ValueId axes = r.constant(std::vector<int64_t>{axis});
    for (ValueId& part : parts) part = r.add({.type = "Squeeze", .inputs = {part, axes}});
  }
  r.replace_output(0, r.add({.type = "SequenceConstruct", .inputs = parts}));
  r.remove();
}

/// The elements of a sequence that is made of single values; none for any other.
std::vector<ValueId> known_elements(Rewriter& r) {
  const Node* made = r.graph().producer(r.input(0));
  return made && made->is("SequenceConstruct") ? made->inputs : std::vector<ValueId>{};
}

void sequence_at(Rewriter& r) {
  const std::vector<ValueId> all = known_elements(r);
  const Tensor* at = r.constant_input(1);
  if (all.empty() || !at || at->count() != 1) return;
  const std::vector<int64_t> position = content_of(*at);
  const auto count = int64_t(all.size());
  if (position.empty() || position[0] < -count || position[0] >= count) return;  // a run reports it
  r.replace_output(0, all[size_t(position[0] < 0 ? position[0] + count : position[0])]);
  r.remove();
}

void concat_from_sequence(Rewriter& r) {
  std::vector<ValueId> all = known_elements(r);
  const auto* axis = r.attributes().get<int64_t>("axis");
  if (all.empty() || !axis) return;
  if (r.attributes().get_or<int64_t>("new_axis", 0) != 0) {
    const ValueId axes = r.constant(std::vector<int64_t>{*axis});
    for (ValueId& one : all) one = r.add({.type = "Unsqueeze", .inputs = {one, axes}});
  }
  r.replace_output(0, r.add({.type = "Concat", .inputs = all, .attributes = {{"axis", *axis}}}));
  r.remove();
}

constexpr LiftRule kSequenceRules[] = {
    {"SplitToSequence", kAlways, split_to_sequence},
    {"SequenceAt", kAlways, sequence_at},
    {"ConcatFromSequence", kAlways, concat_from_sequence},
};

}  // namespace

extern const LiftRules lift_sequences;
constinit const LiftRules lift_sequences{kSequenceRules};

}  // namespace retort
