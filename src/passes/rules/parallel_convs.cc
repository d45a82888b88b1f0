// Makes one convolution of two that read the same image and whose results are added, if the kernel of one lies inside
// that of the other: a convolution is linear in its weights. The identity and a BatchNormalization count as convolutions
// of one pixel. Speeds up networks that are trained with branches and exported before these were merged (RepVGG,
// MobileOne, FastViT, RepGhost) and depthwise convolutions with a residual.
#include "passes/batch_norm.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

/// Filters [M, C/g, …] whose elements read pixels side by side.
struct Filters {
  const Node* node = nullptr;
  Shape shape;
  std::vector<int64_t> pads;  ///< before and after, as in ONNX
  std::vector<float> weights, bias;
};

bool all_equal(const std::vector<int64_t>& list, int64_t number) {
  return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v == number; });
}

// A convolution with constant filters that only the sum reads. Their content is not read yet: most sums are of other
// images.
std::optional<Filters> filters_of(const Graph& g, ValueId value) {
  const Node* conv = sole_producer_of(g, value, "Conv");
  const Tensor* w = conv ? g.constant(conv->inputs[1]) : nullptr;
  if (!w || w->dtype() != DType::f32 || w->shape().rank() < 3 || !all_equal(ints_attribute(*conv, "dilations"), 1))
    return std::nullopt;
  if (conv->input(2) != ValueId::none && !g.constant(conv->inputs[2])) return std::nullopt;
  const std::string automatic = conv->attributes.get_or<std::string>("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID") return std::nullopt;
  Filters f{.node = conv, .shape = w->shape()};
  if (automatic == "NOTSET") f.pads = ints_attribute(*conv, "pads");
  f.pads.resize(2 * (f.shape.rank() - 2), 0);
  return f;
}

void read_weights(const Graph& g, Filters& f) {
  f.weights = float_content(g, f.node->inputs[1]);
  f.bias = float_content(g, f.node->input(2));
  f.bias.resize(size_t(f.shape[0]), 0.0f);
}

// `value` as a convolution of single pixels in the groups of `wide`: the identity or a BatchNormalization of its image.
std::optional<Filters> pixel_filters(const Graph& g, ValueId value, const Filters& wide) {
  const ValueId image = wide.node->inputs[0];
  const size_t channels = size_t(wide.shape[0]), columns = size_t(wide.shape[1]);
  const Shape* x = shape_of(g, image);
  if (!x || (*x)[1] != wide.shape[0] || !all_equal(ints_attribute(*wide.node, "strides"), 1)) return std::nullopt;
  ChannelAffine affine{std::vector<float>(channels, 1.0f), std::vector<float>(channels, 0.0f)};
  const Node* norm = value == image ? nullptr : sole_producer_of(g, value, "BatchNormalization");
  if (norm) {
    const auto given = norm->inputs[0] == image ? channel_affine(g, *norm) : std::nullopt;
    if (!given || given->scale.size() != channels) return std::nullopt;
    affine = *given;
  } else if (value != image) {
    return std::nullopt;
  }
  Filters f{.node = norm, .shape = {wide.shape[0], wide.shape[1]}, .bias = affine.shift};
  for (size_t i = 2; i < wide.shape.rank(); ++i) f.shape.push_back(1);
  f.pads.assign(2 * (wide.shape.rank() - 2), 0);
  f.weights.assign(channels * columns, 0.0f);
  for (size_t m = 0; m < channels; ++m) f.weights[m * columns + m % columns] = affine.scale[m];
  return f;
}

// A convolution of the same image as `wide`, with the same steps and groups.
std::optional<Filters> filters_beside(const Graph& g, ValueId value, const Filters& wide) {
  auto f = filters_of(g, value);
  if (!f) return pixel_filters(g, value, wide);
  std::vector<int64_t> a = ints_attribute(*f->node, "strides"), b = ints_attribute(*wide.node, "strides");
  a.resize(wide.shape.rank() - 2, 1);
  b.resize(wide.shape.rank() - 2, 1);
  const bool same = f->node->inputs[0] == wide.node->inputs[0] && a == b && f->shape.rank() == wide.shape.rank() &&
                    f->shape[0] == wide.shape[0] && f->shape[1] == wide.shape[1];
  return same ? f : std::nullopt;
}

