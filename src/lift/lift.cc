#include "lift/lift.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/loading.h"
#include "ir/describe.h"
#include "lift/deferred_error.h"
#include "lift/form.h"
#include "lift/gradient.h"
#include "lift/missing.h"
#include "lift/rewriter.h"
#include "lift/schema_types.h"
#include "ops/op.h"

namespace retort {
namespace {

using RulesOfType = std::map<std::pair<std::string_view, std::string_view>, std::vector<const LiftRule*>>;

const RulesOfType& rules_by_type() {
  static const auto* index = [] {
    auto* map = new RulesOfType;
    for (const LiftRules* file : lift_rule_table()) {
      for (const LiftRule& rule : *file) (*map)[{rule.domain, rule.type}].push_back(&rule);
    }
    for (auto& [type, list] : *map)
      std::stable_sort(list.begin(), list.end(), [](const LiftRule* a, const LiftRule* b) { return a->to < b->to; });
    return map;
  }();
  return *index;
}

// Lifts the node to the newest form; it may be removed in the process. A rule may rename a node; then rules of the new
// name follow. `logger` (may be null) receives what the rules noted.
void modernise(Graph& graph, NodeId id, const Logger* logger) {
  const std::string name = logger ? describe(graph, graph.node(id)) : std::string();
  std::string type;
  bool checked = false;
  while (!graph.node(id).dead && graph.node(id).type != type) {
    type = graph.node(id).type;
    const int version = graph.node(id).version;
    const auto found = rules_by_type().find({graph.node(id).domain, type});
    if (found == rules_by_type().end()) return;
    for (const LiftRule* rule : found->second) {
      if (graph.node(id).dead || graph.node(id).type != type) break;
      if (rule->to != kAlways && (version == 0 || rule->to <= version)) continue;  // version 0: the newest form
      if (!std::exchange(checked, true)) check_form(graph.node(id));
      Rewriter rewriter(graph, id);
      rule->apply(rewriter);
      for (const std::string& note : rewriter.notes()) {
        if (logger) logger->warn("{}: {}", name, note);
      }
    }
  }
}

void set_type(GraphValue& value, const ValueType& type) {
  if (value.type.kind == ValueType::Kind::unknown) value.type = type;
}

// Copies what the outer graph knows of captured values into the body, including small integer constants.
void type_captures(const Graph& graph, const Node& node, Graph& body) {
  const size_t formal = body.inputs.size() - node.captures, outer = node.inputs.size() - node.captures;
  for (size_t i = 0; i < node.captures; ++i) {
    const ValueId id = node.inputs[outer + i];
    if (id == ValueId::none) continue;
    const GraphValue& from = graph.value(id);
    GraphValue& to = body.value(body.inputs[formal + i]);
    set_type(to, from.type);
    Slot slot;  // reads content in the way that inference does
    slot.type = from.type;
    slot.known = from.known;
    slot.has_known = from.has_known;
    if (from.is_constant()) {
      slot.data = const_cast<void*>(from.constant.data());
      slot.count = from.constant.count();
    }
    Slot* slots[] = {&slot};
    if (const auto content = InferContext(graph.dims(), nullptr, slots, {}).try_value(0)) {
      to.known.assign(content->begin(), content->end());
      to.has_known = true;
    }
  }
}

// Sets formal inputs whose type the model omits. Extents of loop-carried values may change, so only the element type is
// certain.
void type_formals(const Graph& graph, const Node& node, Graph& body) {
  const size_t formal = body.inputs.size() - node.captures, own = node.inputs.size() - node.captures;
  for (size_t i = 0; node.is("Loop") && i < formal; ++i) {
    GraphValue& to = body.value(body.inputs[i]);
    if (i < 2)
      set_type(to, ValueType::tensor(i == 0 ? DType::i64 : DType::boolean, Shape{}));
    else if (i < own && node.inputs[i] != ValueId::none && graph.value(node.inputs[i]).type.is_tensor())
      set_type(to, ValueType::tensor(graph.value(node.inputs[i]).type.dtype));
  }
  for (size_t i = 0; node.is("Scan") && i < std::min(formal, own); ++i) {
    if (node.inputs[i] != ValueId::none)
      set_type(body.value(body.inputs[i]), ValueType::tensor(graph.value(node.inputs[i]).type.dtype));
  }
}

// Adds non-optional outputs that the model omits, because kernels write them.
void complete_outputs(Graph& graph, NodeId id) {
  const auto formals = given(graph.node(id).op->info.outputs);
  const size_t count = formals.size();
  const bool variadic = count > 0 && formals.back().text().ends_with("...");
  const size_t listed = graph.node(id).outputs.size();
  for (size_t i = 0; i < (variadic ? listed : std::max(listed, count)); ++i) {
    if (i < listed && graph.node(id).outputs[i] != ValueId::none) {
      require(variadic || i < count, ErrorCode::invalid_graph,
              "has {} outputs, but the operator has {}; remove the others", listed, count);
      continue;
    }
    if ((!variadic && i >= count) || formals[std::min(i, count - 1)].text().ends_with("?")) continue;
    const ValueId added = graph.add_value("");
    graph.value(added).producer = id;
    graph.value(added).producer_slot = uint32_t(i);
    Node& node = graph.node(id);
    if (node.outputs.size() <= i) node.outputs.resize(i + 1, ValueId::none);
    node.outputs[i] = added;
  }
}

// Returns "node 'mm' (MatMul) [opset 21]: …", with the opset at the innermost node only. If an operator reports an
// invalid argument here, the model is at fault, not the caller: the code becomes `fail`, as in ONNX Runtime.
Error in_node(const Error& e, const std::string& name, int version) {
  const bool named = e.message().starts_with(name + ": ");
  const std::string opset =
      version > 0 && e.message().find(" [opset ") == std::string::npos ? cat(" [opset {}]", version) : "";
  const ErrorCode code = e.code() == ErrorCode::invalid_argument ? ErrorCode::fail : e.code();
  return {code, cat("{}{}: {}", name, opset, std::string_view(e.message()).substr(named ? name.size() + 2 : 0))};
}

// Checks the types that a model declares for the outputs of a node.
void check_declared(const Graph& graph, const Node& node, std::span<const DType> declared) {
  for (size_t i = 0; i < declared.size(); ++i) {
    if (node.outputs[i] == ValueId::none || declared[i] == DType::undefined) continue;
    const GraphValue& made = graph.value(node.outputs[i]);
    require(
        !made.type.is_tensor() || made.type.dtype == declared[i], ErrorCode::fail,
        "the model declares its output '{}' as {}, but the operator produces {}; correct the declaration, or cast it",
        made.name, dtype_name(declared[i]), dtype_name(made.type.dtype));
  }
}

std::vector<DType> declared_types(const Graph& graph, const Node& node) {
  std::vector<DType> types;
  for (ValueId out : node.outputs) {
    const bool tensor = out != ValueId::none && graph.value(out).type.is_tensor();
    types.push_back(tensor ? graph.value(out).type.dtype : DType::undefined);
  }
  return types;
}

/// The engine's own operators and the older forms of them.
bool is_own(const Node& node) { return find_op(node.domain, node.type) || is_liftable(node.domain, node.type); }

// Resolves one of the engine's own operators, in its newest form.
void resolve_own(Graph& graph, NodeId id, const Logger* logger) {
  modernise(graph, id, logger);
  if (graph.node(id).dead) return;
  resolve(graph.node(id));
  require(!graph.node(id).op->has(kInternal), ErrorCode::invalid_graph,
          "operators of the domain 'retort' are made by the engine and may not be in a model; save it again");
  complete_outputs(graph, id);
}

/// Lifts a graph and its bodies. A node that cannot run here, because its operator or the types of its inputs are
/// missing, does not end it: the nodes that do not depend on its outputs follow, so that one error tells all that is
/// missing. The same is true of a node with a mistake, whose error is thrown if nothing is missing.
class Lifting {
 public:
  Lifting(const ExternalOps* external, const Logger* logger, MissingOperators& missing)
      : external_(external), logger_(logger), missing_(missing) {}

