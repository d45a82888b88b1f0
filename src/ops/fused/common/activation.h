// The activation of a fused operator as attributes: `activation` names it; `activation_a` and `activation_b` are the
// parameters of kernels::Activation.
#pragma once
#include "kernels/activation.h"
#include "ops/op.h"

namespace retort::ops {

/// "relu", "clip", …; "" for none.
std::string_view activation_name(kernels::Activation::Kind kind);
std::optional<kernels::Activation::Kind> activation_kind(std::string_view name);

struct ActivationAttributes {
  std::string activation;
  float activation_a = 0, activation_b = 0;

  static constexpr std::tuple activation_attributes{attr("activation", &ActivationAttributes::activation),
                                                    attr("activation_a", &ActivationAttributes::activation_a),
                                                    attr("activation_b", &ActivationAttributes::activation_b)};
  /// Throws invalid_argument if the name is unknown.
  void check() const;
  kernels::Activation value() const;
};

/// Writes `a` to the attributes of a node; does nothing for Kind::none.
void set_activation(Attributes& attributes, const kernels::Activation& a);

}  // namespace retort::ops
