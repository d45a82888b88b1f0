// Brings what quantisation tools write into the one form that the rules for codes know: constant weights become int8
// codes whose zero point is 0, if a code minus its zero point fits into 8 bits, as it does for all of 4 bits; weights in
// floats in front of a QuantizeLinear become their codes; and one of several equal QuantizeLinear of a tensor remains.
// A Gather of constant numbers chooses among their codes. Speeds up models with weights of 4 bits or unsigned ones, those
// with a pair of quantisers for each user, and embeddings.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "memory/host.h"
#include "ops/quant/common/quantization.h"
#include "passes/codes.h"
#include "passes/pass.h"

namespace retort {
namespace {

bool has_integer_codes(const Tensor& t) {
  return contains(ops::kIntegerCodes, t.dtype()) && dtype_bits(t.dtype()) <= 8;
}

/// Codes minus their zero points, which are those of the indices along an axis or one for all, as int8; none if one of
/// them does not fit.
std::optional<Tensor> without_zeros(const Tensor& codes, const std::vector<int32_t>& zeros, size_t inner) {
  constexpr size_t kMost = 4096;  // at once, so that most others are found early
  const size_t bits = dtype_bits(codes.dtype());
  const int32_t mask = (1 << bits) - 1, sign = ops::code_range(codes.dtype()).first < 0 ? 1 << (bits - 1) : 0;
  const auto* from = static_cast<const uint8_t*>(codes.data());
  Tensor result = new_constant(DType::i8, codes.shape());
  auto* to = result.mutable_data<int8_t>();
  for (size_t i = 0; i < codes.count();) {
    const int32_t zero = zeros[i / inner % zeros.size()];
    int32_t least = 0, most = 0;
    for (const size_t end = std::min(i / inner * inner + inner, i + kMost); i < end; ++i) {
      const int32_t code = ((from[i * bits / 8] >> (i * bits % 8) & mask) ^ sign) - sign - zero;
      least = std::min(least, code);
      most = std::max(most, code);
      to[i] = int8_t(code);
    }
    if (least < INT8_MIN || most > INT8_MAX) return std::nullopt;
  }
  return result;
}

/// The same of a constant, whose zero points may be omitted; none if it has int8 codes and no other zero points than 0.
std::optional<Tensor> narrowed(const Graph& g, ValueId codes, ValueId zeros, int64_t axis) {
  const Tensor* t = g.constant(codes);
  const Tensor* z = zeros == ValueId::none ? nullptr : g.constant(zeros);
  if (!t || !has_integer_codes(*t) || t->shape().rank() < 2 || t->count() == 0) return std::nullopt;
  if (zeros != ValueId::none && (!z || z->dtype() != t->dtype())) return std::nullopt;
  std::vector<int32_t> numbers(z ? z->count() : 1);
  for (size_t i = 0; z && i < numbers.size(); ++i) numbers[i] = ops::integer_code(z->data(), z->dtype(), i);
  if (t->dtype() == DType::i8 && std::ranges::count(numbers, 0) == std::ssize(numbers)) return std::nullopt;
  size_t inner = t->count();
  if (numbers.size() != 1) {
    const size_t along = normalize_axis(axis, t->shape().rank());
    if (numbers.size() != size_t(t->shape()[along])) return std::nullopt;
    inner = 1;
    for (size_t d = along + 1; d < t->shape().rank(); ++d) inner *= size_t(t->shape()[d]);
  }
  return without_zeros(*t, numbers, inner);
}

/// Whether an operator on codes may replace a user of `v`.
bool has_user_of_codes(const Graph& g, ValueId v) {
  return std::ranges::any_of(g.value(v).uses, [&](const Use& use) {
    const Node& n = g.node(use.node);
    return use.slot == 1 && (n.is("Conv") || n.is("MatMul") || n.is("Gemm")) && codes_of(g, n.inputs[0]);
  });
}

std::optional<Patch> match_weights(const Graph& g, const Node& n) {
  if (!is_plain(g, n, n.outputs[0]) || !has_user_of_codes(g, n.outputs[0])) return std::nullopt;
  const auto codes = narrowed(g, n.inputs[0], n.input(2), n.attributes.get_or<int64_t>("axis", 1));
  if (!codes) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0],
            p.add({.type = n.type, .inputs = {p.constant(*codes, "codes"), n.inputs[1]}, .attributes = n.attributes}));
  p.covers(n.id);
  return p;
}

