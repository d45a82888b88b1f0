#include "compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace retort::conformance {
namespace {

std::string text(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", x);
  return buffer;
}

std::string text(const std::vector<int64_t>& dims) {
  std::string s = "[";
  for (const int64_t d : dims) s += (s.size() > 1 ? ", " : "") + std::to_string(d);
  return s + "]";
}

bool is_float(Elem e) {
  switch (e) {
    case Elem::f16:
    case Elem::bf16:
    case Elem::f32:
    case Elem::f64:
    case Elem::c64:
    case Elem::c128:
      return true;
    default:
      return false;
  }
}

// The standard deviation of the finite elements; for a single element, its absolute value.
double spread(const Value& v, size_t count) {
  double sum = 0, squares = 0;
  size_t n = 0;
  for (size_t k = 0; k < count; ++k) {
    const double x = number_at(v, k);
    if (!std::isfinite(x)) continue;
    sum += x, squares += x * x, ++n;
  }
  if (n == 0) return 0;
  if (n == 1) return std::abs(sum);
  const double mean = sum / static_cast<double>(n);
  return std::sqrt(std::max(0.0, squares / static_cast<double>(n) - mean * mean));
}

struct Bound {
  double absolute, relative;
  double at(double expected) const { return absolute + relative * std::abs(expected); }
};

Bound bound_for(const Value& expected, const Tolerance& t, size_t count) {
  if (expected.elem == Elem::boolean) return {0, 0};
  if (t.rule == Tolerance::Rule::scale)
    return {is_float(expected.elem) ? t.relative * (spread(expected, count) + 1e-6) : 0.0, 0};
  return {t.absolute, expected.elem == Elem::bf16 ? std::max(t.relative, 0x1p-6) : t.relative};
}

// Error divided by the allowed error; 0 if equal, infinite if no tolerance can allow it.
double error_ratio(double expected, double actual, const Bound& bound) {
  if (expected == actual || (std::isnan(expected) && std::isnan(actual))) return 0;
  const double error = std::abs(actual - expected), allowed = bound.at(expected);
  if (!std::isfinite(error) || !std::isfinite(expected)) return std::numeric_limits<double>::infinity();
  return allowed > 0 ? error / allowed : std::numeric_limits<double>::infinity();
}

std::optional<Difference> compare_strings(const Value& expected, const Value& actual) {
  for (size_t k = 0; k < expected.strings.size(); ++k)
    if (expected.strings[k] != actual.strings[k])
      return Difference{"value", "string " + std::to_string(k) + ": expected '" + expected.strings[k] + "', got '" +
                                     actual.strings[k] + "'"};
  return std::nullopt;
}

std::optional<Difference> compare_numbers(const Value& expected, const Value& actual, const Tolerance& tolerance,
                                          double* worst) {
  if (expected.bytes == actual.bytes) return std::nullopt;
  const bool complex = expected.elem == Elem::c64 || expected.elem == Elem::c128;
  const size_t count = expected.count() * (complex ? 2 : 1);
  const Bound bound = bound_for(expected, tolerance, count);
  size_t bad = 0, first = 0;
  double largest = 0;
  for (size_t k = 0; k < count; ++k) {
    const double ratio = error_ratio(number_at(expected, k), number_at(actual, k), bound);
    largest = std::max(largest, ratio);
    if (ratio > 1 && bad++ == 0) first = k;
  }
  if (worst) *worst = std::max(*worst, largest);
  if (!bad) return std::nullopt;
  return Difference{"value", std::to_string(bad) + " of " + std::to_string(count) + " differ, worst " + text(largest) +
                                 " times the tolerance, first at " + std::to_string(first) + ": expected " +
                                 text(number_at(expected, first)) + ", got " + text(number_at(actual, first))};
}

std::optional<Difference> compare_tensors(const Value& expected, const Value& actual, const Tolerance& tolerance,
                                          double* worst) {
  if (expected.elem != actual.elem)
    return Difference{"dtype", "expected element type " + std::to_string(static_cast<int>(expected.elem)) + ", got " +
                                   std::to_string(static_cast<int>(actual.elem))};
  if (expected.dims != actual.dims)
    return Difference{"shape", "expected " + text(expected.dims) + ", got " + text(actual.dims)};
  if (tolerance.rule == Tolerance::Rule::shape) return std::nullopt;
  if (expected.elem == Elem::string) return compare_strings(expected, actual);
  return compare_numbers(expected, actual, tolerance, worst);
}

}  // namespace

std::optional<Difference> compare(const Value& expected, const Value& actual, const Tolerance& tolerance,
                                  double* worst) {
  if (expected.kind != actual.kind) return Difference{"dtype", "another kind of value (tensor, sequence or none)"};
  if (expected.kind == Value::Kind::none) return std::nullopt;
  if (expected.kind == Value::Kind::tensor) return compare_tensors(expected, actual, tolerance, worst);
  if (expected.items.size() != actual.items.size())
    return Difference{"count", "expected a sequence of " + std::to_string(expected.items.size()) + ", got " +
                                   std::to_string(actual.items.size())};
  for (size_t k = 0; k < expected.items.size(); ++k)
    if (auto difference = compare(expected.items[k], actual.items[k], tolerance, worst)) return difference;
  return std::nullopt;
}

}  // namespace retort::conformance
