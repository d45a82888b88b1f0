#include "onnx/functions.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "ir/describe.h"

namespace retort {
namespace {

using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
Key key_of(const Node& n) { return {n.domain, n.type, n.overload}; }

std::string describe_function(const Function& f) {
  return cat("function '{}{}{}'", f.domain, f.domain.empty() ? "" : ".", f.name);
}

/// Calls f(Graph&) for the graph and everything nested in it. The reader limits how deep bodies nest.
void for_each_graph(Graph& graph, const std::function<void(Graph&)>& f) {
  f(graph);
  for (size_t i = 0; i < graph.node_count(); ++i) {
    for (Body& b : graph.node(NodeId(i)).bodies) for_each_graph(*b.graph, f);
  }
}

/// The size of a graph with everything nested in it.
struct Size {
  size_t nodes = 0, bytes = 0;
};

size_t bytes_of(const Attribute& a) {
  if (const auto* v = std::get_if<std::string>(&a)) return v->size();
  if (const auto* v = std::get_if<std::vector<int64_t>>(&a)) return v->size() * sizeof(int64_t);
  if (const auto* v = std::get_if<std::vector<float>>(&a)) return v->size() * sizeof(float);
  if (const auto* v = std::get_if<std::vector<Tensor>>(&a)) return v->size() * sizeof(Tensor);
  size_t bytes = 0;
  if (const auto* v = std::get_if<std::vector<std::string>>(&a)) {
    for (const std::string& s : *v) bytes += sizeof(std::string) + s.size();
  }
  return bytes;
}

size_t bytes_of(const Node& n) {
  size_t bytes = sizeof(Node) + n.name.size() + (n.inputs.size() + n.outputs.size()) * (sizeof(ValueId) + sizeof(Use));
  for (const auto& [name, value] : n.attributes) bytes += sizeof(Attributes::Item) + name.size() + bytes_of(value);
  return bytes;
}

struct Callee {
  Function* function = nullptr;
  std::vector<Callee*> calls;
  Size size;  ///< of the body; including all its calls once it has been measured
  enum { unseen, open, done } state = unseen;
};

class Inliner {
 public:
  Inliner(Model& model, const InlineOptions& options) : model_(model), options_(options) {
    for (Function& f : model.functions) callees_[{f.domain, f.name, f.overload}].function = &f;
    for (auto& [key, callee] : callees_) survey(*callee.function->body, callee);
    for (auto& [key, callee] : callees_) measure(callee);
  }

  /// Returns whether every call was expanded.
  bool run() {
    Callee whole;
    survey(*model_.graph, whole);
    for (const Callee* called : whole.calls) add(whole.size, called->size);
    require(whole.size.nodes < options_.nodes && whole.size.bytes < options_.bytes, ErrorCode::invalid_graph,
            "expanding functions results in more than {} nodes or {} bytes", options_.nodes, options_.bytes);
    expand_graph(*model_.graph, 0);
    return !kept_;
  }

 private:
  /// Counts the nodes of the graph and lists the calls to be expanded.
  void survey(Graph& graph, Callee& callee) {
    for_each_graph(graph, [&](Graph& g) {
      for (size_t i = 0; i < g.value_count(); ++i) {
        add(callee.size, {0, sizeof(GraphValue) + g.value(ValueId(i)).name.size()});
      }
      for (size_t i = 0; i < g.node_count(); ++i) {
        add(callee.size, {1, bytes_of(g.node(NodeId(i)))});
        if (Callee* called = find(g.node(NodeId(i)))) callee.calls.push_back(called);
      }
    });
  }

  void add(Size& to, const Size& more) const {
    to.nodes = std::min(to.nodes + more.nodes, options_.nodes);
    to.bytes = std::min(to.bytes + more.bytes, options_.bytes);
  }

