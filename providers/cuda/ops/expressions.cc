#include "expressions.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace providers::cuda {
namespace {

struct Function {
  std::string text;  // `x` is the argument; #2 a constant of its type, $exp a function, @alpha a parameter
  Parameters defaults = {};
  std::string short_text = {};  // for results of 16 bits, if it differs
};

using Functions = std::map<std::string, Function, std::less<>>;

void add_activations(Functions& f) {
  f["Relu"] = {"x < #0 ? #0 : x"};
  f["LeakyRelu"] = {"x < #0 ? @alpha * x : x", {{"alpha", 0.01f}}};
  f["Elu"] = {"x < #0 ? @alpha * $expm1(x) : x", {{"alpha", 1.0f}}};
  f["Selu"] = {"@gamma * (x > #0 ? x : @alpha * $expm1(x))", {{"alpha", 1.67326319f}, {"gamma", 1.05070102f}}};
  f["Celu"] = {"x > #0 ? x : @alpha * $expm1(x / @alpha)", {{"alpha", 1.0f}}};
  f["Sigmoid"] = {"#1 / (#1 + $exp(-x))"};
  f["Tanh"] = {"$tanh(x)"};
  f["HardSigmoid"] = {"@alpha * x + @beta < #0 ? #0 : @alpha * x + @beta > #1 ? #1 : @alpha * x + @beta",
                      {{"alpha", 0.2f}, {"beta", 0.5f}}};
  f["HardSwish"] = {"x * (x <= #-3 ? #0 : x >= #3 ? #1 : x / #6 + #0.5)"};
  f["Affine"] = {"@alpha * x + @beta", {{"alpha", 1.0f}, {"beta", 0.0f}}};
  f["ScaledTanh"] = {"@alpha * $tanh(@beta * x)", {{"alpha", 1.0f}, {"beta", 1.0f}}};
  f["Mish"] = {"x * $tanh(x > #30 ? x : $log1p($exp(x)))"};
  f["Softplus"] = {"(x > #0 ? x : #0) + $log1p($exp(-$fabs(x)))"};
  f["Softsign"] = {"x / (#1 + $fabs(x))"};
  f["ThresholdedRelu"] = {"x > @alpha ? x : #0", {{"alpha", 1.0f}}};
  f["Shrink"] = {"x < -@lambd ? x + @bias : x > @lambd ? x - @bias : #0", {{"bias", 0.0f}, {"lambd", 0.5f}}};
  f["Gelu"] = {"#0.5 * x * (#1 + $erf(x * #0.70710678118654752))"};
  f["GeluTanh"] = {"#0.5 * x * (#1 + $tanh(x * (#0.7978845608028654 + #0.035677408136300125 * x * x)))"};
  f["FastGelu"] = f["GeluTanh"];
  f["QuickGelu"] = {"x / (#1 + $exp(-(@alpha * x)))", {{"alpha", 1.702f}}};
  f["Swish"] = {"x / (#1 + $exp(-(@alpha * x)))", {{"alpha", 1.0f}}};
}

// Approximate quotients and powers: five instructions instead of about thirty, of which 16-bit types can hardly afford
// more at the memory's speed.
void add_short(Functions& f) {
  f["Sigmoid"].short_text = "__fdividef(#1, #1 + __expf(-x))";
  f["QuickGelu"].short_text = f["Swish"].short_text = "__fdividef(x, #1 + __expf(-(@alpha * x)))";
}

void add_elementary(Functions& f) {
  f["Neg"] = {"-x"};
  f["Abs"] = {"$fabs(x)"};
  f["Reciprocal"] = {"#1 / x"};
  f["Round"] = {"$rint(x)"};
  f["Sign"] = {"x > #0 ? #1 : x < #0 ? #-1 : x == #0 ? #0 : x"};  // NaN stays
  for (const char* name : {"Exp", "Log", "Sqrt", "Erf", "Floor", "Ceil", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan",
                           "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"}) {
    std::string lower = name;
    lower[0] = small_letter(lower[0]);
    f[name] = {"$" + lower + "(x)"};
  }
}

const Functions& functions() {
  static const Functions& all = *[] {
    auto* const made = new Functions;
    add_activations(*made);
    add_short(*made);
    add_elementary(*made);
    return made;
  }();
  return all;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool in_name(char c) { return is_digit(c) || (small_letter(c) >= 'a' && small_letter(c) <= 'z') || c == '_'; }
bool in_number(char c) { return is_digit(c) || c == '.'; }

template <typename Real>
std::string shortest(Real value) {
  std::array<char, 64> room;
  const auto end = std::to_chars(room.data(), room.data() + room.size(), value).ptr;
  std::string s(room.data(), end);
  if (s.find_first_of(".e") == s.npos) s += ".0";
  return s;
}

double number_of(const std::string& digits) {
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// The end of the name, or of the number with a sign, that begins at `begin`.
size_t end_of(const std::string& s, size_t begin, bool number) {
  size_t end = begin + (number && s[begin] == '-');
  while (end < s.size() && (number ? in_number(s[end]) : in_name(s[end]))) ++end;
  return end;
}

template <typename Real>
std::string instance(const Function& function, const std::string& pattern, const Parameters& given) {
  std::string out = "(";
  for (size_t i = 0; i < pattern.size();) {
    const char kind = pattern[i];
    if (kind != '#' && kind != '$' && kind != '@') {
      out += pattern[i++];
      continue;
    }
    const size_t end = end_of(pattern, i + 1, kind == '#');
    const std::string name = pattern.substr(i + 1, end - i - 1);
    const auto parameter = given.find(name);
    if (kind == '#')
      out += "(" + literal(Real(number_of(name))) + ")";
    else if (kind == '$')
      out += name + (sizeof(Real) == sizeof(float) ? "f" : "");
    else
      out += "(" + literal(Real(parameter != given.end() ? parameter->second : function.defaults.at(name))) + ")";
    i = end;
  }
  return out + ")";
}

// NaN stays; if the bounds cross, the upper one wins.
template <typename Real>
std::string clip(const Parameters& p) {
  const auto low = p.find("min"), high = p.find("max");
  std::string text = "x";
  if (low != p.end()) {
    const std::string bound = "(" + literal(Real(low->second)) + ")";
    text = "(x < " + bound + " ? " + bound + " : x)";
  }
  if (high == p.end()) return text;
  const std::string bound = "(" + literal(Real(high->second)) + ")";
  return "(" + text + " > " + bound + " ? " + bound + " : " + text + ")";
}

template <typename Real>
std::string text_in(const std::string& type, const Parameters& parameters) {
  if (type == "Clip") return clip<Real>(parameters);
  const auto found = functions().find(type);
  return found == functions().end() ? "" : instance<Real>(found->second, found->second.text, parameters);
}

}  // namespace

std::string literal(float value) {
  if (std::isnan(value)) return "bits_to_float(0x7fc00000u)";
  if (std::isinf(value)) return value < 0 ? "bits_to_float(0xff800000u)" : "bits_to_float(0x7f800000u)";
  return shortest(value) + "f";
}

std::string literal(double value) {
  if (!std::isfinite(value)) return "double(" + literal(float(value)) + ")";
  return shortest(value);
}

std::string with_name(const std::string& text, const std::string& name, const std::string& by) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t end = in_name(text[i]) ? end_of(text, i, false) : i + 1;
    const std::string part = text.substr(i, end - i);
    out += part == name ? by : part;
    i = end;
  }
  return out;
}

std::string activation_text(const std::string& type, const Parameters& parameters) {
  return text_in<float>(type, parameters);
}
std::string double_activation_text(const std::string& type, const Parameters& parameters) {
  return text_in<double>(type, parameters);
}

std::string short_activation_text(const std::string& type, const Parameters& parameters) {
  const auto found = functions().find(type);
  if (found == functions().end() || found->second.short_text.empty()) return activation_text(type, parameters);
  return instance<float>(found->second, found->second.short_text, parameters);
}

std::pair<std::string, Parameters> activation_of(const Node& node) {
  std::string name = node.type;
  Parameters parameters;
  if (name == "Clip") {
    for (const char* bound : {"min", "max"})
      if (node.has(bound)) parameters[bound] = node.number(bound, 0);
    return {node.in.size() > 1 ? "" : name, parameters};
  }
  if (name == "Gelu" && node.domain.empty() && node.string("approximate", "none") == "tanh") name = "GeluTanh";
  if (name == "FastGelu" && node.input(1)) return {};  // with a bias
  const auto found = functions().find(name);
  if (found == functions().end()) return {};
  for (const auto& [key, value] : found->second.defaults) parameters[key] = node.number(key, value);
  return {name, parameters};
}

}  // namespace providers::cuda
