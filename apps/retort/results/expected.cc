#include "results/expected.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "bench/bench_accuracy.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "measure/stats.h"

namespace retort::cli {
namespace {

struct Closeness {
  size_t elements = 0, outside = 0;
  double largest = 0;
  bool texts = false;
  std::string what;  ///< a difference in type or shape
};

const PortInfo& find_output(const std::vector<PortInfo>& outputs, const std::string& name) {
  std::string known;
  for (const PortInfo& port : outputs) {
    if (port.name == name) return port;
    known += (known.empty() ? "'" : ", '") + port.name + "'";
  }
  throw Failure("--expected: the model has no output '" + name + "'; it has " + known);
}

void add_tensor(const HostTensor& a, const HostTensor& b, const Expectation& tolerance, Closeness& c) {
  if (a.type != b.type) c.what = std::string(type_name(a.type)) + " instead of " + type_name(b.type);
  if (a.shape != b.shape) c.what = "shape " + dims_text(a.shape) + " instead of " + dims_text(b.shape);
  if (!c.what.empty()) return;
  c.elements += a.count();
  if (a.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    c.texts = true;
    for (size_t i = 0; i < a.count(); ++i) c.outside += a.strings[i] != b.strings[i];
    return;
  }
  if (is_complex(a.type)) return add_tensor(parts(a), parts(b), tolerance, c);
  for (size_t i = 0; i < a.count(); ++i) {
    const double p = number(a, i), q = number(b, i);
    const bool same = p == q || (std::isnan(p) && std::isnan(q));
    const bool finite = std::isfinite(p) && std::isfinite(q);
    const double apart = same ? 0 : finite ? std::fabs(p - q) : INFINITY;
    c.largest = std::max(c.largest, apart);
    c.outside += !(apart <= tolerance.atol + tolerance.rtol * std::fabs(q)) && !same;
  }
}

void add_value(const HostValue& a, const HostValue& b, const Expectation& tolerance, Closeness& c) {
  if (a.kind == HostValue::Kind::tensor && b.kind == a.kind) return add_tensor(a.tensor, b.tensor, tolerance, c);
  if (a.kind != b.kind || a.items.size() != b.items.size()) {
    c.what = "another kind or number of values";
    return;
  }
  for (size_t i = 0; i < a.items.size(); ++i) add_value(a.items[i], b.items[i], tolerance, c);
}

void expect(HostValues& all, const std::string& output, HostValue value) {
  if (!all.emplace(output, std::move(value)).second)
    throw WrongUsage("--expected gives '" + output + "' twice; leave one of them out");
}

/// The expected outputs of [NAME=]FILE or [NAME=]VALUE.
void read_place(const std::string& place, const std::vector<PortInfo>& outputs, HostValues& all) {
  const size_t equals = place.find('=');
  const bool named = equals != std::string::npos && equals > 0 && !std::filesystem::exists(place);
  const std::string file = named ? place.substr(equals + 1) : place;
  if (!named && has_suffix(file, ".npz")) {
    for (auto& [name, value] : read_value_file(file, {}, {}))
      expect(all, find_output(outputs, name).name, std::move(value));
    return;
  }
  if (!named && outputs.size() != 1)
    throw Failure("--expected: the model has " + std::to_string(outputs.size()) + " outputs; write NAME=" + file);
  const PortInfo& port = named ? find_output(outputs, place.substr(0, equals)) : outputs[0];
  if (file.empty() && port.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)
    throw Failure("--expected: output '" + port.name + "' is given without a file or a value");
  if (!std::filesystem::exists(file) && is_value(file, port)) {
    expect(all, port.name, {.kind = HostValue::Kind::tensor, .tensor = parse_values(file, port)});
    return;
  }
  HostValues values = read_value_file(file, port, {});
  const auto found = values.find(port.name);
  if (found == values.end() && values.size() != 1) throw Failure(file + " has no array '" + port.name + "'");
  expect(all, port.name, std::move(found != values.end() ? found->second : values.begin()->second));
}

}  // namespace

HostValues read_expectation(const Expectation& expectation, const std::vector<PortInfo>& outputs) {
  HostValues all;
  for (const std::string& place : expectation.places) {
    std::error_code error;
    if (!std::filesystem::is_directory(place, error)) {
      read_place(place, outputs, all);
      continue;
    }
    for (auto& [name, value] : read_expected(place, outputs)) expect(all, name, std::move(value));
  }
  return all;
}

nlohmann::json compare_expected(const HostValues& actual, const HostValues& expected, const Expectation& tolerance) {
  nlohmann::json told = {{"agree", true}, {"rtol", tolerance.rtol}, {"atol", tolerance.atol}};
  for (const auto& [name, value] : expected) {
    Closeness c;
    add_value(actual.at(name), value, tolerance, c);
    const bool agree = c.what.empty() && c.outside == 0;
    told["outputs"][name] = {{"agree", agree}, {"elements", c.elements}, {"outside", c.outside}, {"largest", nullptr}};
    if (std::isfinite(c.largest) && c.what.empty()) told["outputs"][name]["largest"] = c.largest;
    if (c.texts) told["outputs"][name].update({{"texts", true}, {"largest", nullptr}});
    if (!c.what.empty()) told["outputs"][name]["what"] = c.what;
    if (!agree) told["agree"] = false;
  }
  return told;
}

std::string expected_text(const nlohmann::json& comparison) {
  std::string text;
  for (const auto& [name, c] : comparison["outputs"].items()) {
    char largest[32] = "infinite";
    if (!c["largest"].is_null()) std::snprintf(largest, sizeof largest, "%.3g", c["largest"].get<double>());
    const std::string how = c.contains("what") ? c["what"].get<std::string>()
                            : c.contains("texts")
                                ? c["outside"].dump() + " of " + c["elements"].dump() + " texts differ"
                                : c["outside"].dump() + " of " + c["elements"].dump() +
                                      " elements are outside of the tolerance; the largest difference is " + largest;
    text += paint(c["agree"] ? Paint::green : Paint::red, c["agree"] ? "as expected" : "not as expected") + ": " +
            clean(name) + ": " + how + "\n";
  }
  return text;
}

}  // namespace retort::cli
