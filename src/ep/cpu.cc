#include "ep/cpu.h"

#include <algorithm>

#include "base/loading.h"
#include "ir/describe.h"
#include "lift/lift.h"

namespace retort {

namespace {

std::vector<ValueType> types_of(const Graph& graph) {
  std::vector<ValueType> types;
  for (size_t i = 0; i < graph.value_count(); ++i) types.push_back(graph.value(ValueId(i)).type);
  return types;
}

bool contradict(Dim a, Dim b) { return is_known(a) && is_known(b) && a != b; }

void check_declared_shapes(const Graph& graph, const std::vector<ValueType>& declared) {
  for (size_t i = 0; i < declared.size(); ++i) {
    const GraphValue& v = graph.value(ValueId(i));
    const ValueType &told = declared[i], &made = v.type;
    if (!told.is_tensor() || !made.is_tensor() || !told.ranked || !made.ranked) continue;
    const bool fits = std::equal(told.shape.begin(), told.shape.end(), made.shape.begin(), made.shape.end(),
                                 [](Dim a, Dim b) { return !contradict(a, b); });
    require(
        fits, ErrorCode::fail,
        "the model declares '{}' as {}, its nodes make {}, and session.strict_shape_type_inference is 1; declare it "
        "so",
        v.name, type_text(graph, told), type_text(graph, made));
  }
}

void lower(Model& model, const LowerOptions& options, bool portable) {
  const std::vector<ValueType> declared = options.strict_shapes ? types_of(*model.graph) : std::vector<ValueType>();
  lift(*model.graph, options.external, portable ? nullptr : options.logger);
  check_declared_shapes(*model.graph, declared);
  PassOptions passes{.level = options.level,
                     .portable = portable,
                     .disabled = options.disabled,
                     .round_products = options.round_products,
                     .bf16_products = options.bf16_products,
                     .folding = options.folding,
                     .parallel = options.parallel};
  if (options.logger && options.logger->wants(LogLevel::verbose)) {
    passes.report = [&](const PassReport& r) {
      if (r.changes()) options.logger->write(LogLevel::verbose, r.text());
    };
  }
  optimize(*model.graph, passes);
}

// ONNX has no operator like retort.Expect. In its place comes a Reshape to the shape that is expected, which fails if the
// numbers of elements differ, or an Identity, if the shapes are numbers or only some extents are expected.
void spell_expectations(Graph& graph) {
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    for (const Body& b : graph.node(id).bodies) spell_expectations(*b.graph);
    if (!graph.node(id).is("Expect", "retort")) continue;
    const ValueId x = graph.node(id).inputs[0], like = graph.node(id).input(1);
    const bool whole = !graph.node(id).attributes.has("dims");
    const bool same = !whole || (graph.value(x).type.is_static() && graph.value(like).type.is_static());
    graph.resize_inputs(id, 1);
    if (!same) {
      const NodeId shape = graph.add({.type = "Shape", .inputs = {like}, .position = graph.node(id).position});
      resolve(graph.node(shape));
      graph.resize_inputs(id, 2);
      graph.set_input(id, 1, graph.node(shape).outputs[0]);
    }
    Node& n = graph.node(id);
    n.type = same ? "Identity" : "Reshape";
    n.domain.clear();
    n.attributes = same ? Attributes{} : Attributes{{"allowzero", int64_t(1)}};
    resolve(n);
  }
}

}  // namespace

bool has_operator(const std::string& domain, const std::string& type) {
  const OpDef* op = find_op(domain, type);
  return op ? !op->has(kInternal) : is_liftable(domain, type);
}

void lower_for_cpu(Model& model, const LowerOptions& options) { lower(model, options, false); }

Model portable_copy(const Model& model, const LowerOptions& options) {
  const LoadingScratch copy(std::make_shared<Model>(model));
  copy->graph = model.graph->clone();
  lower(*copy, options, true);
  spell_expectations(*copy->graph);
  copy->opsets = lifted_opsets(*copy->graph, copy->opsets);
  return std::move(*copy);
}

Model compiled_copy(const Model& model, const LowerOptions& options) {
  if (options.level > 0) return portable_copy(model, options);
  Model copy = model;
  copy.graph = model.graph->clone();
  lift_constants(*copy.graph);
  lift(*copy.graph->clone(), options.external);  // throws for nodes that cannot run
  return copy;
}

}  // namespace retort
