// What ai.onnx.ml models do to the scores of a row at the end.
#pragma once
#include <span>
#include <string_view>

namespace retort::ops {

enum class PostTransform : uint8_t { none, softmax, logistic, softmax_zero, probit };

/// "NONE", "SOFTMAX", …; throws invalid_argument on another name.
PostTransform post_transform(std::string_view name);
/// In place; T: float or double. softmax_zero leaves scores of about 0 out: up to 1e-7 they are only scaled as the
/// others are, and all of them alone make NaN. probit is the quantile function of the normal distribution,
/// by Winitzki's approximation of erf's inverse ("A handy approximation for the error function and its inverse", 2008).
/// Both are as ONNX Runtime has them. A score that is alone stays as it is, as there, but for probit.
template <typename T>
void apply(PostTransform transform, std::span<T> scores) noexcept;
/// The same for each row of [rows, count], with vectors. Serial.
void apply_rows(PostTransform transform, float* scores, size_t rows, size_t count) noexcept;

/// What the first class of two gets beside the second one's score s.
enum class SecondScore : uint8_t { one_minus, negative };
/// Rows [rows, 2] whose second columns hold a score s each: the first become 1 - s or -s, with LOGISTIC both its values
/// at -s and s. Of the other transforms only PROBIT applies to two such scores, as in ONNX Runtime, which leaves half
/// of its results unset then.
void add_second_scores(PostTransform transform, SecondScore kind, float* scores, size_t rows) noexcept;
/// 1 / (1 + e^-x) without overflow.
template <typename T>
T logistic(T x) noexcept;

}  // namespace retort::ops