  /// Adds the sizes of calls, innermost first, and finds cycles. Depth first with an explicit stack: chains of calls
  /// may be thousands long.
  void measure(Callee& root) const {
    std::vector<std::pair<Callee*, size_t>> path;
    const auto enter = [&](Callee& c) {
      c.state = Callee::open;
      path.emplace_back(&c, 0);
    };
    if (root.state == Callee::unseen) enter(root);
    while (!path.empty()) {
      auto& [callee, next] = path.back();
      if (next == callee->calls.size()) {
        callee->state = Callee::done;
        for (const Callee* called : callee->calls) add(callee->size, called->size);
        path.pop_back();
        continue;
      }
      Callee& called = *callee->calls[next++];
      require(called.state != Callee::open, ErrorCode::invalid_graph, "{} calls itself; remove that call",
              describe_function(*called.function));
      if (called.state == Callee::unseen) enter(called);
    }
  }

  /// The function that the node calls; null if it is not a call or stays one.
  Callee* find(const Node& n) {
    const auto found = callees_.find(key_of(n));
    if (found == callees_.end()) return nullptr;
    const bool kept = options_.keep && options_.keep(n);
    kept_ |= kept;
    return kept ? nullptr : &found->second;
  }

  // New nodes are appended, so the same loop also reaches the calls among them.
  void expand_graph(Graph& graph, uint32_t depth) {
    require(depth <= options_.depth, ErrorCode::invalid_graph, "bodies nest deeper than {} once functions are expanded",
            options_.depth);
    bool changed = false;
    for (size_t i = 0; i < graph.node_count(); ++i) {
      const Node& n = graph.node(NodeId(i));
      if (n.dead) continue;
      if (const Callee* called = find(n)) {
        expand_call(graph, NodeId(i), *called->function);
        changed = true;
      } else {
        for (size_t b = 0; b < n.bodies.size(); ++b) expand_graph(*n.bodies[b].graph, depth + 1);
      }
    }
    if (changed) rebuild_uses(graph);
  }

  void expand_call(Graph& graph, NodeId id, const Function& function);
  static void rebuild_uses(Graph& graph);

  Model& model_;
  const InlineOptions& options_;
  std::map<Key, Callee> callees_;
  bool kept_ = false;
};

/// One call: maps values of the function's body to values of the graph around the call.
class Expansion {
 public:
  Expansion(Graph& graph, const Node& call, const Function& f)
      : graph_(graph), call_(call), f_(f), body_(*f.body), prefix_(prefix_of(call.name.empty() ? f.name : call.name)) {}

  void run() {
    bind_inputs();
    bind_outputs();
    for (NodeId id : body_.order()) copy_node(body_.node(id));
    for (const auto& [output, inner] : passed_through_) copy_value(output, inner);
  }

 private:
  /// Names get longer by one part for each level of calls, up to a limit.
  static std::string prefix_of(const std::string& name) {
    constexpr size_t kLongest = 256;
    return name.size() < kLongest ? name + "/" : name.substr(0, kLongest);
  }

  void bind_inputs() {
    require(call_.inputs.size() <= body_.inputs.size(), ErrorCode::invalid_graph,
            "{} inputs, but {} has {}; remove the others", call_.inputs.size(), describe_function(f_),
            body_.inputs.size());
    for (size_t i = 0; i < body_.inputs.size(); ++i) values_[body_.inputs[i]] = call_.input(i);
  }

  /// Makes the call's outputs the outputs of nodes in the body. An output that the body does not compute itself, or
  /// returns twice, is copied.
  void bind_outputs() {
    require(call_.outputs.size() <= body_.outputs.size(), ErrorCode::invalid_graph,
            "{} outputs, but {} has {}; remove the others", call_.outputs.size(), describe_function(f_),
            body_.outputs.size());
    for (size_t i = 0; i < call_.outputs.size(); ++i) {
      if (call_.outputs[i] == ValueId::none) continue;
      const ValueId inner = body_.outputs[i];
      const bool made = body_.producer(inner) && values_.try_emplace(inner, call_.outputs[i]).second;
      if (!made) passed_through_.emplace_back(call_.outputs[i], inner);
    }
  }

  ValueId map(ValueId inner) {
    if (inner == ValueId::none) return ValueId::none;
    const auto [at, added] = values_.try_emplace(inner, ValueId::none);
    if (added) {
      const GraphValue& v = body_.value(inner);
      const std::string name = graph_.unique_name(prefix_ + v.name);
      at->second = v.is_constant() ? graph_.add_constant(name, v.constant) : graph_.add_value(name);
    }
    return at->second;
  }

