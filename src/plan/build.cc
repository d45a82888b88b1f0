// Makes a plan of a graph: its steps and values here, the rest by the functions of build.h.
#include "plan/build.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/loading.h"
#include "memory/host.h"
#include "ops/external.h"
#include "plan/step_names.h"

namespace retort {
namespace {

class Builder {
 public:
  Builder(Graph& graph, const PlanOptions& options, bool is_body)
      : graph_(graph),
        options_(options),
        is_body_(is_body),
        plan_(std::make_shared<Plan>()),
        number_(options.cache ? options.cache->next_plan() : 0) {}

  std::shared_ptr<const Plan> build() {
    plan_->captures = graph_.captures;
    plan_->reuses_memory = options_.reuses_memory;
    const auto spaces = options_.body_spaces.find(&graph_);
    if (!is_body_) plan_->input_spaces = options_.input_spaces;
    if (!is_body_) plan_->uploaded_outputs = options_.uploaded_outputs;
    if (is_body_ && spaces != options_.body_spaces.end()) plan_->input_spaces = spaces->second;
    const auto order = ordered_nodes(graph_, options_.order);
    plan_->steps.reserve(order.size());
    plan_->values.reserve(2 * order.size());
    for (ValueId in : graph_.inputs) plan_->inputs.push_back(slot(in, Home::input));
    for (const NodeId id : order) add_step(graph_.node(id));
    for (ValueId out : graph_.outputs) plan_->outputs.push_back(slot(out, Home::none));
    settle_lifetimes(*plan_);
    const std::vector<uint32_t> readers = prepare_steps(*plan_, {graph_, ids_}, options_, number_);
    share_late_outputs(*plan_);
    plan_->caches = find_caches(*plan_, readers);
    keep_constants(*plan_, readers, options_.shared);
    trim_heap();
    return plan_;
  }

 private:
  SlotIndex slot(ValueId id, Home home) {
    if (id == ValueId::none) return kNoSlot;
    const auto [it, fresh] = slots_.emplace(id, SlotIndex(plan_->values.size()));
    if (fresh) {
      const GraphValue& v = graph_.value(id);
      ids_.push_back(id);
      plan_->values.push_back(
          {.name = v.name, .type = v.type, .home = home, .root = it->second, .constant = v.constant});
      if (v.is_constant()) plan_->values.back().home = Home::constant;
    }
    return it->second;
  }

  void add_step(Node& node) {
    check_loading();
    Step s;
    s.op = node.op;
    s.params = node.params;
    s.node = node.id;
    name_step(s, graph_, node, options_.nodes);
    const ExternalOp* external = external_op(node);
    s.provider = external ? external->provider() : kCpuProvider;
    s.captures = node.captures;
    for (ValueId in : node.inputs) s.inputs.push_back(slot(in, Home::none));
    for (ValueId out : node.outputs) s.outputs.push_back(slot(out, Home::none));
    const auto is_boxed = [&](SlotIndex v) {
      using Kind = ValueType::Kind;
      return v != kNoSlot && value(v).type.kind != Kind::tensor && value(v).type.kind != Kind::unknown;
    };
    s.late =
        s.op->has(kDynamicOutput) || s.op->has(kBoxed) || std::any_of(s.outputs.begin(), s.outputs.end(), is_boxed);
    plan_->steps.push_back(std::move(s));
    for (Body& b : node.bodies) {  // each belongs to this builder as soon as it is made
      plan_->steps.back().bodies.push_back(
          LoadingScratch(std::make_shared<Builder>(*b.graph, options_, true))->build());
      plan_->steps.back().body_names.push_back(b.attribute);
    }
  }

  PlanValue& value(SlotIndex i) { return plan_->values[i]; }

  Graph& graph_;
  const PlanOptions& options_;
  const bool is_body_;
  std::shared_ptr<Plan> plan_;
  const uint32_t number_;  // the number of this plan in the session
  std::map<ValueId, SlotIndex> slots_;
  std::vector<ValueId> ids_;  // per slot
};

}  // namespace

std::shared_ptr<const Plan> build_plan(Graph& graph, const PlanOptions& options) {
  return LoadingScratch(std::make_shared<Builder>(graph, options, false))->build();
}

}  // namespace retort