/// A convolution of codes in the form of the standard.
std::optional<Patch> match_integer_filters(const Graph& g, const Node& n) {
  const size_t filters = n.type == "QLinearConv" ? 3 : 1, zeros = filters + 2;
  const auto codes = narrowed(g, n.inputs[filters], n.input(zeros), 0);
  if (!codes) return std::nullopt;
  Patch p(g);
  std::vector<ValueId> inputs = n.inputs;
  inputs.resize(std::max(inputs.size(), zeros + 1), ValueId::none);
  inputs[filters] = p.constant(*codes, "codes");
  inputs[zeros] = given_zero(p, {.type = DType::i8});
  p.replace(n.outputs[0], p.add({.type = n.type, .inputs = std::move(inputs), .attributes = n.attributes}));
  p.covers(n.id);
  return p;
}

std::optional<Patch> match_constant(const Graph& g, const Node& n) {
  const Tensor codes = constant_result(g, n);
  if (!codes) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0], p.constant(codes, "codes"));
  p.covers(n.id);
  return p;
}

bool have_same_content(const Graph& g, ValueId a, ValueId b) {
  if (a == b) return true;
  const Tensor *x = a == ValueId::none ? nullptr : g.constant(a), *y = b == ValueId::none ? nullptr : g.constant(b);
  return x && y && x->dtype() == y->dtype() && x->shape() == y->shape() && x->bytes() == y->bytes() &&
         std::memcmp(x->data(), y->data(), x->bytes()) == 0;
}

/// A new node for both, so that the rules see it.
std::optional<Patch> match_twin(const Graph& g, const Node& n) {
  for (const Use& use : g.value(n.inputs[0]).uses) {
    const Node& twin = g.node(use.node);
    if (use.slot != 0 || twin.id == n.id || !twin.is(n.type) || !(twin.attributes == n.attributes) ||
        g.is_output(twin.outputs[0]) || g.is_output(n.outputs[0]) || !have_same_content(g, twin.input(1), n.input(1)) ||
        !have_same_content(g, twin.input(2), n.input(2)))
      continue;
    Patch p(g);
    const ValueId codes = p.add({.type = n.type, .inputs = n.inputs, .attributes = n.attributes});
    for (const Node* one : {&n, &twin}) p.replace(one->outputs[0], codes);
    p.covers({n.id, twin.id});
    return p;
  }
  return std::nullopt;
}

/// How DequantizeLinear reads what a Gather chooses along `along`, an axis of the codes.
struct ChosenRows {
  size_t rank, along, indices;  ///< ranks of the codes and of the indices
  int64_t axis = 1, block = 0;
  bool gathers = false;  ///< the parameters are chosen as the codes are
  bool of_rows = false;  ///< there is one of each row, which becomes that of a block as long as the row

  /// Where an axis of the codes is in the result.
  int64_t moved(size_t d) const { return int64_t(d < along ? d : d + indices - 1); }
};

/// How many rows a Gather chooses; an extent that only a run knows counts as a sequence of usual length.
double count_of_indices(const Shape& indices) {
  constexpr double kUsualLength = 128;
  double count = 1;
  for (const Dim d : indices) count *= is_known(d) ? double(d) : kUsualLength;
  return count;
}

std::optional<ChosenRows> chosen_rows(const Graph& g, const Node& gather, const Node& real, const Tensor& codes) {
  const Shape* indices = shape_of(g, gather.inputs[1]);
  const size_t rank = codes.shape().rank();
  if (!indices || rank == 0 || codes.count() == 0) return std::nullopt;
  ChosenRows c{rank, normalize_axis(gather.attributes.get_or<int64_t>("axis", 0), rank), indices->rank()};
  // If more rows are chosen than the table has, fewer elements are dequantised before Gather than behind it.
  if (double(codes.shape()[c.along]) < count_of_indices(*indices)) return std::nullopt;
  c.block = real.attributes.get_or<int64_t>("block_size", 0);
  if (c.block == 0 && has_one_scale(g, real)) return c;
  const size_t axis = normalize_axis(real.attributes.get_or<int64_t>("axis", 1), rank);
  c.of_rows = c.block == 0 && axis == c.along && c.along == 0 && rank == 2;
  if (axis == c.along && !c.of_rows) return std::nullopt;
  c.gathers = c.of_rows || c.block > 0;
  c.axis = c.moved(c.of_rows ? 1 : axis);
  if (c.of_rows) c.block = codes.shape()[1];
  return c;
}

