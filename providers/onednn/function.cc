// Functions of single elements.
#include <cmath>
#include <limits>
#include <map>

#include "operators.h"

namespace onednn {
namespace {

using dnnl::algorithm;
using Functions = std::vector<PostOp>;

PostOp clip(float low, float high) { return {algorithm::eltwise_clip, low, high}; }

// Functions without parameters. Log, Softplus and thus Mish are missing: near 0, the library's results are off by 1e-6,
// which is much if the result is small.
const std::map<std::string, Functions>& plain_functions() {
  static const std::map<std::string, Functions> all = {
      {"Relu", {{algorithm::eltwise_relu}}},         {"Sigmoid", {{algorithm::eltwise_logistic}}},
      {"Tanh", {{algorithm::eltwise_tanh}}},         {"Abs", {{algorithm::eltwise_abs}}},
      {"Sqrt", {{algorithm::eltwise_sqrt}}},         {"Exp", {{algorithm::eltwise_exp}}},
      {"Neg", {{algorithm::eltwise_linear, -1, 0}}}, {"HardSwish", {{algorithm::eltwise_hardswish}}},
      {"Round", {{algorithm::eltwise_round}}}};
  return all;
}

bool finds_bounds(const Node& node) {
  for (size_t i = 1; i < node.in.size(); ++i)
    if (node.in[i] && !is_constant(node, i)) return false;
  return true;
}

Functions clip_of(const Node& node) {
  constexpr float least = std::numeric_limits<float>::lowest(), most = std::numeric_limits<float>::max();
  if (node.since < 11) return {clip(node.number("min", least), node.number("max", most))};
  return {clip(constant_number(node, 1, least), constant_number(node, 2, most))};
}

Functions functions_of(const Node& node) {
  const auto known = plain_functions().find(node.type);
  if (known != plain_functions().end()) return known->second;
  if (node.type == "LeakyRelu") return {{algorithm::eltwise_relu, node.number("alpha", 0.01f)}};
  if (node.type == "Elu") return {{algorithm::eltwise_elu, node.number("alpha", 1)}};
  if (node.type == "HardSigmoid")
    return {{algorithm::eltwise_linear, node.number("alpha", 0.2f), node.number("beta", 0.5f)}, clip(0, 1)};
  if (node.type == "Gelu")
    return {
        {node.string("approximate", "none") == "tanh" ? algorithm::eltwise_gelu_tanh : algorithm::eltwise_gelu_erf}};
  return clip_of(node);
}

bool claims_function(const Node& node) { return floats(node, 1, 6) && (node.type != "Clip" || finds_bounds(node)); }

// If the lower bound of Clip exceeds the upper one, the result is the upper one, which the library does not support.
bool claims_clip(const Node& node) {
  if (!claims_function(node)) return false;
  const PostOp f = clip_of(node)[0];
  return f.alpha <= f.beta;
}

std::unique_ptr<Operation> make_function(const Node& node) { return std::make_unique<Eltwise>(functions_of(node)); }

}  // namespace

void Eltwise::build(Builder& b) const {
  Tensor t = b.value(in[0]);
  bool over = b.dies(t);
  for (const PostOp& f : functions) {
    t = b.eltwise(t, f, over);
    over = true;
  }
  b.made(*this, Posts::steps(b, *this, t, 0));
}

void Erf::build(Builder& b) const {
  const Tensor x = b.plain_of(b.value(in[0]), DataType::f32);
  const Tensor y = b.fresh(x.dims, x.desc);
  const int64_t count = count_of(x.dims);
  b.work({x, y}, [count](const std::vector<char*>& p) {
    const auto* from = reinterpret_cast<const float*>(p[0]);
    auto* to = reinterpret_cast<float*>(p[1]);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; ++i) to[i] = std::erf(from[i]);
  });
  b.made(*this, y);
}

void add_functions(Rules& rules) {
  for (const auto& [type, functions] : plain_functions())
    rules.push_back({type.c_str(), 1, claims_function, make_function});
  for (const char* type : {"LeakyRelu", "Elu", "HardSigmoid", "Gelu"})
    rules.push_back({type, 1, claims_function, make_function});
  rules.push_back({"Clip", 6, claims_clip, make_function});
  rules.push_back(
      {"Erf", 9, claims_function, [](const Node&) -> std::unique_ptr<Operation> { return std::make_unique<Erf>(); }});
}

}  // namespace onednn
