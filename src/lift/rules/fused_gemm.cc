// com.microsoft.FusedGemm and FusedMatMulActivation: a product and an activation. This engine's passes fuse the two nodes again. The activation of
// integers is computed in float64, whose fraction is dropped.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

struct Activation {
  std::string_view name;
  std::array<std::string_view, 2> parameters{};  // names without "activation_"
};
constexpr Activation kActivations[] = {{"Celu", {"alpha"}},
                                       {"Elu", {"alpha"}},
                                       {"HardSigmoid", {"alpha", "beta"}},
                                       {"LeakyRelu", {"alpha"}},
                                       {"ParametricSoftplus", {"alpha", "beta"}},
                                       {"Relu"},
                                       {"ScaledTanh", {"alpha", "beta"}},
                                       {"Selu", {"alpha", "gamma"}},
                                       {"Sigmoid"},
                                       {"Softplus"},
                                       {"Softsign"},
                                       {"Tanh"},
                                       {"ThresholdedRelu", {"alpha"}}};

// alpha · F(beta · x).
ValueId scaled_activation(Rewriter& r, const char* function, ValueId x, const Attributes& parameters) {
  const DType type = r.graph().value(x).type.dtype;
  const auto times = [&](ValueId value, const char* name) {
    const ValueId factor = r.constant(float_scalar(type, *parameters.get<float>(name)));
    return r.add({.type = "Mul", .inputs = {value, factor}});
  };
  return times(r.add({.type = function, .inputs = {times(x, "beta")}}), "alpha");
}

ValueId with_activation(Rewriter& r, ValueId x, const std::string& name, const Attributes& given) {
  const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const Activation& a) { return a.name == name; });
  require(found != std::end(kActivations), ErrorCode::not_implemented, "activation \"{}\" is not known", name);
  Attributes parameters;
  for (const std::string_view parameter : found->parameters) {
    if (parameter.empty()) continue;
    const std::string attribute = "activation_" + std::string(parameter);
    const float* value = given.get<float>(attribute);
    require(value, ErrorCode::invalid_graph, "activation {} needs the attribute {}", name, attribute);
    parameters.set(std::string(parameter), *value);
  }
  if (name == "ScaledTanh") return scaled_activation(r, "Tanh", x, parameters);
  if (name == "ParametricSoftplus") return scaled_activation(r, "Softplus", x, parameters);
  return r.add({.type = name, .inputs = {x}, .attributes = parameters});
}

// Of a product of integers, which the activation itself may not take.
ValueId integer_activation(Rewriter& r, ValueId x, const std::string& name, const Attributes& given) {
  const DType type = r.type(0).dtype;
  const bool is_unsigned = type == DType::u32 || type == DType::u64;
  if (is_unsigned && (name == "Relu" || name == "LeakyRelu")) return x;  // also beyond the integers of float64
  return cast(r, with_activation(r, cast(r, x, DType::f64), name, given), type);
}

// Besides the activations of FusedGemm, there may be those of whole rows.
void apply_fused_matmul_activation(Rewriter& r) {
  const Attributes given = r.attributes();
  r.erase({"activation", "activation_alpha", "activation_axis", "activation_beta", "activation_gamma"});
  const ValueId product = r.add(
      {.type = "FusedMatMul", .inputs = r.node().inputs, .attributes = r.attributes(), .domain = "com.microsoft"});
  const auto name = given.get_or<std::string>("activation", "");
  if (name == "Softmax" || name == "LogSoftmax" || name == "Hardmax") {
    const int64_t axis = given.get_or<int64_t>("activation_axis", -1);
    r.replace_output(0, r.add({.type = name, .inputs = {product}, .attributes = {{"axis", axis}}}));
  } else {
    r.replace_output(0, with_activation(r, product, name, given));
  }
  r.remove();
}

void apply_fused_gemm(Rewriter& r) {
  const Attributes given = r.attributes();
  r.erase({"activation", "activation_alpha", "activation_beta", "activation_gamma"});
  const ValueId product = r.add({.type = "Gemm", .inputs = r.node().inputs, .attributes = r.attributes()});
  const auto name = given.get_or<std::string>("activation", "");
  const DType type = r.type(0).dtype;
  const bool integers = type == DType::i32 || type == DType::i64 || type == DType::u32 || type == DType::u64;
  const auto activated = integers ? integer_activation : with_activation;
  r.replace_output(0, given.find("activation") ? activated(r, product, name, given) : product);
  r.remove();
}

constexpr LiftRule kFusedGemmRules[] = {
    {"FusedGemm", kAlways, apply_fused_gemm, "com.microsoft"},
    {"FusedMatMulActivation", kAlways, apply_fused_matmul_activation, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_fused_gemm;
constinit const LiftRules lift_fused_gemm{kFusedGemmRules};

}  // namespace retort
