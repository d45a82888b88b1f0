#include "explain/describe.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "explain/arithmetic.h"
#include "explain/how_it_runs.h"
#include "explain/memory.h"
#include "ir/defaults.h"
#include "ir/describe.h"
#include "lift/lift.h"
#include "onnx/functions.h"
#include "ops/op.h"
#include "ort_format/read.h"
#include "passes/optimize.h"

namespace retort {
namespace {

/// Operations of a node of the model, by label; fused nodes add them up.
using Work = std::map<std::string, std::optional<double>>;

/// Whether `lifted` came from `body`, so that both have the same ids: a rule may have put the body into another one.
bool has_values_of(const Graph& lifted, const Graph& body) {
  if (lifted.value_count() < body.value_count() || lifted.node_count() < body.node_count()) return false;
  for (size_t i = 0; i < body.value_count(); ++i) {
    if (lifted.value(ValueId(i)).name != body.value(ValueId(i)).name) return false;
  }
  return true;
}

class Description {
 public:
  Description(Model& model, const DescribeOptions& options) : model_(model), options_(options) {}

  std::string write() {
    bind_shapes();
    json_.open('{');
    write_head();
    inline_functions(model_);
    fix_defaults(*model_.graph);
    const auto lifted = model_.graph->clone();
    const std::string problem = try_lift(*lifted);
    collect_free_extents(*lifted);
    json_.key("graph");
    write_model_graph(*model_.graph, *lifted);
    if (problem.empty()) {
      write_passes(*lifted);
      json_.key("optimized");
      write_graph(*lifted, *lifted, [&](const Node& n) { return optimized_work(*lifted, n); });
      write_memory(*lifted);
    } else {
      json_.field("problem", problem);
    }
    return json_.close('}').take();
  }

 private:
  /// Inputs with a value in the model become constants, as in the plan that runs without them.
  void fix_defaults(Graph& graph) {
    json_.key("overridable").open('[');
    for (const ValueId id : graph.inputs) {
      if (graph.defaults.contains(id)) json_.value(graph.value(id).name);
    }
    json_.close(']');
    make_defaults_constant(graph);
  }

  /// The reason why the model cannot run, or "". Types that were inferred before the error are kept.
  static std::string try_lift(Graph& graph) {
    try {
      lift(graph);
      return "";
    } catch (const Error& e) {
      return e.message();
    }
  }

  void bind_shapes() {
    Graph& graph = *model_.graph;
    for (const auto& [name, shape] : options_.shapes) {
      const auto id = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                   [&, &input = name](ValueId v) { return graph.value(v).name == input; });
      if (id == graph.inputs.end() && shape.size() == 1 && bind_extent(graph, name, shape[0])) continue;
      require(id != graph.inputs.end(), ErrorCode::invalid_argument, "the model has no input or free extent '{}'",
              name);
      const ValueType type = graph.value(*id).type;
      require(type.is_tensor(), ErrorCode::invalid_argument, "input '{}' is not a tensor, so it has no shape", name);
      if (!type.ranked) {
        graph.value(*id).type.ranked = true;
        graph.value(*id).type.shape = Shape(std::span(shape));
        continue;
      }
      if (type.shape.rank() == 0 && shape.size() == 1 && shape[0] == 1) continue;  // a run accepts this
      bool fits = type.shape.rank() == shape.size();
      for (size_t i = 0; fits && i < shape.size(); ++i) {
        fits = is_symbolic(type.shape[i]) || type.shape[i] == shape[i];
        if (is_symbolic(type.shape[i])) extents_.emplace_back(type.shape[i], shape[i]);
      }
      require(fits, ErrorCode::invalid_argument, "input '{}' is {}, the shape {} was given", name,
              type_text(graph, type), to_string(shape));
    }
    set_extents(graph);
  }

  /// Gives a size to an extent that inputs name. False if none does.
  bool bind_extent(const Graph& graph, const std::string& name, int64_t size) {
    bool found = false;
    for (const ValueId input : graph.inputs) {
      for (const Dim d : graph.value(input).type.shape) {
        if (!is_symbolic(d) || graph.dims().text(d) != name) continue;
        extents_.emplace_back(d, size);
        found = true;
      }
    }
    return found;
  }

  void set_extents(Graph& graph) {
    for (size_t i = 0; i < graph.value_count(); ++i) {
      for (Dim& d : graph.value(ValueId(i)).type.shape) {
        for (const auto& [symbol, number] : extents_) d = d == symbol ? number : d;
      }
    }
    for (NodeId id : graph.order()) {
      for (Body& b : graph.node(id).bodies) set_extents(*b.graph);
    }
  }

