// What ai.onnx.ml models do to the scores of a row at the end.
#pragma once
#include <span>
#include <string_view>

namespace retort::ops {

enum class PostTransform : uint8_t { none, softmax, logistic, softmax_zero, probit };

/// "NONE", "SOFTMAX", …; throws invalid_argument on another name.
PostTransform post_transform(std::string_view name);
/// In place; T: float or double. softmax_zero leaves scores of exactly 0 out; probit is the quantile function of the normal distribution,
/// by Winitzki's approximation of erf's inverse ("A handy approximation for the error function and its inverse", 2008),
/// as ONNX Runtime has it. A score that is alone stays as it is, as there, but for probit.
template <typename T>
void apply(PostTransform transform, std::span<T> scores) noexcept;
/// 1 / (1 + e^-x) without overflow.
template <typename T>
T logistic(T x) noexcept;

}  // namespace retort::ops
