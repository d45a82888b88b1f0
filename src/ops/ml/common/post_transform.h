// The final transformation of a row's scores in ai.onnx.ml models.
#pragma once
#include <span>
#include <string_view>

namespace retort::ops {

enum class PostTransform : uint8_t { none, softmax, logistic, softmax_zero, probit };

/// Parses "NONE", "SOFTMAX", …; throws invalid_argument on another name.
PostTransform post_transform(std::string_view name);
/// Transforms scores in place; T is float or double. softmax_zero leaves out scores of about 0: up to 1e-7 they are
/// only scaled as the others are, and if all are such, the result is NaN. probit is the quantile function of the normal
/// distribution, by Winitzki's approximation of erf's inverse ("A handy approximation for the error function and its
/// inverse", 2008). Both behave as in ONNX Runtime. As there, a single score is unchanged, except by probit.
template <typename T>
void apply(PostTransform transform, std::span<T> scores) noexcept;
/// The same for each row of [rows, count], with vectors. Serial.
void apply_rows(PostTransform transform, float* scores, size_t rows, size_t count) noexcept;

/// The score of the first of two classes, given the score s of the second one.
enum class SecondScore : uint8_t { one_minus, negative };
/// Completes rows [rows, 2] whose second column holds a score s: the first column becomes 1 - s or -s; with LOGISTIC,
/// the columns become its values at -s and s. Of the other transforms only PROBIT applies to two such scores, as in
/// ONNX Runtime, which leaves half of its results unset then.
void add_second_scores(PostTransform transform, SecondScore kind, float* scores, size_t rows) noexcept;
/// 1 / (1 + e^-x) without overflow.
template <typename T>
T logistic(T x) noexcept;

}  // namespace retort::ops