  void graph(Graph& graph);
  void bodies(const Graph& graph, Node& node);

 private:
  void node(Graph& graph, NodeId id, const std::string& name);
  void infer_or_defer(Graph& graph, NodeId id, const std::string& name);
  bool takes_types(const Graph& graph, const Node& node, const std::string& name);
  void try_node(Graph& graph, NodeId id);
  bool can_run(const Node& node) const;
  bool depends_on_missing(const Graph& graph, const Node& node) const;
  void search_bodies(const Graph& graph, Node& node);
  void skip(const Graph& graph, const Node& node);

  const ExternalOps* external_;
  const Logger* logger_;
  MissingOperators& missing_;
  SchemaTypes schema_types_;
  size_t depth_ = 0;  ///< of bodies, which may never run
  std::set<std::pair<const Graph*, NodeId>> skipped_;
  std::set<std::pair<const Graph*, ValueId>> unmade_;  ///< outputs of skipped nodes
};

void Lifting::bodies(const Graph& outer, Node& node) {
  for (Body& b : node.bodies) {
    type_captures(outer, node, *b.graph);
    type_formals(outer, node, *b.graph);
    ++depth_;
    graph(*b.graph);
    --depth_;
  }
}

// Infers the types of a node. In a body, a node whose inputs do not fit fails when it runs.
void Lifting::infer_or_defer(Graph& graph, NodeId id, const std::string& name) {
  Node& node = graph.node(id);
  const int version = node.version;
  const std::vector<DType> declared = declared_types(graph, node);
  try {
    infer_node(graph, node);
    check_declared(graph, node, declared);
  } catch (const Error& e) {
    if (depth_ == 0 || e.code() != ErrorCode::invalid_argument) throw;
    const std::string prefix = name + ": ";
    const bool named = e.message().starts_with(prefix);
    defer_error(graph, node, {e.code(), named ? e.message().substr(prefix.size()) : e.message()});
    if (logger_) logger_->warn("{}; a run that comes to this node fails", in_node(e, name, version).message());
  }
}

void Lifting::node(Graph& graph, NodeId id, const std::string& name) {
  const int version = graph.node(id).version;
  auto custom = external_ ? external_->find(graph.node(id).domain, graph.node(id).type, version) : nullptr;
  custom ? resolve_external(graph, graph.node(id), std::move(custom)) : resolve_own(graph, id, logger_);
  if (graph.node(id).dead) return;
  const size_t before = missing_.size();
  bodies(graph, graph.node(id));
  if (missing_.size() > before) {
    missing_.wrap(before, [&](const Error& e) { return in_node(e, name, version); });
    return skip(graph, graph.node(id));
  }
  infer_or_defer(graph, id, name);
  graph.node(id).version = 0;
}

// Before anything else: what a wrong type leads to may be reported as another mistake, or only in a run.
bool Lifting::takes_types(const Graph& graph, const Node& node, const std::string& name) {
  const bool custom = external_ && external_->find(node.domain, node.type, node.version);
  try {
    if (!custom && is_own(node)) schema_types_.check(graph, node);
    return true;
  } catch (const Error& e) {
    missing_.add(node, name, in_node(e, name, node.version));
    return false;
  }
}

void Lifting::try_node(Graph& graph, NodeId id) {
  check_loading();
  const std::string name = describe(graph, graph.node(id));
  if (!takes_types(graph, graph.node(id), name)) return skip(graph, graph.node(id));
  const Node before{.domain = graph.node(id).domain, .type = graph.node(id).type, .version = graph.node(id).version};
  try {
    node(graph, id, name);
  } catch (const Error& e) {
    const Error told = in_node(e, name, before.version);
    const bool mistake = can_run(before) && e.code() != ErrorCode::not_implemented;
    if (mistake && depth_ > 0) throw told;
    mistake ? missing_.add_mistake(told) : missing_.add(before, name, told);
    skip(graph, graph.node(id));
  }
}

bool Lifting::can_run(const Node& node) const {
  return (external_ && external_->find(node.domain, node.type, node.version)) || is_own(node);
}

bool Lifting::depends_on_missing(const Graph& graph, const Node& node) const {
  return std::ranges::any_of(node.inputs, [&](ValueId in) { return unmade_.contains({&graph, in}); });
}

// Collects what is missing in the bodies of a node that depends on something missing. Any formal input may follow from
// any input of the node.
void Lifting::search_bodies(const Graph& graph, Node& node) {
  for (const Body& b : node.bodies) {
    const size_t formal = b.graph->inputs.size() - node.captures, own = node.inputs.size() - node.captures;
    for (size_t i = 0; i < b.graph->inputs.size(); ++i) {
      if (i < formal || unmade_.contains({&graph, node.inputs[own + i - formal]}))
        unmade_.emplace(b.graph.get(), b.graph->inputs[i]);
    }
  }
  const size_t before = missing_.size();
  bodies(graph, node);
  missing_.wrap(before, [&](const Error& e) { return in_node(e, describe(graph, node), node.version); });
}

void Lifting::skip(const Graph& graph, const Node& node) {
  skipped_.emplace(&graph, node.id);
  for (const ValueId out : node.outputs) unmade_.emplace(&graph, out);
}

void Lifting::graph(Graph& graph) {
  name_gradients(graph);
  // Rules set the types of the nodes that they add; only an Identity before a graph output may be left for another
  // round.
  const std::vector<NodeId> before(graph.order().begin(), graph.order().end());
  for (const NodeId id : before) {
    Node& node = graph.node(id);
    // A provider's node whose bodies are not lifted yet.
    if (node.op && !node.bodies.empty()) bodies(graph, node);
  }
  for (bool again = true; again;) {
    again = false;
    const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
    for (NodeId id : order) {
      Node& node = graph.node(id);
      if (node.dead || node.op || skipped_.contains({&graph, id})) continue;
      again = true;
      if (!depends_on_missing(graph, node) || !can_run(node)) {
        try_node(graph, id);
        continue;
      }
      search_bodies(graph, node);
      skip(graph, node);
    }
  }
}

}  // namespace

void lift_constants(Graph& graph) {
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    for (const Body& b : graph.node(id).bodies) lift_constants(*b.graph);
    const std::string name = describe(graph, graph.node(id));
    const int version = graph.node(id).version;
    try {
      if (graph.node(id).is("Constant")) modernise(graph, id, nullptr);
    } catch (const Error& e) {
      throw in_node(e, name, version);
    }
  }
}

void lift(Graph& graph, const ExternalOps* external, const Logger* logger) {
  MissingOperators missing;
  Lifting(external, logger, missing).graph(graph);
  missing.check();
}

bool is_liftable(const std::string& domain, const std::string& type) {
  return rules_by_type().contains({domain, type});
}

}  // namespace retort