  /// Free extents of the inputs count as 1 from here on.
  void collect_free_extents(const Graph& graph) {
    json_.key("assumed").open('{');
    for (const ValueId input : graph.inputs) {
      for (const Dim d : graph.value(input).type.shape) {
        const auto known = [&](const auto& e) { return e.first == d; };
        if (is_known(d) || std::any_of(extents_.begin(), extents_.end(), known)) continue;
        extents_.emplace_back(d, 1);
        json_.field(graph.dims().text(d), 1);
      }
    }
    json_.close('}');
  }

  std::optional<int64_t> extent(Dim d) const { return model_.dims->evaluate(d, extents_); }
  Extent extent() const {
    return [this](Dim d) { return extent(d); };
  }

  void write_head() {
    json_.field("ir_version", model_.ir_version).field("producer", model_.producer_name);
    json_.field("producer_version", model_.producer_version).field("domain", model_.domain).field("doc", model_.doc);
    json_.field("name", model_.graph->name);
    if (model_.model_version != Model::kNoVersion) json_.field("model_version", model_.model_version);
    json_.key("metadata").open('{');
    std::set<std::string> seen;
    for (const auto& [key, value] : model_.metadata) {
      if (seen.insert(key).second) json_.field(key, value);
    }
    json_.close('}').key("opsets").open('{');
    for (const auto& [domain, version] : model_.opsets) json_.field(domain.empty() ? "ai.onnx" : domain, version);
    json_.close('}').key("functions").open('[');
    for (const Function& f : model_.functions) json_.value(f.domain.empty() ? f.name : f.domain + "." + f.name);
    json_.close(']');
  }

  /// The operations of a node of the model: the sum over the nodes that the lift made from it.
  std::optional<double> model_work(const Graph& lifted, const Graph& own, const Node& node) {
    if (!lifted.node(node.id).dead) return count_operations(lifted, lifted.node(node.id), extent());
    double sum = 0;
    for (size_t i = own.node_count(); i < lifted.node_count(); ++i) {
      const Node& made = lifted.node(NodeId(i));
      if (made.dead || made.position != node.position || made.name != node.name) continue;
      const auto work = count_operations(lifted, made, extent());
      if (!work) return std::nullopt;
      sum += *work;
    }
    return sum;
  }

  void write_model_graph(const Graph& own, const Graph& lifted) {
    write_graph(own, lifted, [&](const Node& n) {
      const auto work = model_work(lifted, own, n);
      const auto [at, added] = work_.try_emplace(label(own, n), work);
      if (!added) at->second = at->second && work ? std::optional(*at->second + *work) : std::nullopt;
      return work;
    });
  }

  std::optional<double> optimized_work(const Graph& graph, const Node& n) {
    const auto& parts = n.origins.empty() ? std::vector<std::string>{label(graph, n)} : n.origins;
    double sum = 0;
    bool known = false;
    for (const std::string& part : parts) {
      const auto found = work_.find(part);
      if (found == work_.end()) continue;
      if (!found->second) return std::nullopt;
      sum += *found->second;
      known = true;
    }
    return known ? std::optional(sum) : count_operations(graph, n, extent());
  }

  void write_passes(Graph& graph) {
    PassOptions passes{.level = options_.level, .disabled = options_.disabled};
    double milliseconds = 0;
    size_t changes = 0;
    json_.key("passes").open('[');
    passes.report = [&](const PassReport& r) {
      milliseconds += r.milliseconds;
      changes += r.changes();
      json_.open('{').field("name", r.name).field("milliseconds", r.milliseconds);
      json_.field("nodes_before", r.nodes_before).field("nodes_after", r.nodes_after);
      json_.field("changes", r.changes()).key("counts").open('{');
      for (const auto& [what, times] : r.counts) json_.field(what, times);
      json_.close('}').close('}');
    };
    optimize(graph, passes);
    json_.close(']')
        .key("passes_total")
        .open('{')
        .field("milliseconds", milliseconds)
        .field("changes", changes)
        .close('}');
  }

  using WorkOf = std::function<std::optional<double>(const Node&)>;