/// Whether what a Gather chooses consists of whole bytes.
bool has_whole_rows(const Tensor& t, size_t along) {
  size_t inner = 1;
  for (size_t d = along + 1; d < t.shape().rank(); ++d) inner *= size_t(t.shape()[d]);
  return inner * dtype_bits(t.dtype()) % 8 == 0;
}

/// Scales or zero points of chosen rows.
ValueId chosen_parameters(Patch& p, const Graph& g, const ChosenRows& c, const Node& gather, ValueId v) {
  if (!c.gathers) return v;
  const Tensor& all = *g.constant(v);
  const ValueId table = c.of_rows ? p.constant(all.reshaped({all.shape()[0], 1}), "rows") : v;
  return p.add({.type = gather.type, .inputs = {table, gather.inputs[1]}, .attributes = gather.attributes});
}

/// Chosen rows of a constant tensor of codes become numbers, instead of all rows.
std::optional<Patch> match_gather(const Graph& g, const Node& n) {
  const Node* real = producer_of(g, n.inputs[0], "DequantizeLinear");
  const Tensor* codes = real ? g.constant(real->inputs[0]) : nullptr;
  if (!codes || !contains(ops::kIntegerCodes | ops::kFloatCodes, codes->dtype())) return std::nullopt;
  for (size_t i = 1; i < real->inputs.size(); ++i)
    if (real->inputs[i] != ValueId::none && !g.constant(real->inputs[i])) return std::nullopt;
  const auto c = chosen_rows(g, n, *real, *codes);
  if (!c || !has_whole_rows(*codes, c->along)) return std::nullopt;
  const Tensor* zeros = real->input(2) == ValueId::none ? nullptr : g.constant(real->inputs[2]);
  if (zeros && c->gathers && (c->of_rows ? is_packed(zeros->dtype()) : !has_whole_rows(*zeros, c->along)))
    return std::nullopt;
  Patch p(g);
  std::vector<ValueId> inputs = {
      p.add({.type = n.type, .inputs = {real->inputs[0], n.inputs[1]}, .attributes = n.attributes})};
  for (size_t i = 1; i < real->inputs.size(); ++i)
    inputs.push_back(real->inputs[i] == ValueId::none ? ValueId::none
                                                      : chosen_parameters(p, g, *c, n, real->inputs[i]));
  Attributes attributes;
  if (const auto type = real->attributes.get_or<int64_t>("output_dtype", 0)) attributes.set("output_dtype", type);
  if (c->axis != 1) attributes.set("axis", c->axis);
  if (c->block != 0) attributes.set("block_size", c->block);
  p.replace(n.outputs[0],
            p.add({.type = real->type, .inputs = std::move(inputs), .attributes = std::move(attributes)}));
  p.covers(n.id);
  return p;
}

constexpr Rule kConstantRules[] = {
    {"narrow_integer_filters", "ConvInteger", match_integer_filters, {RuleStage::quantized}},
    {"narrow_filters", "QLinearConv", match_integer_filters, {RuleStage::quantized}},
    {"qdq_constant", "QuantizeLinear", match_constant, {RuleStage::quantized}},
    {"qdq_gather", "Gather", match_gather, {RuleStage::quantized}},
    {"qdq_narrow", "DequantizeLinear", match_weights, {RuleStage::quantized}},
    {"qdq_twin", "QuantizeLinear", match_twin, {RuleStage::quantized}},
};

}  // namespace

extern const Rules rules_quantized_constants;
constinit const Rules rules_quantized_constants{kConstantRules};

}  // namespace retort
