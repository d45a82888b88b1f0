// When a result counts as the expected one.
#pragma once
#include <optional>
#include <string>

#include "value.h"

namespace retort::conformance {

struct Tolerance {
  enum class Rule {
    close,  // |actual - expected| <= absolute + relative * |expected|, the rule of onnx's own runner
    scale,  // |actual - expected| <= relative * the standard deviation of the expected tensor; for whole models
    shape,  // element type and shape only: outputs of random operators
  };
  Rule rule = Rule::close;
  double relative = 1e-3;
  double absolute = 1e-7;
};

struct Difference {
  std::string reason;  // count, dtype, shape or value
  std::string message;
};

/// Nothing when alike. NaN equals NaN, infinities equal those of the same sign, strings, booleans and integers of
/// the rule `scale` must be equal. For bfloat16 `relative` is at least 2^-6, as in onnx's runner. `worst`, when
/// given, becomes the largest error seen so far: absolute error over allowed error (1 = just allowed).
std::optional<Difference> compare(const Value& expected, const Value& actual, const Tolerance& tolerance,
                                  double* worst = nullptr);

}  // namespace retort::conformance
