// Decides which nodes may be claimed.
#include <algorithm>
#include <cmath>

#include "quantized.h"

namespace xnn {
namespace {

using providers::TensorView;
using providers::view_of;

const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> all = {{"Conv", Kind::convolution},
                                                  {"MaxPool", Kind::max_pool},
                                                  {"AveragePool", Kind::average_pool},
                                                  {"GlobalAveragePool", Kind::global_average},
                                                  {"ReduceMean", Kind::global_average},
                                                  {"Gemm", Kind::product},
                                                  {"MatMul", Kind::product},
                                                  {"Softmax", Kind::softmax},
                                                  {"Relu", Kind::clamp},
                                                  {"Clip", Kind::clamp},
                                                  {"Sigmoid", Kind::sigmoid},
                                                  {"HardSwish", Kind::hard_swish},
                                                  {"LeakyRelu", Kind::leaky_relu},
                                                  {"Elu", Kind::elu},
                                                  {"Add", Kind::add},
                                                  {"Sub", Kind::subtract},
                                                  {"Mul", Kind::multiply},
                                                  {"Div", Kind::divide},
                                                  {"Max", Kind::maximum},
                                                  {"Min", Kind::minimum},
                                                  {"HardSigmoid", Kind::clamp},
                                                  {"BatchNormalization", Kind::multiply},
                                                  {"Flatten", Kind::reshape},
                                                  {"Reshape", Kind::reshape}};
  return all;
}

bool constant(const Node& node, size_t i) { return node.input(i) && node.input(i)->constant; }

bool sound(const Window& w) {
  const auto least = [](const Dims& d, int64_t v) {
    return std::all_of(d.begin(), d.end(), [v](int64_t x) { return x >= v; });
  };
  return w.kernel.size() == 2 && w.strides.size() == 2 && w.dilations.size() == 2 && w.pads.size() == 4 &&
         w.groups > 0 && least(w.kernel, 1) && least(w.strides, 1) && least(w.dilations, 1) && least(w.pads, 0);
}

// The library needs more than one element in a window, and fails if some windows consist of padding only.
bool claims_pool(const Node& node) {
  const Window w = window_of(node);
  if (node.in[0]->rank() != 4 || !sound(w) || w.kernel[0] * w.kernel[1] < 2 || node.integer("ceil_mode", 0))
    return false;
  for (size_t i = 0; i < 2; ++i)
    if (w.pads[i] >= w.kernel[i] || w.pads[i + 2] >= w.kernel[i]) return false;
  if (node.type == "MaxPool") return true;
  const bool padded =
      w.auto_pad != "NOTSET" || std::any_of(w.pads.begin(), w.pads.end(), [](int64_t p) { return p > 0; });
  return w.dilations == Dims{1, 1} && !(padded && node.integer("count_include_pad", 0));
}

bool claims_mean(const Node& node) {
  if (node.in[0]->rank() != 4) return false;
  if (node.type == "GlobalAveragePool") return true;
  Dims axes = node.integers("axes");
  if (node.input(1)) axes = constant(node, 1) ? Dims(view_of(node.in[1]->constant).integers()) : Dims();
  for (int64_t& a : axes) a += a < 0 ? 4 : 0;
  std::sort(axes.begin(), axes.end());
  return axes == Dims{2, 3} && node.integer("keepdims", 1) == 1;
}

// A number broadcasts to any rank.
bool is_number(const Value* v) { return v->constant && v->rank() <= 1 && view_of(v->constant).count() == 1; }

// The library needs a lower bound below the upper one.
bool claims_clip(const Node& node) {
  float bounds[] = {-INFINITY, INFINITY};
  for (size_t i = 1; i < 3; ++i) {
    if (!node.input(i)) continue;
    const bool known = constant(node, i) && view_of(node.in[i]->constant).count() == 1;
    if (!known) return false;
    bounds[i - 1] = numbers(*node.in[i])[0];
  }
  return node.since >= 11 && bounds[0] < bounds[1];
}

bool claims_norm(const Node& node) {
  if (node.in[0]->rank() != 4 || node.integer("training_mode", 0) || node.in.size() != 5) return false;
  for (size_t i = 1; i < 5; ++i)
    if (!constant(node, i) || node.in[i]->dims != Dims{node.in[0]->dims[1]}) return false;
  return true;
}

// An image of one element per channel is the same in both layouts.
bool claims_reshape(const Node& node) {
  const Dims &x = node.in[0]->dims, &y = node.out[0]->dims;
  const bool flat = x.size() == 4 && x[2] == 1 && x[3] == 1 && y.size() == 2;
  return flat && (node.type == "Flatten" ? node.integer("axis", 1) == 1 : y[1] == x[1] && x[1] > 0);
}

bool claims_converts(const Node& node) {
  if (node.type == "QuantizeLinear")
    return node.since >= 10 && providers::quantizes(node) && node.in[0]->rank() <= 4 &&
           is_plain(providers::scale_of(node, 1, 2));
  if (node.since < 10 || !providers::dequantizes(node)) return false;
  return node.in[0]->constant || (node.in[0]->rank() <= 4 && is_plain(providers::dequantization(node)));
}

// The library rejects tensors without elements; and constant values need no work in a run.
bool has_work(const Node& node) {
  bool known = node.type != "DequantizeLinear";
  for (const Value* v : node.in) {
    if (v && std::count(v->dims.begin(), v->dims.end(), 0)) return false;
    known = known && (!v || fixed(v));
  }
  return !known && std::all_of(node.out.begin() + 1, node.out.end(), [](const Value* v) { return !v; });
}

// Tensors of one type, which is float32 unless bytes are only moved.
bool fits_types(const Node& node) {
  const auto type = moves_bytes(node) ? node.in[0]->type : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  for (size_t i = 0; i < node.in.size(); ++i) {
    const Value* v = node.in[i];
    const bool axes = i == 1 && (node.type == "ReduceMean" || node.type == "Reshape");
    if (v && !axes && (v->type != type || !v->has_rank)) return false;
  }
  return node.out[0]->type == type && node.out[0]->has_rank && node.in[0]->rank() <= 4;
}

bool claims_kind(const Node& node, Kind kind) {
  switch (kind) {
    case Kind::convolution:
      return convolves(node, *node.in[0], node.input(1), node.input(2));
    case Kind::max_pool:
    case Kind::average_pool:
      return claims_pool(node);
    case Kind::global_average:
      return claims_mean(node);
    case Kind::product:
      return node.since >= 7 && multiplies(node, *node.in[0], node.input(1), node.input(2));
    case Kind::softmax:
      return node.in[0]->rank() == 2 && node.integer("axis", node.since < 13 ? 1 : -1) != 0;
    case Kind::reshape:
      return claims_reshape(node);
    default:
      break;
  }
  if (node.type == "BatchNormalization") return node.since >= 7 && claims_norm(node);
  if (node.type == "Clip") return claims_clip(node);
  const bool binary = kind >= Kind::add && kind <= Kind::minimum;
  const int since = node.type == "Max" || node.type == "Min" ? 8 : 7;
  return !binary || (node.since >= since && node.in.size() == 2 && combines(*node.in[0], node.in[1]));
}

}  // namespace