// The element of a filter of `wide` that reads the same pixel, for each element of a filter of `narrow`; empty if some
// read pixels that `wide` does not.
std::vector<size_t> places_in(const Filters& wide, const Filters& narrow) {
  std::vector<size_t> places{0};
  for (size_t axis = 2; axis < wide.shape.rank(); ++axis) {
    const int64_t first = wide.pads[axis - 2] - narrow.pads[axis - 2];
    if (first < 0 || first + narrow.shape[axis] > wide.shape[axis]) return {};
    std::vector<size_t> longer;
    for (const size_t place : places) {
      for (int64_t k = 0; k < narrow.shape[axis]; ++k)
        longer.push_back(place * size_t(wide.shape[axis]) + size_t(first + k));
    }
    places = std::move(longer);
  }
  return places;
}

// wide_sign · wide + narrow_sign · narrow; each number is rounded once.
void merge_filters(Filters& wide, const Filters& narrow, std::span<const size_t> places, double wide_sign,
                   double narrow_sign) {
  for (size_t i = 0; i < wide.bias.size(); ++i)
    wide.bias[i] = float(wide_sign * double(wide.bias[i]) + narrow_sign * double(narrow.bias[i]));
  const size_t taps = size_t(extent_product(wide.shape, 2, wide.shape.rank()));
  std::vector<double> sum(taps);
  for (size_t f = 0; f * taps < wide.weights.size(); ++f) {
    float* weights = wide.weights.data() + f * taps;
    for (size_t i = 0; i < taps; ++i) sum[i] = wide_sign * double(weights[i]);
    for (size_t i = 0; i < places.size(); ++i)
      sum[places[i]] += narrow_sign * double(narrow.weights[f * places.size() + i]);
    for (size_t i = 0; i < taps; ++i) weights[i] = float(sum[i]);
  }
}

std::optional<Patch> match_parallel(const Graph& g, const Node& n, double second_sign) {
  // Equal extents of the results, with equal steps, make the first pixels that are read the only difference.
  if (!same_shape(g, n.inputs[0], n.inputs[1])) return std::nullopt;
  for (const size_t side : {0, 1}) {
    auto wide = filters_of(g, n.inputs[side]);
    auto narrow = wide ? filters_beside(g, n.inputs[1 - side], *wide) : std::nullopt;
    const std::vector<size_t> places = narrow ? places_in(*wide, *narrow) : std::vector<size_t>();
    if (places.empty()) continue;
    read_weights(g, *wide);
    if (narrow->node && narrow->node->is("Conv")) read_weights(g, *narrow);
    merge_filters(*wide, *narrow, places, side == 0 ? 1 : second_sign, side == 0 ? second_sign : 1);
    Patch p(g);
    const ValueId weights = p.constant(float_tensor(wide->shape, wide->weights), "weights");
    const ValueId bias = p.constant(float_tensor({wide->shape[0]}, wide->bias), "bias");
    p.replace(n.outputs[0], p.add({.type = "Conv",
                                   .inputs = {wide->node->inputs[0], weights, bias},
                                   .attributes = wide->node->attributes}));
    p.covers({wide->node->id, n.id});
    if (narrow->node) p.covers(narrow->node->id);
    return p;
  }
  return std::nullopt;
}

std::optional<Patch> match_parallel_add(const Graph& g, const Node& n) { return match_parallel(g, n, 1); }
std::optional<Patch> match_parallel_sub(const Graph& g, const Node& n) { return match_parallel(g, n, -1); }

constexpr Rule kParallelConvsRules[] = {
    {"parallel_convs", "Add", match_parallel_add, {RuleStage::conv_affine}},
    {"parallel_convs_sub", "Sub", match_parallel_sub, {RuleStage::conv_affine}},
};

}  // namespace

extern const Rules rules_parallel_convs;
constinit const Rules rules_parallel_convs{kParallelConvsRules};

}  // namespace retort