  void copy_node(const Node& from) {
    Node n = from;
    n.name = from.name.empty() ? call_.name : prefix_ + from.name;
    n.origins = call_.origins;
    if (n.origins.empty() && !call_.name.empty()) n.origins = {call_.name};
    n.position = call_.position;
    for (ValueId& in : n.inputs) in = map(in);
    for (ValueId& out : n.outputs) out = map(out);
    substitute(n);
    for (Body& b : n.bodies) {
      b.graph = b.graph->clone();
      for_each_graph(*b.graph, [&](Graph& g) {
        for (size_t i = 0; i < g.node_count(); ++i) substitute(g.node(NodeId(i)));
        for (size_t i = 0; i < g.value_count(); ++i) forget_symbols(g.value(ValueId(i)).type);
      });
    }
    graph_.add_node(std::move(n));
  }

  /// A symbol of the function may stand for a different extent in each call.
  static void forget_symbols(ValueType& type) {
    if (!type.ranked || all_known(type.shape)) return;
    type.ranked = false;
    type.shape = {};
  }

  void substitute(Node& n) const {
    std::vector<std::pair<std::string, std::string>> references;
    for (const auto& [name, value] : n.attributes) {
      if (const auto* ref = std::get_if<AttributeRef>(&value)) references.emplace_back(name, ref->name);
    }
    for (const auto& [name, from] : references) {
      const Attribute* given = call_.attributes.find(from);
      if (!given) given = f_.defaults.find(from);
      if (given) {
        n.attributes.set(name, *given);
      } else {
        n.attributes.erase(name);
      }
    }
  }

  void copy_value(ValueId output, ValueId inner) {
    Node n;
    n.type = "Identity";
    const auto version = f_.opsets.find("");
    n.version = version == f_.opsets.end() ? 0 : std::max(version->second, 0);
    n.inputs = {map(inner)};
    require(n.inputs[0] != ValueId::none, ErrorCode::invalid_graph, "{} returns an input that the call omits",
            describe_function(f_));
    n.outputs = {output};
    n.name = call_.name;
    n.position = call_.position;
    graph_.add_node(std::move(n));
  }

  Graph& graph_;
  const Node& call_;
  const Function& f_;
  const Graph& body_;
  const std::string prefix_;
  std::unordered_map<ValueId, ValueId> values_;
  std::vector<std::pair<ValueId, ValueId>> passed_through_;
};

void Inliner::expand_call(Graph& graph, NodeId id, const Function& function) {
  const Node call = graph.node(id);  // a copy: adding nodes moves the existing ones
  try {
    require(call.bodies.empty(), ErrorCode::not_implemented, "calls with graph attributes are not supported");
    for (ValueId out : call.outputs) {
      if (out != ValueId::none) graph.value(out).producer = NodeId::none;
    }
    Node& dead = graph.node(id);
    dead.inputs.clear();
    dead.outputs.clear();
    dead.dead = true;
    Expansion(graph, call, function).run();
  } catch (Error& error) {
    error.add_context(describe(graph, call));
    throw;
  }
}

// Done once at the end: removing the uses of each call individually would be quadratic in the uses of a value.
void Inliner::rebuild_uses(Graph& graph) {
  for (size_t i = 0; i < graph.value_count(); ++i) graph.value(ValueId(i)).uses.clear();
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const Node& n = graph.node(NodeId(i));
    for (uint32_t slot = 0; !n.dead && slot < n.inputs.size(); ++slot) {
      if (n.inputs[slot] != ValueId::none) graph.value(n.inputs[slot]).uses.push_back({n.id, slot});
    }
  }
  graph.touch();
  graph.order();
}

}  // namespace

void inline_functions(Model& model, const InlineOptions& options) {
  if (model.functions.empty()) return;
  const bool all = Inliner(model, options).run();
  if (all) model.functions.clear();
}

}  // namespace retort
