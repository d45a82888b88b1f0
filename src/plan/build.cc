#include <algorithm>
#include <map>

#include "base/error.h"
#include "plan/plan.h"

namespace retort {
namespace {

class Builder {
 public:
  Builder(Graph& graph, const PlanOptions& options)
      : graph_(graph), options_(options), plan_(std::make_shared<Plan>()) {}

  std::shared_ptr<const Plan> build() {
    plan_->captures = graph_.captures;
    for (ValueId in : graph_.inputs) plan_->inputs.push_back(slot(in, Home::input));
    for (NodeId id : graph_.order()) add_step(graph_.node(id));
    for (ValueId out : graph_.outputs) plan_->outputs.push_back(slot(out, Home::none));
    for (size_t i = 0; i < plan_->steps.size(); ++i) share_memory(i);
    give_homes();
    find_last_uses();
    prepare_steps();
    return plan_;
  }

 private:
  SlotIndex slot(ValueId id, Home home) {
    if (id == ValueId::none) return kNoSlot;
    const auto [it, fresh] = slots_.emplace(id, SlotIndex(plan_->values.size()));
    if (fresh) {
      const GraphValue& v = graph_.value(id);
      plan_->values.push_back(
          {.name = v.name, .type = v.type, .home = home, .root = it->second, .constant = v.constant});
      if (v.is_constant()) plan_->values.back().home = Home::constant;
    }
    return it->second;
  }

  void add_step(Node& node) {
    Step s;
    s.op = node.op;
    s.params = node.params;
    s.node = node.id;
    s.name = describe(node);
    s.label = node.name;
    s.captures = node.captures;
    for (ValueId in : node.inputs) s.inputs.push_back(slot(in, Home::none));
    for (ValueId out : node.outputs) s.outputs.push_back(slot(out, Home::none));
    s.late = s.op->has(kDynamicOutput) || s.op->has(kBoxed);
    for (Body& b : node.bodies) {
      s.bodies.push_back(build_plan(*b.graph, options_));
      s.body_names.push_back(b.attribute);
    }
    plan_->steps.push_back(std::move(s));
  }

  PlanValue& value(SlotIndex i) { return plan_->values[i]; }

  // A view shares the memory of its input unless that would make a graph output share memory that is not the plan's to
  // give: an input, a constant, or another output. Boxed values never share.
  void share_memory(size_t index) {
    Step& s = plan_->steps[index];
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
    return std::find(plan_->outputs.begin(), plan_->outputs.end(), i) != plan_->outputs.end();
  }

  void give_homes() {
    for (const Step& s : plan_->steps) {
      if (s.view) continue;
      for (SlotIndex out : s.outputs) {
        if (out == kNoSlot) continue;
        PlanValue& v = value(out);
        const bool boxed = s.late || v.type.dtype == DType::string || (v.type.kind != ValueType::Kind::tensor);
        v.home = boxed ? Home::boxed : Home::arena;
      }
    }
    for (SlotIndex out : plan_->outputs) {
      PlanValue& root = value(value(out).root);
      if (root.home == Home::arena) root.home = Home::output;
    }
    for (PlanValue& v : plan_->values) v.home = value(v.root).home;
  }

  void find_last_uses() {
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      for (const auto* list : {&plan_->steps[i].inputs, &plan_->steps[i].outputs}) {
        for (SlotIndex v : *list) {
          if (v != kNoSlot) value(value(v).root).last_use = uint32_t(i);
        }
      }
    }
    for (SlotIndex out : plan_->outputs) value(value(out).root).last_use = uint32_t(plan_->steps.size());
  }

  DType step_dtype(const Step& s) const {
    std::vector<Slot> slots(s.inputs.size() + s.outputs.size());
    std::vector<Slot*> in, out;
    size_t next = 0;
    const auto add = [&](SlotIndex v, std::vector<Slot*>& list) {
      Slot& slot = slots[next++];
      if (v != kNoSlot) slot.type = plan_->values[v].type;
      list.push_back(v == kNoSlot ? nullptr : &slot);
    };
    for (SlotIndex v : s.inputs) add(v, in);
    for (SlotIndex v : s.outputs) add(v, out);
    return dispatch_type(*s.op, in, out);
  }

  void choose_kernel(Step& s) {
    s.dtype = step_dtype(s);
    s.kernel = find_kernel(*s.op, s.dtype);
    if (!s.kernel.fn && !s.kernel.carried) {
      fail(ErrorCode::not_implemented, "{}: no kernel for element type {}; cast the input to a supported type", s.name,
           dtype_name(s.dtype));
    }
  }

  void prepare_steps() {
    std::vector<uint32_t> readers(plan_->values.size(), 0);
    for (const Step& s : plan_->steps) {
      for (SlotIndex v : s.inputs) {
        if (v != kNoSlot) ++readers[value(v).root];
      }
    }
    for (SlotIndex out : plan_->outputs) ++readers[value(out).root];
    for (Step& s : plan_->steps) {
      if (!s.view) choose_kernel(s);
      if (s.op->prepare && (options_.prepack || s.op->has(kInternal))) prepare(s, readers);  // internal ops have no other form
    }
    for (const PlanValue& v : plan_->values) plan_->constant_bytes += v.constant ? v.constant.bytes() : 0;
  }

  void prepare(Step& s, std::vector<uint32_t>& readers) {
    std::vector<const ValueType*> types;
    std::vector<const Tensor*> constants;
    for (SlotIndex v : s.inputs) {
      types.push_back(v == kNoSlot ? nullptr : &value(v).type);
      constants.push_back(v != kNoSlot && value(v).constant ? &value(v).constant : nullptr);
    }
    PrepareContext context(types, constants, options_.parallel, options_.strict);
    try {
      s.state = s.op->prepare(s.params.get(), context);
    } catch (Error& e) {
      e.add_context(s.name);
      throw;
    }
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      if (constants[i] && context.released(i) && --readers[value(s.inputs[i]).root] == 0) drop(s.inputs[i]);
    }
  }

  // Nobody reads the constant again: a tensor without data keeps its type.
  void drop(SlotIndex slot_index) {
    PlanValue& v = value(slot_index);
    v.constant = Tensor(v.constant.dtype(), v.constant.shape(), nullptr, nullptr);
    for (const auto& [id, index] : slots_) {
      if (index == slot_index) graph_.value(id).constant = v.constant;
    }
  }

  Graph& graph_;
  const PlanOptions& options_;
  std::shared_ptr<Plan> plan_;
  std::map<ValueId, SlotIndex> slots_;
  std::map<SlotIndex, SlotIndex> claimed_;  // root → the output that took its memory
};

}  // namespace

std::shared_ptr<const Plan> build_plan(Graph& graph, const PlanOptions& options) {
  return Builder(graph, options).build();
}

}  // namespace retort
