#include "run/slot_table.h"

#include <algorithm>

#include "base/error.h"

namespace retort {

SlotTable::SlotTable(const Plan& plan) : plan_(plan), slots_(plan.values.size()) {
  sharers_.resize(slots_.size());
  producer_.assign(slots_.size(), kNever);
  for (SlotIndex i = 0; i < slots_.size(); ++i) {
    const PlanValue& v = plan.values[i];
    sharers_[v.root].push_back(i);
    slots_[i].present = true;
    if (!v.constant) continue;
    slots_[i].type = ValueType::tensor(v.constant.dtype(), v.constant.shape());
    slots_[i].data = read_only(v.constant.data());
    slots_[i].count = v.constant.count();
    slots_[i].boxed = v.constant;
  }
  const auto add = [&](SlotIndex v) { pointers_.push_back(v == kNoSlot ? nullptr : &slots_[v]); };
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    first_.push_back(uint32_t(pointers_.size()));
    std::ranges::for_each(step.inputs, add);
    std::ranges::for_each(step.outputs, add);
    for (const SlotIndex v : step.outputs) {
      if (v != kNoSlot) producer_[v] = i;
    }
  }
}

size_t SlotTable::reads_of(const Step& step, SlotIndex root) const {
  return size_t(std::ranges::count_if(step.inputs, [&](SlotIndex v) { return v != kNoSlot && root_of(v) == root; }));
}

std::string SlotTable::what_to_check(uint32_t step) const {
  constexpr size_t kMostShown = 6;
  const std::vector<SlotIndex>& inputs = plan_.steps[step].inputs;
  std::string text;
  for (size_t i = 0, shown = 0; i < inputs.size() && shown < kMostShown; ++i) {
    if (inputs[i] == kNoSlot) continue;
    const ValueType& type = slots_[inputs[i]].type;
    text += cat("{}'{}'", shown++ ? ", " : "its inputs ", plan_.values[inputs[i]].name);
    if (is_laid_out(type)) text += cat(" {}{}", dtype_name(type.dtype), to_string(type.shape));
  }
  return text.empty() ? "check its attributes" : "check " + text;
}

}  // namespace retort
