#include "ops/fused/common/activation.h"

#include <array>

namespace retort::ops {

static constexpr std::array<std::string_view, 11> kNames{
    "", "relu", "clip", "leaky_relu", "sigmoid", "silu", "tanh", "gelu_erf", "gelu_tanh", "hard_sigmoid", "hard_swish"};

std::string_view activation_name(kernels::Activation::Kind kind) { return kNames.at(size_t(kind)); }

std::optional<kernels::Activation::Kind> activation_kind(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return kernels::Activation::Kind(i);
  }
  return std::nullopt;
}

void ActivationAttributes::check() const {
  require(activation_kind(activation).has_value(), ErrorCode::invalid_argument, "unknown activation '{}'", activation);
}

kernels::Activation ActivationAttributes::value() const {
  return {*activation_kind(activation), activation_a, activation_b};
}

void set_activation(Attributes& attributes, const kernels::Activation& a) {
  if (a.kind == kernels::Activation::Kind::none) return;
  attributes.set("activation", std::string(activation_name(a.kind)));
  attributes.set("activation_a", a.a);
  attributes.set("activation_b", a.b);
}

}  // namespace retort::ops