std::set<std::string> operator_names() {
  std::set<std::string> names = linear_names();
  for (const auto& [type, kind] : kinds()) names.insert(type);
  names.insert({"QuantizeLinear", "DequantizeLinear"});
  return names;
}

bool claims(const Node& node) {
  if (node.in.empty() || !node.in[0] || node.out.empty() || !node.out[0] || !has_work(node)) return false;
  if (is_linear(node)) return linear(node).node != nullptr;
  if (!node.domain.empty()) return false;
  if (node.type == "QuantizeLinear" || node.type == "DequantizeLinear") return claims_converts(node);
  const auto kind = kinds().find(node.type);
  if (kind == kinds().end() || !fits_types(node)) return false;
  if (node.since < 6 && node.type != "Conv" && node.type != "MaxPool" && node.type != "GlobalAveragePool" &&
      node.type != "Flatten")
    return false;
  return claims_kind(node, kind->second);
}

std::optional<Kind> kind_of(const Node& node) {
  const auto kind = kinds().find(node.type);
  return kind == kinds().end() || !node.domain.empty() ? std::optional<Kind>() : kind->second;
}

Window window_of(const Node& node) {
  Window w;
  w.kernel = node.integers("kernel_shape");
  const Value* weights = node.input(node.type == "QLinearConv" ? 3 : 1);
  if (w.kernel.empty() && weights && weights->rank() == 4) w.kernel = {weights->dims[2], weights->dims[3]};
  w.strides = node.integers("strides", {1, 1});
  w.dilations = node.integers("dilations", {1, 1});
  w.pads = node.integers("pads", {0, 0, 0, 0});
  w.auto_pad = node.string("auto_pad", "NOTSET");
  w.groups = node.integer("group", 1);
  return w;
}

bool is_depthwise(const Window& window, const Value& weights) { return window.groups > 1 && weights.dims[1] == 1; }

bool fixed(const Value* v) {
  return v->constant || (v->maker && providers::dequantizes(*v->maker) && v->maker->in[0]->constant);
}

std::vector<float> numbers(const Value& v) {
  if (v.constant) {
    const TensorView t = view_of(v.constant);
    const auto* first = static_cast<const float*>(t.data);
    return {first, first + t.count()};
  }
  const std::vector<int32_t> from = providers::stored(v.maker->in[0]->constant);
  const Scale s = providers::dequantization(*v.maker);
  size_t inner = 1;
  const Dims& dims = v.maker->in[0]->dims;
  for (size_t i = s.axis + 1; i < dims.size(); ++i) inner *= size_t(dims[i]);
  std::vector<float> to(from.size());
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = float(int64_t(from[i]) - s.zero) * s.scales[s.scales.size() > 1 ? i / inner % s.scales.size() : 0];
  return to;
}

std::vector<const Node*> makers_of_weights(const Node& node) {
  std::vector<const Node*> list;
  const auto kind = kind_of(node);
  for (size_t i = 1; i < 3 && (kind == Kind::convolution || kind == Kind::product); ++i)
    if (node.input(i) && node.in[i]->maker) list.push_back(node.in[i]->maker);
  return list;
}

bool convolves(const Node& node, const Value& x, const Value* w, const Value* bias) {
  if (x.rank() != 4 || !w || !fixed(w) || w->rank() != 4) return false;
  const Window window = window_of(node);
  return sound(window) && window.kernel == Dims{w->dims[2], w->dims[3]} && count_of(w->dims) > 0 &&
         w->dims[0] % window.groups == 0 && (!bias || (fixed(bias) && bias->dims == Dims{w->dims[0]}));
}

bool multiplies(const Node& node, const Value& x, const Value* w, const Value* bias) {
  return x.rank() == 2 && w && fixed(w) && w->rank() == 2 && node.integer("transA", 0) == 0 &&
         node.number("alpha", 1) == 1 && node.number("beta", 1) == 1 &&
         (!bias || (fixed(bias) && bias->dims == Dims{w->dims[node.integer("transB", 0) ? 0 : 1]}));
}

bool combines(const Value& a, const Value* b) {
  // Images have channels last, which other ranks do not: both have the same rank, or one is a number.
  return b && ((a.rank() == b->rank() && a.rank() <= 4) || is_number(&a) || is_number(b));
}

}  // namespace xnn
