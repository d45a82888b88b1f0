#include "stats.h"

#include <cmath>

#include "commands.h"

namespace retort::cli {
namespace {

constexpr size_t kShown = 10;  // tensors of up to so many elements are shown whole

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

}  // namespace

std::string tensor_text(const HostTensor& t) {
  std::string text = std::string(type_name(t.type)) + " " + dims_text(t.shape) + "  ";
  const size_t n = t.count();
  const Summary s = summarise(t);
  if (t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    for (size_t i = 0; i < std::min(n, kShown); ++i) text += " \"" + t.strings[i] + "\"";
    return n > kShown ? text + " …" : text;
  }
  if (!s.valid) return text;
  if (n > kShown)
    return text + " min " + number_text("%.*g", s.low) + "  mean " + number_text("%.*g", s.mean) + "  max " +
           number_text("%.*g", s.high);
  for (size_t i = 0; i < n; ++i) {
    const double v = number(t, i);
    text += " " + number_text("%.*g", v, v == std::floor(v) ? 15 : 6);
  }
  return text;
}

nlohmann::json tensor_json(const HostTensor& t) {
  nlohmann::json all = {{"type", type_name(t.type)}, {"shape", t.shape}};
  const Summary s = summarise(t);
  if (s.valid) all.update({{"min", s.low}, {"mean", s.mean}, {"max", s.high}});
  const bool text = t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  if (t.count() > kShown || !(s.valid || text)) return all;
  for (size_t i = 0; i < t.count(); ++i) {
    if (text) all["values"].push_back(t.strings[i]);
    if (!text) all["values"].push_back(number(t, i));
  }
  return all;
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

}  // namespace retort::cli
