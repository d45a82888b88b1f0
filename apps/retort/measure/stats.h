// Numbers about tensors and about times.
#pragma once
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "formats/tensors.h"

namespace retort::cli {

using Clock = std::chrono::steady_clock;
inline double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

/// In digits that tell something, also of a model of a microsecond.
inline std::string milliseconds_text(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, ms < 0.1 ? "%.2g" : "%.3f", ms);
  return text;
}

/// The value below which the share `q` of all lies; 0 where there is none.
inline double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, size_t(q * double(values.size())))];
}

/// "float32 1x10   min -1.2  mean 0.1  max 3.4"; short tensors in full.
std::string tensor_text(const HostTensor& t);
nlohmann::json tensor_json(const HostTensor& t);
/// Lines of a name and what it holds: of a sequence or map, one line for each of its parts.
std::string value_text(const std::string& name, const HostValue& value);
nlohmann::json value_json(const HostValue& value);

/// Where two tensors differ most.
struct Difference {
  double scaled = 0;  ///< the largest difference over the largest absolute value of `b`; infinite where type, shape or
                      ///< what is no finite number differs
  double absolute = 0;            ///< the largest difference
  size_t index = 0;               ///< element with the largest difference
  std::string what;               ///< set where they cannot be compared element by element: types or shapes
  std::vector<size_t> part = {};  ///< of sequences and maps: the item in which it is, and the item of that, …
};
Difference compare(const HostTensor& a, const HostTensor& b);
/// Item by item; the one that differs most.
Difference compare(const HostValue& a, const HostValue& b);

}  // namespace retort::cli
