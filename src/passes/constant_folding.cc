// Computes nodes whose inputs are all constants before the model runs. Speeds up every exported model: shapes, masks,
// transposed weights.
#include <map>

#include "base/loading.h"
#include "memory/mapping.h"
#include "ops/evaluate.h"
#include "passes/passes.h"

namespace retort {
namespace {

// A result may be up to twice as large as its inputs (16-bit weights converted to 32 bits are), plus this much:
// ConstantOfShape, Expand and Tile turn small inputs into large results.
constexpr size_t kMaxGrowth = 4 << 20;

bool foldable(const Graph& graph, const Node& n, const FoldLimits& limits) {
  if (!n.op || n.op->has(kRandom) || n.op->has(kBoxed) || !n.bodies.empty() || n.captures != 0) return false;
  // int8 weights are a quarter as large as float ones, and kernels read them directly.
  if (n.is("DequantizeLinear")) return false;
  if (n.is("QuantizeLinear") && !limits.quantize) return false;
  for (ValueId in : n.inputs) {
    if (in != ValueId::none && !graph.constant(in)) return false;
  }
  return true;
}

std::vector<Value> constant_inputs(const Graph& graph, const Node& n) {
  std::vector<Value> values;
  for (ValueId in : n.inputs) {
    const Tensor* t = graph.constant(in);
    const bool stays = t && (n.op->has(kView) || is_aligned(t->dtype(), t->data()));
    values.push_back(!t ? Value{} : Value(stays ? *t : move_from_file(*t)));
  }
  return values;
}

bool within(size_t bytes, const FoldLimits& limits) { return limits.most_bytes == 0 || bytes <= limits.most_bytes; }

bool small_enough(const Node& n, std::span<const Value* const> inputs, const FoldLimits& limits) {
  size_t in = 0, out = 0;
  for (const Value* v : inputs) in += v ? v->tensor()->bytes() : 0;
  for (const ValueType& t : output_types(n, inputs)) {
    if (t.is_tensor() && t.is_static()) out += dtype_bytes(t.dtype, element_count(t.shape));
  }
  return out <= 2 * in + kMaxGrowth && within(out, limits);
}

// Returns the outputs; empty if the node cannot be computed now (its error is then reported when the model runs).
std::vector<Value> try_evaluate(const Graph& graph, const Node& n, const PassOptions& options) {
  const FoldLimits& limits = options.folding;
  const std::vector<Value> values = constant_inputs(graph, n);
  std::vector<const Value*> inputs;
  for (const Value& v : values) inputs.push_back(v.empty() ? nullptr : &v);
  try {
    if (!small_enough(n, inputs, limits)) return {};
    std::vector<Value> results = evaluate(n, inputs, options.parallel);
    size_t bytes = 0;  // extents that depend on content are known only now
    for (const Value& v : results) bytes += v.tensor() ? v.tensor()->bytes() : 0;
    return within(bytes, limits) ? std::move(results) : std::vector<Value>();
  } catch (const Error&) {
    return {};
  }
}

/// The nodes that were folded. Exporters write the same moves of the same weight for every use of it; one result serves
/// all, so that the nodes that read it are common subexpressions, and its packed form exists once.
class Folded {
 public:
  /// Replaces the node's outputs by constants that exist already; false if it has to be computed.
  bool reuse(Graph& graph, NodeId id) {
    const Node& n = graph.node(id);
    // An output of the graph keeps a value of its own.
    if (std::ranges::any_of(n.outputs, [&](ValueId v) { return v != ValueId::none && graph.is_output(v); }))
      return false;
    const Result* r = n.is("Identity") ? nullptr : find(n);
    if (!r && !n.is("Identity")) return false;
    const std::vector<ValueId> known = r ? r->last : n.inputs, outputs = n.outputs;
    // A constant is forgotten when its last reader has been folded.
    if (std::ranges::any_of(known, [&](ValueId v) { return v != ValueId::none && !graph.constant(v); })) return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != ValueId::none) graph.replace_uses(outputs[i], known[i]);
    }
    return true;
  }
  void add(const Node& n) {
    if (Result* r = find(n)) {
      for (size_t i = 0; i < n.outputs.size(); ++i) equals_[n.outputs[i]] = r->first[i];
      r->last = n.outputs;
    } else {
      results_[key(n)].push_back({n.attributes, n.outputs, n.outputs});
    }
  }

 private:
  using Key = std::tuple<std::string, std::string, std::vector<ValueId>>;
  struct Result {
    Attributes attributes;
    std::vector<ValueId> first, last;  ///< outputs of the first and the last node that computed it
  };

  /// Equal constants have the same key, though all but one may be forgotten.
  Key key(const Node& n) const {
    std::vector<ValueId> inputs = n.inputs;
    for (ValueId& v : inputs) {
      if (const auto equal = equals_.find(v); equal != equals_.end()) v = equal->second;
    }
    return {n.domain, n.type, std::move(inputs)};
  }
  Result* find(const Node& n) {
    const auto is_none = [](ValueId v) { return v == ValueId::none; };
    const auto found = results_.find(key(n));
    if (found == results_.end()) return nullptr;
    for (Result& r : found->second) {
      if (std::ranges::equal(r.first, n.outputs, {}, is_none, is_none) && r.attributes == n.attributes) return &r;
    }
    return nullptr;
  }

  std::map<Key, std::vector<Result>> results_;
  std::map<ValueId, ValueId> equals_;  ///< the first of equal constants
};

void fold_constants(Graph& graph, PassContext& context) {
  const PassOptions& options = context.options();
  Folded folded;
  const std::span<const NodeId> order = graph.order();
  for (NodeId id : std::vector<NodeId>(order.begin(), order.end())) {
    check_loading();
    if (graph.node(id).dead || !foldable(graph, graph.node(id), options.folding)) continue;
    if (folded.reuse(graph, id)) {
      remove_dead(graph, id);
      context.count("copy");
      continue;
    }
    const std::vector<Value> results = try_evaluate(graph, graph.node(id), options);
    check_loading(options.parallel);  // kernels return early when loading is cancelled: results are not complete then
    bool all = !results.empty();
    for (size_t i = 0; i < results.size(); ++i)
      all = all && (results[i].tensor() || graph.node(id).outputs[i] == ValueId::none);
    if (!all) continue;
    folded.add(graph.node(id));
    const std::vector<ValueId> outputs = graph.node(id).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != ValueId::none) graph.make_constant(outputs[i], *results[i].tensor());
    }
    remove_dead(graph, id);
    context.count("node");
  }
}

}  // namespace

constinit const Pass pass_constant_folding{"constant_folding", 1, fold_constants};

}  // namespace retort
