// Replaces ReduceMean over all spatial axes of an image by GlobalAveragePool, which has a channels-last form
// (MobileNetV3, EfficientNet from torch, ConvNeXt), and GlobalMaxPool by ReduceMax, which has one too (Magika). Pooling
// with one window becomes its global operator, so that it is treated alike.
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

std::optional<Patch> match_global_pool(const Graph& g, const Node& n) {
  const Shape* x = shape_of(g, n.inputs[0]);
  auto axes = known_integers(g, n.input(1));
  if (!x || (x->rank() != 4 && x->rank() != 3) || !axes || !is_float32(g, n.inputs[0])) return std::nullopt;
  for (int64_t& a : *axes) a += a < 0 ? int64_t(x->rank()) : 0;
  std::sort(axes->begin(), axes->end());
  for (size_t i = 0; i < axes->size(); ++i) {
    if ((*axes)[i] != int64_t(i) + 2) return std::nullopt;
  }
  // A mean over the last axis alone is part of a normalisation. Rank 3 could be a signal, but only a convolution would
  // prove that.
  if (axes->size() + 2 != x->rank() || x->rank() == 3) return std::nullopt;
  Patch p(g);
  ValueId y = p.add({.type = "GlobalAveragePool", .inputs = {n.inputs[0]}});
  if (n.attributes.get_or<int64_t>("keepdims", 1) != 1) {
    const Dim channels = (*x)[1];
    const std::vector<int64_t> target{0, is_known(channels) && channels > 0 ? channels : -1};
    y = p.add({.type = "Reshape", .inputs = {y, p.constant(int64_tensor(target), "shape")}});
  }
  p.replace(n.outputs[0], y);
  p.covers(n.id);
  return p;
}

std::optional<Patch> match_global_max_pool(const Graph& g, const Node& n) {
  const Shape* x = shape_of(g, n.inputs[0]);
  if (!x || x->rank() < 3) return std::nullopt;
  std::vector<int64_t> axes;
  for (size_t i = 2; i < x->rank(); ++i) axes.push_back(int64_t(i));
  Patch p(g);
  const std::vector<ValueId> inputs{n.inputs[0], p.constant(int64_tensor(axes), "axes")};
  p.replace(n.outputs[0], p.add({.type = "ReduceMax", .inputs = inputs}));
  p.covers(n.id);
  return p;
}

// Whether the only window of a pooling operator is the whole image, whose extents are known.
bool is_one_window(const Graph& g, const Node& n) {
  const Shape* x = shape_of(g, n.inputs[0]);
  const std::string automatic = n.attributes.get_or<std::string>("auto_pad", "NOTSET");
  if (!x || x->rank() < 3 || n.outputs.size() != 1 || (automatic != "NOTSET" && automatic != "VALID")) return false;
  const std::vector<int64_t> kernel = ints_attribute(n, "kernel_shape"), pads = ints_attribute(n, "pads"),
                             dilations = ints_attribute(n, "dilations");
  return std::equal(kernel.begin(), kernel.end(), x->begin() + 2, x->end()) &&
         std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; }) &&
         std::all_of(dilations.begin(), dilations.end(), [](int64_t d) { return d == 1; });
}

// Models of texts take the maximum of a whole text by MaxPool; older ones of images end with AveragePool.
std::optional<Patch> match_one_window(const Graph& g, const Node& n) {
  if (!is_one_window(g, n) || !is_float32(g, n.inputs[0])) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0], p.add({.type = "Global" + n.type, .inputs = {n.inputs[0]}}));
  p.covers(n.id);
  return p;
}

constexpr Rule kGlobalPoolRules[] = {
    {"global_pool", "ReduceMean", match_global_pool, {RuleStage::idioms}},
    {"global_pool_of_one_window", "AveragePool", match_one_window, {RuleStage::idioms}},
    {"global_max_pool_of_one_window", "MaxPool", match_one_window, {RuleStage::idioms}},
    {"global_max_pool", "GlobalMaxPool", match_global_max_pool, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_global_pool;
constinit const Rules rules_global_pool{kGlobalPoolRules};

}  // namespace retort
