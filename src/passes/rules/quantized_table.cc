// What a model computes of one tensor of codes, element by element and until it quantises again, has 256 results at
// most: a table. Sigmoid, LeakyRelu, x · sigmoid(x), whose parts quantisers separate, and changes of scale become
// lookups, also in front of a Concat of codes. Speeds up quantised detectors (YOLO) and mobile networks.
#include <algorithm>

#include "ops/evaluate.h"
#include "passes/codes.h"
#include "passes/pass.h"

namespace retort {
namespace {

constexpr int64_t kEntries = 256;

/// One code for each byte.
struct Table {
  ValueId of = ValueId::none;  ///< the codes that are looked up
  Tensor entries;
};

/// Computes a table with the operators of the graph.
class TableBuilder {
 public:
  explicit TableBuilder(const Graph& graph) : graph_(graph) {}

  /// The codes that `quantizer` makes of `real`, if that depends on a single tensor of codes.
  std::optional<Table> build(const Node& quantizer, ValueId real) {
    const auto numbers = numbers_of(real);
    if (!numbers || leaf_ == ValueId::none || !same_shape(graph_, leaf_, real)) return std::nullopt;
    auto codes = computed(quantizer, {*numbers, constant(quantizer.inputs[1]), constant(quantizer.input(2))});
    if (!codes || codes->shape() != Shape{kEntries} || !is_code_type(codes->dtype())) return std::nullopt;
    return Table{leaf_, *codes};
  }

 private:
  using Result = std::optional<Tensor>;
  static constexpr size_t kMostNodes = 40;

  Result constant(ValueId v) const {
    const Tensor* t = v == ValueId::none ? nullptr : graph_.constant(v);
    return t ? Result(*t) : std::nullopt;
  }

  // Missing inputs are omitted ones.
  Result computed(const Node& n, const std::vector<Result>& inputs) {
    if (++nodes_ > kMostNodes) return std::nullopt;
    std::vector<Value> values;
    for (const Result& t : inputs) values.push_back(t ? Value(*t) : Value());
    std::vector<const Value*> pointers;
    for (const Value& v : values) pointers.push_back(v.empty() ? nullptr : &v);
    try {
      const std::vector<Value> results = evaluate(n, pointers);
      const Tensor* y = results.size() == 1 ? results[0].tensor() : nullptr;
      return y ? Result(*y) : std::nullopt;
    } catch (const Error&) {
      return std::nullopt;  // a run will report it
    }
  }

  // The real numbers of each byte, or a constant of one element.
  Result numbers_of(ValueId v) {
    if (++visits_ > 4 * kMostNodes) return std::nullopt;
    if (const Tensor* t = graph_.constant(v)) return t->count() == 1 ? Result(*t) : std::nullopt;
    const Node* n = graph_.producer(v);
    if (!n || !n->op || !n->domain.empty() || n->outputs.size() != 1 || !n->bodies.empty()) return std::nullopt;
    if (n->is("DequantizeLinear")) return dequantized(*n);
    if (!n->op->has(kElementwise) || n->op->has(kRandom)) return std::nullopt;
    std::vector<Result> inputs;
    for (const ValueId in : n->inputs) {
      inputs.push_back(in == ValueId::none ? std::nullopt : numbers_of(in));
      if (in != ValueId::none && !inputs.back()) return std::nullopt;
    }
    return computed(*n, inputs);
  }

  Result dequantized(const Node& n) {
    if (!is_plain(graph_, n, n.outputs[0]) || !has_one_scale(graph_, n)) return std::nullopt;
    const Tensor* fixed = graph_.constant(n.inputs[0]);
    if (fixed && fixed->count() != 1) return std::nullopt;
    const Result codes = fixed ? Result(*fixed) : codes_at(n.inputs[0]);
    return codes ? computed(n, {codes, constant(n.inputs[1]), constant(n.input(2))}) : std::nullopt;
  }

  // What codes `v` are for each byte of the only codes from which all is computed.
  Result codes_at(ValueId v) {
    const Node* n = graph_.producer(v);
    if (n && n->type == "MapCodes" && n->domain == "retort" && graph_.constant(n->inputs[1])) {
      const Result codes = codes_at(n->inputs[0]);
      return codes ? Result(mapped(*codes, *graph_.constant(n->inputs[1]))) : std::nullopt;
    }
    if (n && n->is("QuantizeLinear") && result_codes(graph_, *n)) {
      const ValueId leaf = leaf_;
      if (const Result numbers = numbers_of(n->inputs[0])) {
        if (auto codes = computed(*n, {numbers, constant(n->inputs[1]), constant(n->input(2))})) return codes;
      }
      leaf_ = leaf;
    }
    if (leaf_ != ValueId::none && leaf_ != v) return std::nullopt;
    const DType type = graph_.value(v).type.dtype;
    if (!is_code_type(type)) return std::nullopt;
    leaf_ = v;
    Tensor bytes(type, {kEntries});
    for (size_t i = 0; i < size_t(kEntries); ++i) bytes.mutable_data<uint8_t>()[i] = uint8_t(i);
    return bytes;
  }

