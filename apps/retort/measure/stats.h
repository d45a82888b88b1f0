// Statistics of tensors and of times.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "formats/tensors.h"

namespace retort::cli {

using Clock = std::chrono::steady_clock;
inline double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

/// Formats a time with enough digits even for models that run for a microsecond.
inline std::string milliseconds_text(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, ms < 0.1 ? "%.2g" : "%.3f", ms);
  return text;
}

/// The quantile `q` of the values; 0 if there are none.
inline double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, size_t(q * double(values.size())))];
}

/// "float32 1x10   min -1.2  mean 0.1  max 3.4"; short tensors completely.
std::string tensor_text(const HostTensor& t);
nlohmann::json tensor_json(const HostTensor& t);
/// Lines with a name and its content: for a sequence or map, one line per part.
/// "50", "99.9"
std::string percent_text(double percent);
/// {"50": the median, …}
nlohmann::json percentiles_json(const std::vector<double>& times, const std::vector<double>& percentiles);
std::string value_text(const std::string& name, const HostValue& value);
nlohmann::json value_json(const HostValue& value);

/// Numbers about the elements of a tensor of real numbers.
struct Statistics {
  static constexpr size_t kBins = 16;
  size_t count = 0, zeros = 0, not_finite = 0;
  double low = 0, high = 0, mean = 0, deviation = 0;  ///< of the finite elements
  std::vector<size_t> histogram;                      ///< finite elements in kBins equal parts from `low` to `high`
};
Statistics statistics(const HostTensor& t);
/// {min, max, mean, deviation, zeros, not_finite, histogram}
nlohmann::json statistics_json(const Statistics& s);
/// The histogram as a line of blocks of different heights.
std::string histogram_text(const std::vector<size_t>& histogram);

/// The largest difference of two tensors.
struct Difference {
  /// The largest difference divided by the largest absolute value of `b`; infinite if a type, a shape or the place of a
  /// non-finite number differs.
  double scaled = 0;
  double absolute = 0;            ///< the largest difference
  size_t index = 0;               ///< element with the largest difference
  std::string what;               ///< set if they cannot be compared element by element: types or shapes
  std::vector<size_t> part = {};  ///< for sequences and maps: the item that contains it, the item inside that one, …
};
Difference compare(const HostTensor& a, const HostTensor& b);
/// Compares item by item and returns the largest difference.
Difference compare(const HostValue& a, const HostValue& b);

}  // namespace retort::cli
