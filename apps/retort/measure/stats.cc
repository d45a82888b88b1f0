#include "measure/stats.h"

#include <cmath>
#include <cstdio>

#include "cli/commands.h"
#include "cli/text.h"

namespace retort::cli {
namespace {

constexpr size_t kShown = 10;  // tensors of up to this many elements are shown completely

struct Summary {
  double low = 0, high = 0, mean = 0;
  bool valid = false;
};

Summary summarise(const HostTensor& t) {
  const size_t n = t.count();
  if (n == 0 || !is_real(t.type)) return {};
  Summary s{number(t, 0), number(t, 0), 0, true};
  for (size_t i = 0; i < n; ++i) {
    const double v = number(t, i);
    s.low = std::min(s.low, v);
    s.high = std::max(s.high, v);
    s.mean += v / double(n);
  }
  return s;
}

std::string number_text(const char* format, double value, int digits = 6) {
  char text[64];
  std::snprintf(text, sizeof text, format, digits, value);
  return text;
}

std::string real_text(double v) { return number_text("%.*g", v, v == std::floor(v) ? 15 : 6); }

/// "1+2i"; `t` is parts() of a tensor.
std::string complex_text(const HostTensor& t, size_t i) {
  const std::string imaginary = real_text(number(t, 2 * i + 1));
  return real_text(number(t, 2 * i)) + (imaginary[0] == '-' ? "" : "+") + imaginary + "i";
}

std::string elements_text(const HostTensor& t) {
  const bool complex = is_complex(t.type), text = t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  const HostTensor numbers = complex ? parts(t) : HostTensor();
  std::string all;
  for (size_t i = 0; i < std::min(t.count(), kShown); ++i)
    all += " " + (text      ? "\"" + clean(t.strings[i]) + "\""
                  : complex ? complex_text(numbers, i)
                            : real_text(number(t, i)));
  return t.count() > kShown ? all + " …" : all;
}

nlohmann::json elements_json(const HostTensor& t) {
  nlohmann::json all = nlohmann::json::array();
  const HostTensor numbers = is_complex(t.type) ? parts(t) : HostTensor();
  for (size_t i = 0; i < t.count(); ++i) {
    if (t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
      all.push_back(t.strings[i]);
    else if (is_complex(t.type))
      all.push_back({number(numbers, 2 * i), number(numbers, 2 * i + 1)});
    else
      all.push_back(number(t, i));
  }
  return all;
}

}  // namespace

std::string percent_text(double percent) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", percent);
  return text;
}

nlohmann::json percentiles_json(const std::vector<double>& times, const std::vector<double>& percentiles) {
  nlohmann::json told = nlohmann::json::object();
  for (const double p : percentiles) told[percent_text(p)] = quantile(times, p / 100);
  return told;
}

std::string tensor_text(const HostTensor& t) {
  const std::string text = std::string(type_name(t.type)) + " " + dims_text(t.shape) + "  ";
  const Summary s = summarise(t);
  if (t.count() <= kShown || !s.valid) return text + elements_text(t);
  return text + " min " + number_text("%.*g", s.low) + "  mean " + number_text("%.*g", s.mean) + "  max " +
         number_text("%.*g", s.high);
}

nlohmann::json tensor_json(const HostTensor& t) {
  nlohmann::json all = {{"type", type_name(t.type)}, {"shape", t.shape}};
  const Summary s = summarise(t);
  if (s.valid) all.update({{"min", s.low}, {"mean", s.mean}, {"max", s.high}});
  if (t.count() > 0 && t.count() <= kShown) all["values"] = elements_json(t);
  return all;
}

std::string value_text(const std::string& name, const HostValue& value) {
  using Kind = HostValue::Kind;
  constexpr size_t kColumn = 24;
  const std::string line = name + std::string(name.size() < kColumn ? kColumn - name.size() : 0, ' ') + " ";
  const std::string indent = name.substr(0, name.find_first_not_of(' ')) + "  ";
  if (value.kind == Kind::tensor) return line + tensor_text(value.tensor) + "\n";
  if (value.kind == Kind::none) return line + "no value\n";
  if (value.kind == Kind::other) return line + "not shown: neither a tensor nor a sequence or map\n";
  if (value.kind == Kind::map)
    return line + "map\n" + value_text(indent + "keys", value.items.at(0)) +
           value_text(indent + "values", value.items.at(1));
  const size_t n = value.items.size();
  std::string all = line + "sequence of " + std::to_string(n) + "\n";
  for (size_t i = 0; i < std::min(n, kShown); ++i)
    all += value_text(indent + "[" + std::to_string(i) + "]", value.items[i]);
  return n > kShown ? all + indent + "… and " + std::to_string(n - kShown) + " more\n" : all;
}

nlohmann::json value_json(const HostValue& value) {
  using Kind = HostValue::Kind;
  if (value.kind == Kind::tensor) return tensor_json(value.tensor);
  if (value.kind == Kind::none) return nullptr;
  if (value.kind == Kind::other) return {{"type", "other"}};
  if (value.kind == Kind::map)
    return {{"type", "map"}, {"keys", value_json(value.items.at(0))}, {"values", value_json(value.items.at(1))}};
  nlohmann::json all = {{"type", "sequence"}, {"items", nlohmann::json::array()}};
  for (const HostValue& item : value.items) all["items"].push_back(value_json(item));
  return all;
}

Statistics statistics(const HostTensor& t) {
  Statistics s{.count = t.count(), .histogram = std::vector<size_t>(Statistics::kBins)};
  std::vector<double> finite;
  finite.reserve(s.count);
  for (size_t i = 0; i < s.count; ++i) {
    const double v = number(t, i);
    s.zeros += v == 0;
    if (std::isfinite(v))
      finite.push_back(v);
    else
      ++s.not_finite;
  }
  if (finite.empty()) return s;
  const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
  s.low = *low;
  s.high = *high;
  for (const double v : finite) s.mean += v / double(finite.size());
  double squares = 0;
  for (const double v : finite) {
    squares += (v - s.mean) * (v - s.mean) / double(finite.size());
    const double place = s.high > s.low ? (v - s.low) / (s.high - s.low) * double(Statistics::kBins) : 0;
    ++s.histogram[std::min(Statistics::kBins - 1, size_t(place))];
  }
  s.deviation = std::sqrt(squares);
  return s;
}

nlohmann::json statistics_json(const Statistics& s) {
  return {{"min", s.low},
          {"max", s.high},
          {"mean", s.mean},
          {"deviation", s.deviation},
          {"zeros", s.zeros},
          {"not_finite", s.not_finite},
          {"histogram", s.histogram}};
}

std::string histogram_text(const std::vector<size_t>& histogram) {
  constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t most = histogram.empty() ? 0 : *std::max_element(histogram.begin(), histogram.end());
  std::string text;
  for (const size_t n : histogram) text += kBlocks[n == 0 ? 0 : 1 + n * 7 / most];
  return text;
}

Difference compare(const HostTensor& a, const HostTensor& b) {
  Difference d;
  if (a.type != b.type) d.what = std::string(type_name(a.type)) + " and " + type_name(b.type);
  if (a.shape != b.shape) d.what = "shapes " + dims_text(a.shape) + " and " + dims_text(b.shape);
  if (a.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING && d.what.empty() && a.strings != b.strings) {
    d.index = size_t(std::mismatch(a.strings.begin(), a.strings.end(), b.strings.begin()).first - a.strings.begin());
    d.scaled = INFINITY;
  }
  if (!d.what.empty()) d.scaled = INFINITY;
  if (d.what.empty() && is_complex(b.type)) {
    d = compare(parts(a), parts(b));
    d.index /= 2;
  }
  if (!d.what.empty() || !is_real(b.type)) return d;
  double scale = 0;
  for (size_t i = 0; i < b.count(); ++i) {
    const double p = number(a, i), q = number(b, i);
    const bool finite = std::isfinite(p) && std::isfinite(q);
    if (finite) scale = std::max(scale, std::fabs(q));
    const double apart = finite ? std::fabs(p - q) : p == q || (std::isnan(p) && std::isnan(q)) ? 0 : INFINITY;
    if (apart > d.absolute) {
      d.absolute = apart;
      d.index = i;
    }
  }
  d.scaled = scale > 0 ? d.absolute / scale : d.absolute;
  return d;
}

namespace {

std::string kind_text(const HostValue& v) {
  switch (v.kind) {
    case HostValue::Kind::tensor:
      return "a tensor";
    case HostValue::Kind::sequence:
      return "a sequence of " + std::to_string(v.items.size());
    case HostValue::Kind::map:
      return "a map";
    default:
      return "no value";
  }
}

}  // namespace

Difference compare(const HostValue& a, const HostValue& b) {
  if (a.kind == HostValue::Kind::tensor && b.kind == a.kind) return compare(a.tensor, b.tensor);
  Difference d;
  if (a.kind != b.kind || a.items.size() != b.items.size()) {
    d.what = kind_text(a) + " and " + kind_text(b);
    d.scaled = INFINITY;
    return d;
  }
  for (size_t i = 0; i < a.items.size(); ++i) {
    Difference item = compare(a.items[i], b.items[i]);
    if (!(item.scaled > d.scaled)) continue;
    d = std::move(item);
    d.part.insert(d.part.begin(), i);
  }
  return d;
}

}  // namespace retort::cli
