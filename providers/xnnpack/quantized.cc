#include "quantized.h"

#include <algorithm>
#include <cmath>

namespace xnn {
namespace {

using providers::scale_of;

// The positions of a QLinear operator's inputs: values, each followed by its scale and its zero point. -1: none.
struct InputPositions {
  const char* domain;
  Kind kind;
  int w, bias, y;
};

const std::map<std::string, InputPositions>& linear_operators() {
  static const std::map<std::string, InputPositions> all = {
      {"QLinearConv", {"", Kind::convolution, 3, 8, 6}},
      {"QLinearMatMul", {"", Kind::product, 3, -1, 6}},
      {"QGemm", {"com.microsoft", Kind::product, 3, 6, 7}},
      {"QLinearAdd", {"com.microsoft", Kind::add, 3, -1, 6}},
      {"QLinearMul", {"com.microsoft", Kind::multiply, 3, -1, 6}},
      {"QLinearGlobalAveragePool", {"com.microsoft", Kind::global_average, -1, -1, 3}}};
  return all;
}

// The axis of the weights that results lie along.
size_t axis_of_results(const Unit& u) { return u.kind == Kind::product && u.node->integer("transB", 0) == 0 ? 1 : 0; }

// With a small margin, as the library may round differently.
bool within(float ratio, int least, int most) {
  return ratio >= std::ldexp(1.001f, least) && ratio < std::ldexp(0.999f, most);
}

// The library also needs the scale of the sums.
bool computes_products(const Unit& u) {
  const auto scales = scales_of_weights(u);
  const float x = u.x.scale.scales[0], y = u.y.scale.scales[0];
  const auto fits = [&](float w) { return std::isnormal(w) && std::isnormal(x * w) && within(x * w / y, -32, 8); };
  return scales && std::all_of(scales->begin(), scales->end(), fits) && sums_of(u, *scales);
}

// Whether the library supports the operation with these scales. It rejects others during a run, or ends the process.
bool computes(const Unit& u) {
  if (!is_plain(u.x.scale) || !is_plain(u.y.scale)) return false;
  const float x = u.x.scale.scales[0], y = u.y.scale.scales[0];
  const auto bound = [&](float real) {  // rounded as in the library, which rejects bounds that are equal then
    return std::nearbyint(std::min(std::max(real / y + float(u.y.zero()), -128.f), 127.f));
  };
  if (!(bound(u.low) < bound(u.high))) return false;
  const bool binary = u.kind == Kind::add || u.kind == Kind::subtract || u.kind == Kind::multiply;
  if (binary && !is_plain(u.w.scale)) return false;
  const float w = binary ? u.w.scale.scales[0] : 0;
  const bool free = u.low == -INFINITY && u.high == INFINITY, same = x == y && u.x.zero() == u.y.zero();
  switch (u.kind) {
    case Kind::convolution:
    case Kind::product:
      return computes_products(u);
    case Kind::add:
    case Kind::subtract:
      return within(x / y, -10, 8) && within(w / y, -10, 8);
    case Kind::multiply:
      return within(x * w / y, -16, 8);
    case Kind::global_average:
      return within(x / y, -8, 8);
    case Kind::sigmoid:
      return free && y == 1 / 256.f && u.y.zero() == -128;
    case Kind::reshape:
      return free && same;
    case Kind::max_pool:
    case Kind::clamp:
      return same;
    default:
      return false;
  }
}

// Checks shapes and types of a QLinear operator; scales are checked later.
bool is_sound(const Unit& u) {
  const Node& node = *u.node;
  const auto stored = [](const Value* v) { return providers::is_byte(v) && v->has_rank && v->rank() <= 4; };
  if (!stored(u.x.value) || !stored(u.y.value) || u.x.value->constant) return false;
  if (u.w.value && !stored(u.w.value)) return false;
  if (u.bias && (!u.bias->constant || u.bias->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32)) return false;
  if (u.kind == Kind::convolution || u.kind == Kind::product) {
    if (!u.w.value || !u.w.value->constant) return false;
    return u.kind == Kind::product ? multiplies(node, *u.x.value, u.w.value, u.bias)
                                   : convolves(node, *u.x.value, u.w.value, u.bias);
  }
  if (u.kind == Kind::global_average) return u.x.value->rank() == 4 && node.integer("channels_last", 0) == 0;
  return combines(*u.x.value, u.w.value);
}

// Relu and Clip narrow the bounds of results.
bool narrows(const Node& node, Unit& u) {
  const bool clip = node.type == "Clip";
  if (!clip && node.type != "Relu") return false;
  if (!clip) u.low = std::max(u.low, 0.f);
  if (clip && node.input(1)) u.low = std::max(u.low, numbers(*node.in[1])[0]);
  if (clip && node.input(2)) u.high = std::min(u.high, numbers(*node.in[2])[0]);
  return true;
}

// The integers that a DequantizeLinear of this graph converts to real numbers.
Operand source_of(const Value* real) {
  const Node* maker = real ? real->maker : nullptr;
  if (!maker || !providers::dequantizes(*maker) || !providers::is_byte(maker->in[0])) return {};
  return {maker->in[0], providers::dequantization(*maker)};
}

// Finds the integers from which the inputs of a float32 operator are dequantized; false if an input is not dequantized.
bool find_operands(Unit& u) {
  const Node& node = *u.node;
  u.x = source_of(node.in[0]);
  const bool products = u.kind == Kind::convolution || u.kind == Kind::product;
  const bool binary = u.kind == Kind::add || u.kind == Kind::subtract || u.kind == Kind::multiply;
  if (products || binary) {
    u.w = source_of(node.input(1));
    if (!u.w.value || (products && !u.w.value->constant)) return false;
    u.bias = products ? node.input(2) : nullptr;
  }
  if (u.x.value && u.x.value->constant && binary && u.kind != Kind::subtract) std::swap(u.x, u.w);
  return u.x.value && !u.x.value->constant;
}

// The scales that a node gives to its 8-bit integers that are not constant.
std::vector<Operand> spoken(const Node& node) {
  std::vector<Operand> list;
  if (node.type == "DequantizeLinear" && providers::dequantizes(node)) list = {{node.in[0], scale_of(node, 1, 2)}};
  if (node.type == "QuantizeLinear" && providers::quantizes(node)) list = {{node.out[0], scale_of(node, 1, 2)}};
  if (is_linear(node)) {
    const Unit u = linear(node);
    if (u.node) list = {u.x, u.w, u.y};
  }
  std::erase_if(list, [](const Operand& o) { return !o.value || o.value->constant; });
  return list;
}

}  // namespace

int32_t Operand::zero() const { return scale.zero - (value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 ? 128 : 0); }

bool is_plain(const Scale& scale) {
  return scale.scales.size() == 1 && std::isnormal(scale.scales[0]) && scale.scales[0] > 0;
}

bool moves_bytes(const Node& node) {
  const bool moves = node.type == "MaxPool" || node.type == "Flatten" || node.type == "Reshape";
  return moves && node.domain.empty() && !node.in.empty() && providers::is_byte(node.in[0]);
}

bool is_linear(const Node& node) {
  const auto at = linear_operators().find(node.type);
  return at != linear_operators().end() && node.domain == at->second.domain;
}

std::set<std::string> linear_names() {
  std::set<std::string> names;
  for (const auto& [type, positions] : linear_operators()) names.insert(type);
  return names;
}

Unit linear(const Node& node) {
  const InputPositions& at = linear_operators().at(node.type);
  Unit u;
  u.kind = at.kind;
  u.node = &node;
  u.x = {node.input(0), scale_of(node, 1, 2)};
  if (at.w >= 0)
    u.w = {node.input(size_t(at.w)), scale_of(node, size_t(at.w) + 1, size_t(at.w) + 2, axis_of_results(u))};
  if (at.bias >= 0) u.bias = node.input(size_t(at.bias));
  u.y = {node.out.empty() ? nullptr : node.out[0], scale_of(node, size_t(at.y), size_t(at.y) + 1)};
  return is_sound(u) && computes(u) ? u : Unit();
}

Unit surrounded(const Node& quantize, const std::function<bool(const Value*)>& single,
                std::set<const Node*>& absorbed) {
  Unit u;
  u.y = {quantize.out[0], scale_of(quantize, 1, 2)};
  const Value* real = quantize.in[0];
  std::vector<const Node*> gone;
  for (int step = 0; step < 2; ++step) {
    if (!real->maker || !single(real)) return {};
    u.node = real->maker;
    gone.push_back(u.node);
    // Bounds apply to the operation before them, unless that only dequantizes.
    if (!narrows(*u.node, u) || source_of(u.node->in[0]).value) break;
    real = u.node->in[0];
  }
  const auto kind = kind_of(*u.node);
  if (!kind || u.node->type == "BatchNormalization" || u.node->type == "HardSigmoid") return {};
  u.kind = *kind;
  if (!find_operands(u) || !computes(u)) return {};
  absorbed.insert(gone.begin(), gone.end());
  return u;
}

std::vector<int8_t> stored_bytes(const Value& v) {
  const std::vector<int32_t> from = providers::stored(v.constant);
  const int32_t less = v.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 ? 128 : 0;
  std::vector<int8_t> to(from.size());
  std::transform(from.begin(), from.end(), to.begin(), [less](int32_t i) { return int8_t(i - less); });
  return to;
}

std::optional<std::vector<float>> scales_of_weights(const Unit& u) {
  const Scale& s = u.w.scale;
  const size_t axis = axis_of_results(u);
  const auto results = size_t(u.w.value->dims[axis]);
  if (u.w.zero() != 0 || s.scales.empty()) return {};
  if (s.scales.size() == 1) return std::vector<float>(results, s.scales[0]);
  return s.axis == axis && s.scales.size() == results ? s.scales : std::optional<std::vector<float>>();
}

std::optional<std::vector<int32_t>> sums_of(const Unit& u, const std::vector<float>& scales) {
  std::vector<int32_t> sums(scales.size(), 0);
  constexpr double part = 0.1;  // of a step of the result: the error that rounding the bias may cause
  const bool stored = u.bias && u.bias->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
  if (stored) sums = providers::stored(u.bias->constant);
  const std::vector<float> real = u.bias && !stored ? numbers(*u.bias) : std::vector<float>();
  for (size_t i = 0; i < real.size(); ++i) {
    const double unit = double(u.x.scale.scales[0]) * scales[i], sum = std::nearbyint(real[i] / unit);
    const bool near = std::abs(sum * unit - real[i]) <= part * u.y.scale.scales[0];
    if (!near || !(std::abs(sum) < INT32_MAX)) return {};
    sums[i] = int32_t(sum);
  }
  // The sums must have room for the largest products.
  const int64_t products = count_of(u.w.value->dims) / std::max<int64_t>(1, int64_t(scales.size())) * 255 * 128;
  for (const int64_t sum : sums)
    if (std::abs(sum) + products > INT32_MAX) return {};
  return sums;
}

Agreements::Agreements(const providers::Graph& graph) {
  for (const Node& node : graph.nodes())
    for (const Operand& o : spoken(node)) scales_.emplace(o.value, o.scale);
  // Operators that only move values use the same scale for input and output.
  for (size_t known = 0; known != scales_.size();) {
    known = scales_.size();
    for (const Node& node : graph.nodes()) {
      if (!moves_bytes(node) || !node.out[0]) continue;
      const auto from = scales_.find(node.in[0]), to = scales_.find(node.out[0]);
      if (from != scales_.end()) scales_.emplace(node.out[0], from->second);
      if (from == scales_.end() && to != scales_.end()) scales_.emplace(node.in[0], to->second);
    }
  }
}

bool Agreements::hold(const Node& node) const {
  const auto same = [](const Scale& a, const Scale& b) { return a.scales == b.scales && a.zero == b.zero; };
  if (moves_bytes(node)) {
    const auto from = scales_.find(node.in[0]), to = scales_.find(node.out[0]);
    return from == scales_.end() || same(from->second, to->second);
  }
  const std::vector<Operand> list = spoken(node);
  return std::all_of(list.begin(), list.end(), [&](const Operand& o) { return same(scales_.at(o.value), o.scale); });
}

Operand Agreements::of(const Value& v) const {
  const auto at = scales_.find(&v);
  return {&v, at == scales_.end() ? Scale{{1}, 0, 0} : at->second};
}

}  // namespace xnn
