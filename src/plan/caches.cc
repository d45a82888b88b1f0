// Which outputs are inputs with some rows more: caches of keys and values that callers hand back in the next run.
#include <algorithm>
#include <optional>

#include "plan/plan.h"

namespace retort {
namespace {

// The place of `slot` in `list`, if it stands there once.
std::optional<uint32_t> only_place(const std::vector<SlotIndex>& list, SlotIndex slot) {
  const auto found = std::find(list.begin(), list.end(), slot);
  if (found == list.end() || std::find(found + 1, list.end(), slot) != list.end()) return std::nullopt;
  return uint32_t(found - list.begin());
}

// How often steps read the memory of a value.
size_t reads(const Plan& plan, SlotIndex root) {
  size_t count = 0;
  for (const Step& s : plan.steps) {
    count += size_t(
        std::ranges::count_if(s.inputs, [&](SlotIndex v) { return v != kNoSlot && plan.values[v].root == root; }));
  }
  return count;
}

// Whether an input is an output, too, which the caller gets a copy of.
bool is_result(const Plan& plan, SlotIndex input) {
  return std::ranges::find(plan.outputs, input) != plan.outputs.end();
}

std::optional<GrowingCache> cache_of(const Plan& plan, const Step& step, const Appends& appends) {
  if (appends.input < 0 || size_t(appends.input) >= step.inputs.size() || size_t(appends.output) >= step.outputs.size())
    return std::nullopt;
  const SlotIndex in = step.inputs[size_t(appends.input)], out = step.outputs[size_t(appends.output)];
  if (in == kNoSlot || out == kNoSlot || plan.values[in].home != Home::input || plan.values[out].home != Home::output ||
      reads(plan, in) != 1 || reads(plan, out) != 0 || is_result(plan, in))
    return std::nullopt;
  const auto input = only_place(plan.inputs, in), output = only_place(plan.outputs, out);
  const bool viewed = std::ranges::any_of(plan.values, [&](const PlanValue& v) {
    return (v.root == in || v.root == out) && &v != &plan.values[in] && &v != &plan.values[out];
  });
  if (!input || !output || viewed) return std::nullopt;
  return GrowingCache{*input, *output};
}

}  // namespace

std::vector<GrowingCache> find_caches(const Plan& plan) {
  std::vector<GrowingCache> caches;
  for (const Step& s : plan.steps) {
    if (s.op->info.appends[0].output < 0 || s.dtype != DType::f32 || !s.kernel.fn) continue;
    for (const Appends& a : s.op->info.appends) {
      if (const auto cache = cache_of(plan, s, a)) caches.push_back(*cache);
    }
  }
  return caches;
}

}  // namespace retort
