// Finds outputs that are an input with some rows appended: caches of keys and values that callers pass back in the next
// run.
#include <algorithm>

#include "plan/plan.h"

namespace retort {
namespace {

uint32_t place(const std::vector<SlotIndex>& list, SlotIndex slot) {
  return uint32_t(std::ranges::find(list, slot) - list.begin());
}

}  // namespace

std::vector<GrowingCache> find_caches(const Plan& plan, std::span<const uint32_t> readers) {
  std::vector<GrowingCache> caches;
  const auto is_alone = [&](SlotIndex v, Home home) {  // read once, by this step or by the caller
    return v != kNoSlot && plan.values[v].home == home && plan.values[v].root == v && readers[v] == 1;
  };
  for (const Step& s : plan.steps) {
    if (s.dtype != DType::f32 || !s.kernel.fn) continue;
    for (const Appends& a : s.op->info.appends) {
      if (a.input < 0 || size_t(a.input) >= s.inputs.size() || size_t(a.output) >= s.outputs.size()) continue;
      const SlotIndex in = s.inputs[size_t(a.input)], out = s.outputs[size_t(a.output)];
      if (is_alone(in, Home::input) && is_alone(out, Home::output))
        caches.push_back({place(plan.inputs, in), place(plan.outputs, out)});
    }
  }
  return caches;
}

}  // namespace retort
