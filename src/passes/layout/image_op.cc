#include "passes/layout/image_op.h"

#include <algorithm>

#include "passes/layout/last_forms.h"

namespace retort {
namespace {

// The rank of an image or a volume; 0 for other values.
size_t image_rank(const Graph& g, ValueId v) {
  const Shape* s = shape_of(g, v);
  return s && s->rank() >= 3 && s->rank() <= 5 ? s->rank() : 0;
}

bool all_ones(const Graph& g, ValueId v) {
  const Shape* s = shape_of(g, v);
  return s && std::all_of(s->begin(), s->end(), [](Dim d) { return d == 1; });
}

std::optional<ImageOp> single_image(const Graph& g, const Node& n) {
  const size_t rank = image_rank(g, n.inputs[0]);
  if (rank == 0) return std::nullopt;
  return ImageOp{.rank = rank, .inputs = {0}};
}

// For operators whose channels-last form has one or two spatial axes.
std::optional<ImageOp> flat_image(const Graph& g, const Node& n) {
  return image_rank(g, n.inputs[0]) < 5 ? single_image(g, n) : std::nullopt;
}

// With few channels, most of a channels-last vector would be empty; the first layer gathers planes instead.
constexpr int64_t kFewChannels = 4;

// Whether no element of a volume is in two windows, as where a video is cut into patches: one product serves it well.
bool is_tiled(const Node& n, const Shape& w) {
  const auto strides = ints_attribute(n, "strides");
  const auto apart = [&](size_t d) { return w[d + 2] > 1 && strides[d] >= w[d + 2]; };
  return strides.size() == 3 && apart(0) && apart(1) && apart(2);
}

std::optional<ImageOp> conv(const Graph& g, const Node& n) {
  constexpr int64_t kFewFilters = 8;  // of a volume: to fewer channels, the product of patches as columns is faster
  const Tensor* w = g.constant(n.inputs[1]);
  auto op = single_image(g, n);
  if (!op || !w || w->dtype() != DType::f32 || w->shape().rank() != op->rank || w->count() == 0) return std::nullopt;
  const bool volume = op->rank == 5;
  if (volume && (w->shape()[0] < kFewFilters || is_tiled(n, w->shape()))) return std::nullopt;
  op->wants_last = true;
  op->runs_first = volume && w->count() == size_t(w->shape()[0] * w->shape()[1]);  // one tap gains nothing
  op->reads_first = !volume && n.attributes.get_or<int64_t>("group", 1) == 1 && w->shape()[1] <= kFewChannels;
  return op;
}

// Whether the pixels of a transposed convolution become blocks that do not overlap. Then it is one product in either
// layout.
bool tiles(const Graph& g, const Node& n) {
  const Shape& w = *shape_of(g, n.inputs[1]);
  const auto strides = ints_attribute(n, "strides"), dilations = ints_attribute(n, "dilations");
  for (size_t d = 2; d < w.rank(); ++d) {
    if (w[d] != (strides.empty() ? 1 : strides.at(d - 2))) return false;
    if (w[d] != 1 && !dilations.empty() && dilations.at(d - 2) != 1) return false;
  }
  const auto zeros = [&](const char* name) {
    return std::ranges::all_of(ints_attribute(n, name), [](int64_t p) { return p == 0; });
  };
  return zeros("pads") && zeros("output_padding");
}

std::optional<ImageOp> conv_transpose(const Graph& g, const Node& n) {
  const std::string automatic = n.attributes.get_or<std::string>("auto_pad", "NOTSET");
  if (automatic != "NOTSET" || n.attributes.has("output_shape")) return std::nullopt;
  auto op = conv(g, n);
  if (!op || op->rank == 5) return std::nullopt;
  op->reads_first = false;
  op->runs_first = tiles(g, n);
  return op;
}

bool all_constant(const Graph& g, const Node& n, size_t first) {
  for (size_t i = first; i < n.inputs.size(); ++i)
    if (n.inputs[i] != ValueId::none && !g.constant(n.inputs[i])) return false;
  return true;
}
bool is_code_image(const Graph& g, ValueId v) {
  const DType type = g.value(v).type.dtype;
  return type == DType::i8 || type == DType::u8;
}

// A convolution of codes by constant filters with equal zero points: one group or one filter per channel. The kernel
// packs depthwise filters less their zero point as the sum of two of 8 bits, which is at most 254: the zero point must
// not be the smallest code.
std::optional<ImageOp> conv_with_filters(const Graph& g, const Node& n, size_t filters, size_t zero_points) {
  auto op = flat_image(g, n);
  const bool given = n.input(zero_points) != ValueId::none;
  const Tensor *w = g.constant(n.inputs[filters]), *zeros = given ? g.constant(n.inputs[zero_points]) : nullptr;
  if (!op || !w || (w->dtype() != DType::i8 && w->dtype() != DType::u8) || w->shape().rank() != op->rank ||
      w->count() == 0 || (given && (!zeros || zeros->count() == 0)))
    return std::nullopt;
  const auto group = n.attributes.get_or<int64_t>("group", 1);
  const bool by_channel = group == w->shape()[0] && w->shape()[1] == 1;
  if (group != 1 && !by_channel) return std::nullopt;
  const uint8_t none = 0, least = w->dtype() == DType::i8 ? 0x80 : 0;
  const auto* zero = given ? static_cast<const uint8_t*>(zeros->data()) : &none;
  if (given && size_t(std::count(zero, zero + zeros->count(), *zero)) != zeros->count()) return std::nullopt;
  if (by_channel && *zero == least) return std::nullopt;
  op->wants_last = op->runs_first = true;
  const auto dilations = ints_attribute(n, "dilations");
  op->reads_first =
      group == 1 && w->shape()[1] <= kFewChannels && std::ranges::all_of(dilations, [](int64_t d) { return d == 1; });
  return op;
}

std::optional<ImageOp> conv_of_codes(const Graph& g, const Node& n) {
  if (!all_constant(g, n, kXScale)) return std::nullopt;
  auto op = conv_with_filters(g, n, kW, kWZero);
  if (!op) return op;
  const int64_t channels = g.constant(n.inputs[kW])->shape()[0];
  const auto has = [&](size_t i, int64_t most) {
    const auto count = int64_t(g.constant(n.inputs[i])->count());
    return count == 1 || count == most;
  };
  if (!has(kXScale, 1) || !has(kXZero, 1) || !has(kWScale, channels) || !has(kYScale, 1) || !has(kYZero, 1))
    return std::nullopt;
  if (n.input(kBias) != ValueId::none && int64_t(g.constant(n.inputs[kBias])->count()) != channels) return std::nullopt;
  return op;
}

// ConvInteger, whose zero point of the image may be known only in a run, as that of DynamicQuantizeLinear. With one
// channel, rows of codes are short, and a product of patches that are columns is faster (the first layer of MNIST's net
// takes 8 us, not 26).
std::optional<ImageOp> conv_of_integers(const Graph& g, const Node& n) {
  const Tensor* w = g.constant(n.inputs[kFilters]);
  const bool one_channel =
      w && w->shape().rank() > 1 && w->shape()[1] == 1 && n.attributes.get_or<int64_t>("group", 1) == 1;
  return one_channel ? std::nullopt : conv_with_filters(g, n, kFilters, kFilterZero);
}

std::optional<ImageOp> two_of_codes(const Graph& g, const Node& n) {
  constexpr size_t kA = 0, kB = 3;
  auto op = single_image(g, n);
  if (!op || image_rank(g, n.inputs[kB]) != op->rank || g.constant(n.inputs[kA]) || g.constant(n.inputs[kB]))
    return std::nullopt;
  op->inputs = {kA, kB};
  return op;
}

// QuantizeLinear and DequantizeLinear with one scale.
std::optional<ImageOp> quantization(const Graph& g, const Node& n) {
  for (const size_t i : {1, 2}) {
    if (n.input(i) != ValueId::none && (!g.constant(n.inputs[i]) || g.constant(n.inputs[i])->count() != 1))
      return std::nullopt;
  }
  if (g.constant(n.inputs[0]) || n.attributes.get_or<int64_t>("block_size", 0) != 0) return std::nullopt;
  return single_image(g, n);
}

// With SAME, windows of long strides leave out elements at the beginning, which the channels-last kernels cannot do.
bool may_leave_out(const Node& n) {
  using Ints = std::vector<int64_t>;
  const Ints* strides = n.attributes.get<Ints>("strides");
  return strides && n.attributes.get_or<std::string>("auto_pad", "").starts_with("SAME") &&
         std::ranges::any_of(*strides, [](int64_t s) { return s > 2; });
}

std::optional<ImageOp> pool_of(std::optional<ImageOp> op, const Node& n) {
  if (n.outputs.size() > 1 || n.attributes.get_or<int64_t>("storage_order", 0) != 0 || may_leave_out(n))
    return std::nullopt;
  if (op) op->is_pool = true;
  return op;
}

std::optional<ImageOp> pool(const Graph& g, const Node& n) {
  return is_float32(g, n.inputs[0]) ? pool_of(single_image(g, n), n) : std::nullopt;
}

std::optional<ImageOp> max_pool(const Graph& g, const Node& n) {
  return is_code_image(g, n.inputs[0]) ? pool_of(flat_image(g, n), n) : pool(g, n);
}

std::optional<ImageOp> normalization(const Graph& g, const Node& n) {
  const auto op = single_image(g, n);
  return op && is_float32(g, n.inputs[0]) && (*shape_of(g, n.inputs[0]))[1] > 0 ? op : std::nullopt;
}

std::optional<ImageOp> elementwise(const Graph& g, const Node& n) {
  ImageOp op{.rank = image_rank(g, n.outputs[0])};
  if (op.rank == 0 || n.outputs.size() != 1) return std::nullopt;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const ValueId in = n.inputs[i];
    if (in == ValueId::none) continue;
    const Shape* s = shape_of(g, in);
    if (!s) return std::nullopt;
    if (g.constant(in)) {
      if (!all_ones(g, in)) op.broadcasts.push_back(i);
    } else if (s->rank() == op.rank) {
      op.inputs.push_back(i);
    } else if (!all_ones(g, in)) {
      return std::nullopt;
    }
  }
  if (op.inputs.empty()) return std::nullopt;
  return op;
}

std::optional<ImageOp> concat(const Graph& g, const Node& n) {
  ImageOp op{.rank = image_rank(g, n.outputs[0])};
  if (op.rank == 0) return std::nullopt;
  for (size_t i = 0; i < n.inputs.size(); ++i) op.inputs.push_back(i);
  return op;
}

// For operators that need constant axes, which are in input `slot`.
std::optional<ImageOp> with_axes(const Graph& g, const Node& n, size_t slot) {
  if (n.input(slot) != ValueId::none && !g.constant(n.inputs[slot])) return std::nullopt;
  return single_image(g, n);
}

std::optional<ImageOp> reduce(const Graph& g, const Node& n) {
  if (n.input(1) == ValueId::none || n.attributes.get_or<int64_t>("keepdims", 1) != 1) return std::nullopt;
  return with_axes(g, n, 1);
}

std::optional<ImageOp> slice(const Graph& g, const Node& n) {
  const Shape* starts = shape_of(g, n.inputs[1]);
  if (n.input(3) == ValueId::none && (!starts || !all_known(*starts))) return std::nullopt;
  return with_axes(g, n, 3);
}

std::optional<ImageOp> pad(const Graph& g, const Node& n) { return with_axes(g, n, 3); }

// Scales and sizes are unchanged: an attribute says which axes they refer to.
std::optional<ImageOp> resize(const Graph& g, const Node& n) {
  const ValueId region = n.input(1);
  if (region != ValueId::none && !(g.constant(region) && g.constant(region)->count() == 0)) return std::nullopt;
  return flat_image(g, n);
}

/// What the pass knows of an operator: its role, and what its form for channels last changes.
struct Knowledge {
  std::optional<ImageOp> (*role)(const Graph&, const Node&);
  void (*last)(LastForm&, const Graph&, const Node&, size_t rank);
};
struct OfOperator {
  std::string_view type;
  Knowledge known;
  std::string_view domain = "";
};
struct OfTrait {
  Traits trait;
  Knowledge known;
};
constexpr OfOperator kOperators[] = {
    {"Conv", {conv, last_forms::own_form}},
    {"ConvTranspose", {conv_transpose, last_forms::own_transposed}},
    {"QLinearConv", {conv_of_codes, last_forms::own_form_of_codes}},
    {"QLinearConv", {conv_of_codes, last_forms::own_form_of_codes}, "retort"},
    {"ConvInteger", {conv_of_integers, last_forms::own_form_of_integers}},
    {"DynamicQuantizeLinear", {single_image, last_forms::unchanged}},
    {"QLinearAdd", {two_of_codes, last_forms::same_operator}, "retort"},
    {"QLinearMul", {two_of_codes, last_forms::same_operator}, "retort"},
    {"MapCodes", {single_image, last_forms::same_operator}, "retort"},
    {"QuantizeLinear", {quantization, last_forms::unchanged}},
    {"DequantizeLinear", {quantization, last_forms::unchanged}},
    {"MaxPool", {max_pool, last_forms::own_form}},
    {"AveragePool", {pool, last_forms::own_form}},
    {"Slice", {slice, last_forms::sliced}},
    {"GlobalAveragePool", {pool, last_forms::own_form}},
    {"GroupNormalization", {normalization, last_forms::own_groups}},
    {"InstanceNormalization", {normalization, last_forms::own_groups}},
    {"Pad", {pad, last_forms::padded}},
    {"Resize", {resize, last_forms::resized}},
    {"Split", {single_image, last_forms::along_first_axis}},
};
constexpr OfTrait kOperatorsWithTrait[] = {
    {kJoins, {concat, last_forms::along_last_axis}},
    {kAlongAxis, {single_image, last_forms::along_last_axis}},
    {kReduces, {reduce, last_forms::reduced}},
    {kElementwise, {elementwise, last_forms::unchanged}},
};

/// Null for an operator that works only on channels first.
const Knowledge* find_knowledge(const Node& n) {
  if (!n.op) return nullptr;
  for (const OfOperator& row : kOperators) {
    if (row.type == n.type && row.domain == n.domain) return &row.known;
  }
  if (!n.domain.empty()) return nullptr;
  for (const OfTrait& row : kOperatorsWithTrait) {
    if (n.op->has(row.trait)) return &row.known;
  }
  return nullptr;
}

}  // namespace

std::optional<ImageOp> image_op(const Graph& g, const Node& n) {
  const Knowledge* known = find_knowledge(n);
  if (!known || n.inputs.empty() || n.outputs.empty() || n.outputs[0] == ValueId::none) return std::nullopt;
  const auto has_rank = [&](ValueId v) { return v == ValueId::none || shape_of(g, v); };
  if (!std::all_of(n.outputs.begin(), n.outputs.end(), has_rank)) return std::nullopt;
  return known->role(g, n);
}

LastForm last_form(const Graph& g, const Node& n, const ImageOp& op) {
  LastForm form{{.type = n.type,
                 .inputs = n.inputs,
                 .attributes = n.attributes,
                 .name = n.name,
                 .outputs = n.outputs.size(),
                 .position = n.position},
                {}};
  find_knowledge(n)->last(form, g, n, op.rank);
  for (size_t slot : op.broadcasts)
    form.constants.emplace_back(slot, broadcast_to_last(*g.constant(n.inputs[slot]), op.rank));
  return form;
}

}  // namespace retort