  static Tensor mapped(const Tensor& codes, const Tensor& table) {
    Tensor y(table.dtype(), {kEntries});
    const auto* entries = static_cast<const uint8_t*>(table.data());
    for (size_t i = 0; i < size_t(kEntries); ++i)
      y.mutable_data<uint8_t>()[i] = entries[static_cast<const uint8_t*>(codes.data())[i]];
    return y;
  }

  const Graph& graph_;
  ValueId leaf_ = ValueId::none;
  size_t nodes_ = 0, visits_ = 0;
};

bool is_identity(const Table& t, DType type) {
  if (t.entries.dtype() != type) return false;
  const auto* entries = static_cast<const uint8_t*>(t.entries.data());
  for (size_t i = 0; i < size_t(kEntries); ++i) {
    if (entries[i] != i) return false;
  }
  return true;
}

ValueId looked_up(Patch& p, const Graph& g, const Table& t) {
  if (is_identity(t, g.value(t.of).type.dtype)) return t.of;
  return p.add({.type = "MapCodes", .inputs = {t.of, p.constant(t.entries, "table")}, .domain = "retort"});
}

std::optional<Patch> match_code_table(const Graph& g, const Node& n) {
  if (!result_codes(g, n)) return std::nullopt;
  const auto table = TableBuilder(g).build(n, n.inputs[0]);
  if (!table) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0], looked_up(p, g, *table));
  const Node* last = g.producer(n.inputs[0]);
  last->is("DequantizeLinear") ? p.covers(n.id) : p.covers({last->id, n.id});
  return p;
}

std::optional<Patch> match_joined_codes(const Graph& g, const Node& n) {
  const Node* concat = sole_producer_of(g, n.inputs[0], "Concat");
  if (!concat || !result_codes(g, n)) return std::nullopt;
  std::vector<Table> tables;
  for (const ValueId in : concat->inputs) {
    auto table = TableBuilder(g).build(n, in);
    if (!table) return std::nullopt;
    tables.push_back(std::move(*table));
  }
  Patch p(g);
  std::vector<ValueId> parts;
  for (const Table& t : tables) parts.push_back(looked_up(p, g, t));
  p.replace(n.outputs[0], p.add({.type = "Concat", .inputs = std::move(parts), .attributes = concat->attributes}));
  p.covers({concat->id, n.id});
  return p;
}

// Splits the codes; their parts become real numbers.
std::optional<Patch> match_split_codes(const Graph& g, const Node& n) {
  const auto codes = codes_of(g, n.inputs[0]);
  if (!codes || g.constant(codes->codes)) return std::nullopt;
  Patch p(g);
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = codes->codes;
  const auto parts = p.add_multi(
      {.type = "Split", .inputs = std::move(inputs), .attributes = n.attributes, .outputs = n.outputs.size()});
  for (size_t i = 0; i < parts.size(); ++i) {
    if (n.outputs[i] == ValueId::none) continue;
    std::vector<ValueId> real = {parts[i], codes->scale};
    if (codes->zero != ValueId::none) real.push_back(codes->zero);
    p.replace(n.outputs[i], p.add({.type = "DequantizeLinear", .inputs = std::move(real)}));
  }
  p.covers(n.id);
  return p;
}

constexpr Rule kTableRules[] = {
    {.name = "qdq_concat",
     .root = "QuantizeLinear",
     .match = match_joined_codes,
     .stages = {RuleStage::quantized},
     .after = {"qdq_conv"}},
    {.name = "qdq_split", .root = "Split", .match = match_split_codes, .stages = {RuleStage::quantized}},
    {.name = "qdq_table",
     .root = "QuantizeLinear",
     .match = match_code_table,
     .stages = {RuleStage::quantized},
     .after = {"qdq_add", "qdq_conv"}},
};

}  // namespace

extern const Rules rules_quantized_table;
constinit const Rules rules_quantized_table{kTableRules};

}  // namespace retort
