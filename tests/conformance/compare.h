// Compares results with expected ones.
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

/// Returns nothing if the values match. NaN equals NaN, infinities equal those of the same sign; strings, booleans and,
/// for the rule `scale`, integers must be equal. For bfloat16, `relative` is at least 2^-6, as in onnx's runner.
/// `worst`, if given, becomes the largest error so far, divided by the allowed error (1: just allowed).
std::optional<Difference> compare(const Value& expected, const Value& actual, const Tolerance& tolerance,
                                  double* worst = nullptr);

}  // namespace retort::conformance
