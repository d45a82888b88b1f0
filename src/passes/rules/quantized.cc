// Computes on codes what a model computes between DequantizeLinear and QuantizeLinear: convolutions, products and sums
// of codes, and operators that only move or choose elements. Speeds up quantised CNNs (ResNet50 and MobileNetV2 in QDQ
// form).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "memory/host.h"
#include "passes/codes.h"
#include "passes/pass.h"

namespace retort {
namespace {

/// The value before the clamping that the range of the codes does anyway: Relu, or Clip with constant limits.
ValueId without_clamp(const Graph& g, ValueId v, const Codes& y) {
  const double least = y.type == DType::i8 ? -128 : 0, most = y.type == DType::i8 ? 127 : 255;
  const double zero = double(zero_of(g, y)), scale = double(scale_of(g, y));
  if (!(scale > 0)) return v;  // larger numbers would have smaller codes
  if (const Node* relu = sole_producer_of(g, v, "Relu")) return zero == least ? relu->inputs[0] : v;
  const Node* clip = sole_producer_of(g, v, "Clip");
  if (!clip) return v;
  const auto limit = [&](size_t i) {
    return clip->input(i) == ValueId::none ? 0.0 : scalar_constant(g, clip->inputs[i]);
  };
  if (!limit(1) || !limit(2)) return v;
  // The code of a limit tells: what is beyond it has the same code as the limit.
  const auto code = [&](size_t i) { return std::nearbyint(float(*limit(i)) / float(scale)) + zero; };
  const bool low = clip->input(1) == ValueId::none || code(1) <= least;
  const bool high = clip->input(2) == ValueId::none || code(2) >= most;
  return low && high ? clip->inputs[0] : v;
}

/// The constant codes of filters, with one scale or one per output channel, before their DequantizeLinear.
std::optional<Codes> filter_codes(const Graph& g, ValueId v) {
  const Node* n = producer_of(g, v, "DequantizeLinear");
  if (!n || !is_plain(g, *n, v) || !g.constant(n->inputs[0])) return std::nullopt;
  const Tensor& codes = *g.constant(n->inputs[0]);
  if (!is_code_type(codes.dtype()) || codes.shape().rank() < 3) return std::nullopt;
  const auto axis = n->attributes.get_or<int64_t>("axis", 1);
  const bool by_channel = axis == 0 || axis == -int64_t(codes.shape().rank());
  if (!has_one_scale(g, *n) && !by_channel) return std::nullopt;
  return Codes{n->inputs[0], n->inputs[1], n->input(2), codes.dtype()};
}

/// The bias of a convolution of codes: integers whose scale is the product of those of image and filters, or numbers.
struct ConvBias {
  ValueId codes = ValueId::none;
  std::vector<float> numbers;
};

bool are_products(std::span<const float> scales, float image_scale, std::span<const float> filter_scales) {
  for (size_t i = 0; i < std::max(scales.size(), filter_scales.size()); ++i) {
    const float own = scales[scales.size() == 1 ? 0 : i];
    const float wanted = image_scale * filter_scales[filter_scales.size() == 1 ? 0 : i];
    if (!(std::abs(own - wanted) <= 1e-6f * std::abs(wanted))) return false;
  }
  return true;
}

/// None if the bias is not constant, or has codes of another kind.
std::optional<ConvBias> conv_bias(const Graph& g, ValueId v, float image_scale, std::span<const float> filter_scales) {
  if (v == ValueId::none) return ConvBias{};
  if (is_float32(g, v) && g.constant(v)) return ConvBias{ValueId::none, float_content(g, v)};
  const Node* n = producer_of(g, v, "DequantizeLinear");
  if (!n || !is_plain(g, *n, v) || !g.constant(n->inputs[0])) return std::nullopt;
  const Tensor& codes = *g.constant(n->inputs[0]);
  if (codes.dtype() != DType::i32 || codes.shape().rank() != 1) return std::nullopt;
  if (n->input(2) != ValueId::none) {
    const auto zeros = known_integers(g, n->inputs[2]);
    if (!zeros || std::ranges::any_of(*zeros, [](int64_t z) { return z != 0; })) return std::nullopt;
  }
  const std::vector<float> scales = float_content(g, n->inputs[1]);
  const auto fits = [&](size_t count) { return count == 1 || count == codes.count(); };
  if (!fits(scales.size()) || !fits(filter_scales.size())) return std::nullopt;
  if (are_products(scales, image_scale, filter_scales)) return ConvBias{n->inputs[0], {}};
  ConvBias bias;
  for (size_t i = 0; i < codes.count(); ++i)
    bias.numbers.push_back(float(codes.at<int32_t>(i)) * scales[scales.size() == 1 ? 0 : i]);
  return bias;
}

Tensor zeros_like(const Tensor& scales, DType type) {
  Tensor t(type, scales.shape());
  std::memset(t.mutable_data<uint8_t>(), 0, t.count());
  return t;
}

std::optional<Patch> match_qdq_conv(const Graph& g, const Node& n) {
  const auto y = result_codes(g, n);
  if (!y) return std::nullopt;
  const Node* conv = sole_producer_of(g, without_clamp(g, n.inputs[0], *y), "Conv");
  if (!conv) return std::nullopt;
  const auto x = codes_of(g, conv->inputs[0]), w = filter_codes(g, conv->inputs[1]);
  if (!x || !w) return std::nullopt;
  const std::vector<float> scales = float_content(g, w->scale);
  const auto bias = conv_bias(g, conv->input(2), scale_of(g, *x), scales);
  if (!bias) return std::nullopt;
  Patch p(g);
  const ValueId w_zero = w->zero != ValueId::none ? w->zero : p.constant(zeros_like(*g.constant(w->scale), w->type));
  std::vector<ValueId> inputs = {x->codes, x->scale, given_zero(p, *x), w->codes,
                                 w->scale, w_zero,   y->scale,          given_zero(p, *y)};
  const bool real = !bias->numbers.empty();
  if (bias->codes != ValueId::none) inputs.push_back(bias->codes);
  if (real) inputs.push_back(p.constant(float_tensor({int64_t(bias->numbers.size())}, bias->numbers), "bias"));
  p.replace(n.outputs[0], p.add({.type = "QLinearConv",
                                 .inputs = std::move(inputs),
                                 .attributes = conv->attributes,
                                 .domain = real ? "retort" : ""}));
  p.covers({conv->id, n.id});
  return p;
}

/// Whether operators on codes broadcast `b` to `a`: in long runs, and where nothing else needs the numbers of `a`, so
/// that they are not made. Otherwise an operator on floats is as fast (those of the gates of EfficientNet are faster).
bool broadcasts_codes(const Graph& g, ValueId a, ValueId b) {
  // Sums and products of codes take this part of the time of floats on an AMD EPYC of Zen 4: with 128 repeats 0.6 and
  // 0.8 (products with SSE4: 1.1), with 32 of them 0.7 and 0.9, too little to give up another layout of an image for;
  // with 32 elements 0.7 and 1, with 16 of them 1 and 1.4.
  constexpr int64_t kFewRepeats = 128, kFewElements = 32;
  const Shape *x = shape_of(g, a), *y = shape_of(g, b);
  if (same_shape(g, a, b)) return true;
  if (!x || !y || y->rank() > x->rank() || !used_once(g, a)) return false;
  const bool fixed = g.constant(producer_of(g, b, "DequantizeLinear")->inputs[0]);
  const bool single = std::ranges::all_of(*y, [](Dim d) { return d == 1; });
  if (fixed && (single || x->rank() > 3)) return false;  // a table, or an image whose layout would have to stay
  int64_t run = 1;                                       // of the last axes, all of which are repeated, or none
  std::optional<bool> repeats;
  bool ended = false;
  for (size_t i = 1; i <= x->rank(); ++i) {
    const Dim of_x = (*x)[x->rank() - i], of_y = i <= y->rank() ? (*y)[y->rank() - i] : 1;
    if (of_y != of_x && of_y != 1) return false;
    if (of_x == 1) continue;
    const bool here = of_y == 1;
    ended = ended || here != repeats.value_or(here);
    if (ended) continue;
    repeats = here;
    run *= is_known(of_x) ? of_x : kFewRepeats;
  }
  return run >= (repeats.value_or(true) ? kFewRepeats : kFewElements);
}

/// Codes with as many axes as the other operand, so that the first axes of both are the batch.
ValueId with_rank(Patch& p, const Graph& g, const Codes& codes, size_t rank) {
  const size_t own = shape_of(g, codes.codes)->rank();
  if (own == rank) return codes.codes;
  std::vector<int64_t> axes(rank - own);
  std::iota(axes.begin(), axes.end(), 0);
  return p.add({.type = "Unsqueeze", .inputs = {codes.codes, p.constant(int64_tensor(axes), "axes")}});
}

std::optional<Patch> match_qdq_binary(const Graph& g, const Node& n, std::string_view type, std::string_view of_codes) {
  const auto y = result_codes(g, n);
  if (!y) return std::nullopt;
  const Node* op = sole_producer_of(g, without_clamp(g, n.inputs[0], *y), type);
  if (!op) return std::nullopt;
  auto a = codes_of(g, op->inputs[0]), b = codes_of(g, op->inputs[1]);
  if (!a || !b) return std::nullopt;
  if (!broadcasts_codes(g, op->inputs[0], op->inputs[1])) {
    if (!broadcasts_codes(g, op->inputs[1], op->inputs[0])) return std::nullopt;
    std::swap(a, b);
  }
  Patch p(g);
  if (const size_t rank = shape_of(g, n.outputs[0])->rank(); !g.constant(b->codes))
    b->codes = with_rank(p, g, *b, rank);
  p.replace(n.outputs[0], p.add({.type = std::string(of_codes),
                                 .inputs = {a->codes, a->scale, given_zero(p, *a), b->codes, b->scale,
                                            given_zero(p, *b), y->scale, given_zero(p, *y)},
                                 .domain = "retort"}));
  p.covers({op->id, n.id});
  return p;
}
std::optional<Patch> match_qdq_add(const Graph& g, const Node& n) {
  return match_qdq_binary(g, n, "Add", "QLinearAdd");
}
std::optional<Patch> match_qdq_mul(const Graph& g, const Node& n) {
  return match_qdq_binary(g, n, "Mul", "QLinearMul");
}

// Operators whose output has elements of input 0, or zeros beside them.
constexpr std::string_view kMoves[] = {"Expand", "Flatten", "Gather", "MaxPool",   "Reshape",
                                       "Slice",  "Squeeze", "Tile",   "Transpose", "Unsqueeze"};

std::optional<Patch> match_qdq_move(const Graph& g, const Node& n) {
  const auto y = result_codes(g, n);
  const Node* move = g.producer(n.inputs[0]);
  if (!y || !move || !used_once(g, n.inputs[0]) || move->outputs.size() != 1 || !move->domain.empty() ||
      std::ranges::find(kMoves, move->type) == std::end(kMoves))
    return std::nullopt;
  const auto x = codes_of(g, move->inputs[0]);
  if (!x || x->type != y->type || zero_of(g, *x) != zero_of(g, *y) || scale_of(g, *x) != scale_of(g, *y) ||
      !(scale_of(g, *x) > 0))
    return std::nullopt;
  std::vector<ValueId> inputs = move->inputs;
  inputs[0] = x->codes;
  Patch p(g);
  p.replace(n.outputs[0], p.add({.type = move->type, .inputs = std::move(inputs), .attributes = move->attributes}));
  p.covers({move->id, n.id});
  return p;
}

/// B [K, N] of a product: its codes, and the scales of its columns or of all.
struct Columns {
  Codes codes;
  bool turned = false;  ///< the constant is [N, K]
};
std::optional<Columns> column_codes(const Graph& g, ValueId v, bool turned) {
  if (const auto one = codes_of(g, v); one && !turned) return Columns{*one};
  const Node* n = producer_of(g, v, "DequantizeLinear");
  if (!n || !is_plain(g, *n, v) || !g.constant(n->inputs[0])) return std::nullopt;
  const Tensor& codes = *g.constant(n->inputs[0]);
  if (!is_code_type(codes.dtype()) || codes.shape().rank() != 2) return std::nullopt;
  if (!has_one_scale(g, *n)) {  // one scale has no axis: the attribute may have any value then
    const size_t axis = normalize_axis(n->attributes.get_or<int64_t>("axis", 1), 2);
    if (axis != (turned ? 0 : 1)) return std::nullopt;
  }
  return Columns{{n->inputs[0], n->inputs[1], n->input(2), codes.dtype()}, turned};
}

// In blocks whose lines stay in the first-level cache, even if rows are apart by a power of two.
Tensor turned(const Tensor& t) {
  constexpr size_t kHeight = 16, kWidth = 64;
  const size_t rows = size_t(t.shape()[0]), columns = size_t(t.shape()[1]);
  Tensor to = new_constant(t.dtype(), {t.shape()[1], t.shape()[0]});
  const auto* from = static_cast<const uint8_t*>(t.data());
  auto* const at = to.mutable_data<uint8_t>();
  for (size_t j0 = 0; j0 < columns; j0 += kWidth) {
    for (size_t i0 = 0; i0 < rows; i0 += kHeight) {
      for (size_t j = j0; j < std::min(j0 + kWidth, columns); ++j)
        for (size_t i = i0; i < std::min(i0 + kHeight, rows); ++i) at[j * rows + i] = from[i * columns + j];
    }
  }
  return to;
}

/// A product of codes, in integers; the scales follow.
std::optional<Patch> match_qdq_product(const Graph& g, const Node& n) {
  const bool gemm = n.type == "Gemm";
  const auto is = [&](const char* name, auto wanted) {
    return n.attributes.get_or<decltype(wanted)>(name, wanted) == wanted;
  };
  if (gemm && !(is("alpha", 1.0f) && is("beta", 1.0f) && is("transA", int64_t(0)))) return std::nullopt;
  const auto a = codes_of(g, n.inputs[0]);
  const auto b = column_codes(g, n.inputs[1], gemm && n.attributes.get_or<int64_t>("transB", 0) != 0);
  if (!a || !b || (!g.constant(a->codes) && !g.value(a->codes).type.ranked)) return std::nullopt;
  std::vector<float> scales = float_content(g, b->codes.scale);
  for (float& s : scales) s *= scale_of(g, *a);
  Patch p(g);
  const ValueId codes = b->turned ? p.constant(turned(*g.constant(b->codes.codes))) : b->codes.codes;
  const ValueId sums = p.add({.type = "MatMulInteger", .inputs = {a->codes, codes, given_zero(p, *a), b->codes.zero}});
  Attributes to;
  to.set("to", int64_t(DType::f32));
  const ValueId numbers = p.add({.type = "Cast", .inputs = {sums}, .attributes = std::move(to)});
  const Shape of_scales = scales.size() == 1 ? Shape{} : Shape{int64_t(scales.size())};
  ValueId y = p.add({.type = "Mul", .inputs = {numbers, p.constant(float_tensor(of_scales, scales))}});
  if (gemm && n.input(2) != ValueId::none) y = p.add({.type = "Add", .inputs = {y, n.inputs[2]}});
  p.replace(n.outputs[0], y);
  p.covers(n.id);
  return p;
}

constexpr Rule kQuantizedRules[] = {
    {"qdq_add", "QuantizeLinear", match_qdq_add, {RuleStage::quantized}},
    {"qdq_conv", "QuantizeLinear", match_qdq_conv, {RuleStage::quantized}},
    {"qdq_gemm", "Gemm", match_qdq_product, {RuleStage::quantized}},
    {"qdq_matmul", "MatMul", match_qdq_product, {RuleStage::quantized}},
    {.name = "qdq_mul",  // a table is faster: a product of codes with a function of them
     .root = "QuantizeLinear",
     .match = match_qdq_mul,
     .stages = {RuleStage::quantized},
     .after = {"qdq_table"}},
    {"qdq_move", "QuantizeLinear", match_qdq_move, {RuleStage::quantized}},
};

}  // namespace

extern const Rules rules_quantized;
constinit const Rules rules_quantized{kQuantizedRules};

}  // namespace retort