  /// `typed` has the same value ids as `graph`, with types.
  void write_graph(const Graph& graph, const Graph& typed, const WorkOf& work) {
    std::map<ValueId, size_t> numbers;
    const auto number = [&](ValueId id) { return numbers.try_emplace(id, numbers.size()).first->second; };
    json_.open('{').field("name", graph.name);
    for (const auto& [key, ids] : {std::pair("inputs", &graph.inputs), std::pair("outputs", &graph.outputs)}) {
      json_.key(key).open('[');
      for (const ValueId id : *ids) json_.value(number(id));
      json_.close(']');
    }
    json_.key("nodes").open('[');
    for (const NodeId id : graph.order()) write_node(graph, typed, graph.node(id), work, number);
    json_.close(']').key("values").open('[');
    std::vector<ValueId> ids(numbers.size());
    for (const auto& [id, i] : numbers) ids[i] = id;
    for (const ValueId id : ids) write_value(graph, typed, id);
    json_.close(']').close('}');
  }

  void write_value(const Graph& graph, const Graph& typed, ValueId id) {
    const GraphValue& v = graph.value(id);
    const ValueType& seen = typed.value(id).type;
    json_.open('{').field("name", v.name);
    json_.field("type", type_text(typed, seen.kind == ValueType::Kind::unknown ? v.type : seen));
    if (v.is_constant()) {
      json_.field("constant", true).field("bytes", v.constant.bytes());
    } else if (const auto bytes = value_bytes(typed, id, extent())) {
      json_.field("bytes", *bytes);
    }
    json_.close('}');
  }

  template <typename Number>
  void write_node(const Graph& graph, const Graph& typed, const Node& n, const WorkOf& work, const Number& number) {
    json_.open('{').field("name", label(graph, n)).field("op", n.type);
    json_.field("domain", n.domain).field("version", n.version);
    for (const auto& [key, ids] : {std::pair("inputs", &n.inputs), std::pair("outputs", &n.outputs)}) {
      json_.key(key).open('[');
      for (const ValueId id : *ids) json_.value(id == ValueId::none ? int64_t(-1) : int64_t(number(id)));
      json_.close(']');
    }
    json_.key("attributes").open('{');
    for (const auto& [name, value] : n.attributes) json_.field(name, attribute_text(value));
    json_.close('}');
    if (!n.origins.empty()) {
      json_.key("origins").open('[');
      for (const std::string& origin : n.origins) json_.value(origin);
      json_.close(']');
    }
    if (n.op && !n.op->has(kView)) write_how(graph, n);
    if (const auto operations = work(n)) json_.field("operations", *operations);
    if (!n.bodies.empty()) write_bodies(typed, n, graph);
    json_.close('}');
  }

  void write_how(const Graph& graph, const Node& n) {
    const DType type = computed_type(graph, n);
    json_.field("runs", how_text(how_it_runs(*n.op, type)));
    if (type != DType::undefined) json_.field("computes", dtype_name(type));
  }

  void write_bodies(const Graph& typed, const Node& n, const Graph& graph) {
    json_.key("bodies").open('{');
    const Node& twin = typed.node(n.id);
    for (size_t i = 0; i < n.bodies.size(); ++i) {
      const Graph& body = *n.bodies[i].graph;
      const Graph& lifted = &graph == &typed || twin.dead ? body : *twin.bodies[i].graph;
      const Graph& typed_body = has_values_of(lifted, body) ? lifted : body;
      json_.key(n.bodies[i].attribute);
      write_graph(body, typed_body, [&](const Node& inner) {
        return typed_body.node(inner.id).dead ? std::nullopt
                                              : count_operations(typed_body, typed_body.node(inner.id), extent());
      });
    }
    json_.close('}');
  }

  void write_memory(const Graph& graph) {
    const MemoryNeed need = memory_need(graph, extent());
    json_.key("memory").open('{').field("weights", need.weights).field("values_at_once", need.at_once);
    json_.field("complete", need.complete).field("at", need.at).close('}');
  }

  Model& model_;
  const DescribeOptions& options_;
  std::vector<std::pair<Dim, int64_t>> extents_;
  Work work_;
  JsonWriter json_;
};

}  // namespace

std::string describe_model(const std::string& path, const DescribeOptions& options) {
  for (const std::string& name : options.disabled) {
    const std::string unknown = unknown_pass(name);
    require(unknown.empty(), ErrorCode::invalid_argument, "{}", unknown);
  }
  const auto model = load_model(path, {.unaligned_from = size_t(64) << 10});
  return Description(*model, options).write();
}

}  // namespace retort
