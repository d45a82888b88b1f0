// com.microsoft.QAttention: attention whose projection of the input to queries, keys and values is a quantised product.
// The projection becomes MatMulInteger; the rest is the Attention of ai.onnx, whose mask is added to the scores.
#include "lift/quantized.h"

namespace retort {
namespace {

class QAttentionParts {
 public:
  enum Input : size_t { kX, kWeight, kBias, kXScale, kWeightScale, kMask, kXZero, kWeightZero, kPast };
  explicit QAttentionParts(Rewriter& r) : r_(r) {}

  /// [batch, rows, 3 · hidden]: queries, keys and values side by side.
  ValueId projected() {
    require_one(r_, kXScale, "input_scale");
    require_one(r_, kXZero, "input_zero_point");
    const std::vector<ValueId> codes{r_.input(kX), r_.input(kWeight), input_or_none(r_, kXZero),
                                     input_or_none(r_, kWeightZero)};
    const ValueId sums = cast(r_, add("MatMulInteger", codes), DType::f32);
    const ValueId scale = add("Mul", {r_.input(kXScale), r_.input(kWeightScale)});
    return add("Add", {add("Mul", {sums, scale}), r_.input(kBias)});
  }

  /// Past keys (0) or values (1), [batch, heads, rows, size].
  ValueId past(int64_t which) {
    return add("Gather", {r_.input(kPast), r_.constant(Tensor::of<int64_t>({}, {which}))}, {{"axis", int64_t(0)}});
  }

  /// The tensor that is added to the scores [batch, heads, rows, all rows]; none without a mask.
  ValueId score_mask() {
    if (!r_.has(kMask)) return ValueId::none;
    const float filter = r_.attributes().get_or<float>("mask_filter_value", -10000.0f);
    const ValueId keeps = kept();
    return add("Where", {keeps, float_constant(0), float_constant(filter)});
  }

 private:
  ValueId add(const char* type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return r_.add({.type = type, .inputs = std::move(inputs), .attributes = std::move(attributes)});
  }
  ValueId float_constant(float v) { return r_.constant(float_scalar(DType::f32, v)); }
  ValueId ints(std::vector<int64_t> v) { return r_.constant(v); }
  ValueId extent(size_t input, int64_t axis) {
    return add("Shape", {r_.input(input)}, {{"start", axis}, {"end", axis + 1}});
  }

  /// Booleans that broadcast to the scores: whether a row may attend to each of all rows.
  ValueId kept() {
    const size_t rank = r_.rank(kMask, "the meaning of mask_index");
    if (rank == 1) return within_lengths();
    require(rank == 2 || rank == 3, ErrorCode::not_implemented,
            "mask_index has {} axes, expected 1 (lengths), 2 ([batch, all rows]) or 3 ([batch, rows, all rows])", rank);
    const ValueId zero = r_.constant(Tensor::of<int32_t>({}, {0}));
    return add("Unsqueeze", {add("Greater", {r_.input(kMask), zero}), rank == 2 ? ints({1, 2}) : ints({1})});
  }

  /// [batch] ends of rows, or these and then [batch] starts.
  ValueId within_lengths() {
    const ValueId batch = extent(kX, 0), first = ints({0});
    ValueId rows = extent(kX, 1);
    if (r_.has(kPast)) rows = add("Add", {rows, extent(kPast, 3)});
    const ValueId scalar = add("Squeeze", {rows}), from = r_.constant(Tensor::of<int64_t>({}, {0}));
    const ValueId positions =
        cast(r_, add("Range", {from, scalar, r_.constant(Tensor::of<int64_t>({}, {1}))}), DType::i32);
    const ValueId behind = ints({1, 2, 3});
    const ValueId ends = add("Unsqueeze", {add("Slice", {r_.input(kMask), first, batch}), behind});
    const ValueId before_end = add("Less", {positions, ends});
    if (has_no_starts()) return before_end;
    // Without starts, they are zeros.
    const ValueId zeros = add("ConstantOfShape", {batch}, {{"value", Tensor::of<int32_t>({1}, {0})}});
    const ValueId all = add("Concat", {r_.input(kMask), zeros}, {{"axis", int64_t(0)}});
    const ValueId starts = add("Slice", {all, batch, add("Add", {batch, batch})});
    return add("And", {before_end, add("GreaterOrEqual", {positions, add("Unsqueeze", {starts, behind})})});
  }
  bool has_no_starts() {
    const ValueType &mask = r_.type(kMask), &x = r_.type(kX);
    return x.ranked && x.rank() == 3 && x.shape[0] == mask.shape[0];
  }

  Rewriter& r_;
};

void apply_q_attention(Rewriter& r) {
  using Parts = QAttentionParts;
  for (const char* name : {"do_rotary", "past_present_share_buffer"})
    require(r.attributes().get_or<int64_t>(name, 0) == 0, ErrorCode::not_implemented, "attribute {} is not supported",
            name);
  const auto* heads = r.attributes().get<int64_t>("num_heads");
  require(heads && *heads > 0, ErrorCode::invalid_graph, "num_heads is missing, or not positive");
  Parts parts(r);
  Graph& graph = r.graph();
  const auto outputs_of = [&](ValueId first) { return graph.node(graph.value(first).producer).outputs; };
  const std::vector<ValueId> qkv = outputs_of(r.add({.type = "Split",
                                                     .inputs = {parts.projected()},
                                                     .attributes = {{"axis", int64_t(-1)}, {"num_outputs", int64_t(3)}},
                                                     .outputs = 3}));
  NodeSpec spec{.type = "Attention",
                .inputs = {qkv[0], qkv[1], qkv[2], parts.score_mask()},
                .attributes = {{"q_num_heads", *heads},
                               {"kv_num_heads", *heads},
                               {"is_causal", r.attributes().get_or<int64_t>("unidirectional", 0)}}};
  if (const float scale = r.attributes().get_or<float>("scale", 0); scale != 0) spec.attributes.set("scale", scale);
  const bool presents = r.output_used(1);
  if (r.has(Parts::kPast)) {
    spec.inputs.push_back(parts.past(0));
    spec.inputs.push_back(parts.past(1));
  }
  spec.outputs = presents || r.has(Parts::kPast) ? 3 : 1;
  const ValueId y = r.add(std::move(spec));
  if (presents) {
    const std::vector<ValueId> made = outputs_of(y);
    const ValueId front = r.constant(std::vector<int64_t>{0});
    const ValueId keys = r.add({.type = "Unsqueeze", .inputs = {made[1], front}});
    const ValueId values = r.add({.type = "Unsqueeze", .inputs = {made[2], front}});
    r.replace_output(1, r.add({.type = "Concat", .inputs = {keys, values}, .attributes = {{"axis", int64_t(0)}}}));
  }
  r.replace_output(0, y);
  r.remove();
}

constexpr LiftRule kQAttentionRules[] = {{"QAttention", kAlways, apply_q_attention, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_q_attention;
constinit const LiftRules lift_q_attention{kQAttentionRules};

}  // namespace retort
