// Decides which values of a plan share memory, where that memory comes from, and how long it is needed.
#include <algorithm>
#include <map>

#include "plan/build.h"

namespace retort {
namespace {

class Lifetimes {
 public:
  explicit Lifetimes(Plan& plan) : plan_(plan) {}

  void settle() {
    for (Step& s : plan_.steps) share_memory(s);
    give_homes();
    find_last_uses();
    find_unread();
  }

 private:
  PlanValue& value(SlotIndex i) { return plan_.values[i]; }

  // A view shares the memory of its input, unless a graph output would then share memory that the plan cannot return:
  // an input, a constant, or another output. Boxed values never share memory.
  void share_memory(Step& s) {
    if (!s.op->has(kView) || s.inputs.empty() || s.inputs[0] == kNoSlot || s.outputs[0] == kNoSlot) return;
    const SlotIndex root = value(s.inputs[0]).root, out = s.outputs[0];
    if (!value(root).type.is_tensor() || value(root).type.dtype == DType::string) return;
    if (is_output(out)) {
      const bool taken = value(root).home == Home::input || value(root).home == Home::constant || claimed_.count(root);
      if (taken || is_output(root)) return;
      claimed_.insert({root, out});
    }
    value(out).root = root;
    s.view = true;
  }

  bool is_output(SlotIndex i) const {
    return std::find(plan_.outputs.begin(), plan_.outputs.end(), i) != plan_.outputs.end();
  }

  void give_homes() {
    for (const Step& s : plan_.steps) {
      if (s.view) continue;
      for (SlotIndex out : s.outputs) {
        if (out == kNoSlot) continue;
        PlanValue& v = value(out);
        const bool boxed = s.late || v.type.dtype == DType::string || (v.type.kind != ValueType::Kind::tensor);
        v.home = boxed ? Home::boxed : Home::arena;
      }
    }
    for (SlotIndex out : plan_.outputs) {
      PlanValue& root = value(value(out).root);
      if (root.home == Home::arena) root.home = Home::output;
    }
    for (PlanValue& v : plan_.values) v.home = value(v.root).home;
  }

  void find_last_uses() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      for (const auto* list : {&plan_.steps[i].inputs, &plan_.steps[i].outputs}) {
        for (SlotIndex v : *list)
          if (v != kNoSlot) value(value(v).root).last_use = uint32_t(i);
      }
    }
    for (SlotIndex out : plan_.outputs) value(value(out).root).last_use = uint32_t(plan_.steps.size());
  }

  void find_unread() {
    std::vector<char> read(plan_.values.size(), false);
    for (const Step& s : plan_.steps) {
      for (size_t i = 0; i + s.captures < s.inputs.size(); ++i) {
        if (s.inputs[i] != kNoSlot) read[value(s.inputs[i]).root] = true;
      }
    }
    for (const SlotIndex out : plan_.outputs) read[value(out).root] = true;
    for (const SlotIndex in : plan_.inputs) plan_.unread.push_back(in == kNoSlot || !read[value(in).root]);
  }

  Plan& plan_;
  std::map<SlotIndex, SlotIndex> claimed_;  // root → the output that uses its memory
};

}  // namespace

void settle_lifetimes(Plan& plan) { Lifetimes(plan).settle(); }

}  // namespace retort
