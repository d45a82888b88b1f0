// The text of functions of one number, for kernels: activations and elementary functions.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "common/graph.h"

namespace providers::cuda {

/// Attributes of an operator with the values that it has: "alpha", "beta", "gamma", "bias", "lambd", "min", "max".
using Parameters = std::map<std::string, float>;

/// The value of an activation or elementary function (Relu, LeakyRelu, Elu, Selu, Celu, Gelu, GeluTanh, FastGelu,
/// QuickGelu, Swish, Sigmoid, Tanh, HardSigmoid, HardSwish, Mish, Softplus, Softsign, ThresholdedRelu, Shrink, Clip, Exp,
/// Log, Erf, Sqrt, Sin…) at the float variable `x`, as an expression: "(x < 0.f ? 0.f : x)". It calls built-in functions
/// alone (expf, tanhf, erff…), and reads `x` more than once. Parameters that are not given have the defaults of ONNX;
/// Clip has `min` and `max`, each or none. "" if there is no such function.
std::string activation_text(const std::string& type, const Parameters& parameters = {});
/// The same for results that are stored in 16 bits: fewer instructions, and errors of a few units of float's last place.
std::string short_activation_text(const std::string& type, const Parameters& parameters = {});
/// The same for doubles.
std::string double_activation_text(const std::string& type, const Parameters& parameters = {});
/// The name and parameters of a node for activation_text: Gelu with approximate "tanh" is GeluTanh. The name is "" if
/// the node is no function of one number (a Clip whose bounds are inputs, for instance).
std::pair<std::string, Parameters> activation_of(const Node& node);

/// "0.5f", "-1e-05f"; infinities and NaN are written from their bits.
std::string literal(float value);
/// "0.5"
std::string literal(double value);
/// `text` with each name that is exactly `name` replaced.
std::string with_name(const std::string& text, const std::string& name, const std::string& by);

}  // namespace providers::cuda
