// Replaces a convolution of images one pixel wide or high, whose result is squeezed, by one with one spatial axis: TF's
// Conv1D, as converters write it. Then nothing separates the convolution from its bias and activation. Speeds up Magika.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

constexpr size_t kSpatial = 2;  // axes of an image

// The spatial axis that a Squeeze of an image takes away, if it takes no other.
std::optional<size_t> squeezed_axis(const Graph& g, const Node& squeeze) {
  const Shape* image = shape_of(g, squeeze.inputs[0]);
  const auto axes = known_integers(g, squeeze.input(1));
  if (!image || image->rank() != 2 + kSpatial || !axes || axes->size() != 1) return std::nullopt;
  const size_t axis = normalize_axis((*axes)[0], image->rank());
  return axis < 2 ? std::nullopt : std::optional(axis);
}

// The attributes of a convolution without spatial axis `d`, which must not be padded.
std::optional<Attributes> without_axis(const Node& conv, size_t d) {
  Attributes attributes = conv.attributes;
  for (const char* name : {"kernel_shape", "strides", "dilations", "pads"}) {
    auto values = ints_attribute(conv, name);
    if (values.empty()) continue;
    if (values.size() > kSpatial) {
      if (values[d + kSpatial] != 0 || values[d] != 0) return std::nullopt;
      values.erase(values.begin() + ptrdiff_t(d + kSpatial));
    }
    values.erase(values.begin() + ptrdiff_t(d));
    attributes.set(name, values);
  }
  return attributes;
}

// `x` without its axis `axis`, of extent 1. A Transpose that makes x moves what is left.
ValueId squeezed(Patch& p, const Graph& g, ValueId x, int64_t axis) {
  const auto squeeze = [&](ValueId v, int64_t a) {
    return p.add({.type = "Squeeze", .inputs = {v, p.constant(int64_tensor(std::vector{a}), "axes")}});
  };
  const Node* turn = sole_producer_of(g, x, "Transpose");
  const auto perm = turn ? ints_attribute(*turn, "perm") : std::vector<int64_t>();
  if (perm.empty()) return squeeze(x, axis);
  const int64_t before = perm[size_t(axis)];
  std::vector<int64_t> left;
  for (const int64_t a : perm) {
    if (a != before) left.push_back(a - (a > before));
  }
  return p.add({.type = "Transpose", .inputs = {squeeze(turn->inputs[0], before)}, .attributes = {{"perm", left}}});
}

std::optional<Patch> match_conv_line(const Graph& g, const Node& n) {
  const Node* conv = sole_producer_of(g, n.inputs[0], "Conv");
  const auto axis = conv ? squeezed_axis(g, n) : std::nullopt;
  if (!axis) return std::nullopt;
  const Shape* x = shape_of(g, conv->inputs[0]);
  const Tensor* w = g.constant(conv->inputs[1]);
  if (!x || x->rank() != 4 || !w || w->shape().rank() != 4 || (*x)[*axis] != 1 || w->shape()[*axis] != 1)
    return std::nullopt;
  auto attributes = without_axis(*conv, *axis - 2);
  if (!attributes) return std::nullopt;
  Patch p(g);
  std::vector<ValueId> inputs = conv->inputs;
  inputs[0] = squeezed(p, g, conv->inputs[0], int64_t(*axis));
  inputs[1] = p.constant(w->reshaped({w->shape()[0], w->shape()[1], w->shape()[5 - *axis]}), "weights");
  p.replace(n.outputs[0], p.add({.type = "Conv", .inputs = std::move(inputs), .attributes = std::move(*attributes)}));
  p.covers({conv->id, n.id});
  return p;
}

constexpr Rule kConvLineRules[] = {
    {"conv_line", "Squeeze", match_conv_line, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_conv_line;
constinit const Rules rules_conv_line{kConvLineRules};

}  // namespace retort
