// The steps of each type of node.
#include <algorithm>

#include "elementwise.h"
#include "expressions.h"

namespace providers::cuda {
namespace {

using Form = Source::Form;
constexpr Type kBool = ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
constexpr Type kDouble = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;

bool is_half(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
}

std::string wants(const Node& node, bool accepted, const char* what) {
  if (accepted) return "";
  return text("its first input is ", name_of(node.in[0]->type), "; wanted is ", what);
}
std::string any(const Node&) { return ""; }
std::string numbers(const Node& node) { return wants(node, node.in[0]->type != kBool, "a number"); }
std::string reals(const Node& node) { return wants(node, is_real_type(node.in[0]->type), "a floating-point type"); }
std::string integers(const Node& node) { return wants(node, is_integer_type(node.in[0]->type), "an integer"); }
std::string bools(const Node& node) { return wants(node, node.in[0]->type == kBool, "bool"); }

// Functions of one number.
Term function(Weaver& w) {
  const auto [name, parameters] = activation_of(w.node());
  const bool wide = w.type(0) == kDouble;
  const std::string text = wide                 ? double_activation_text(name, parameters)
                           : is_half(w.type(0)) ? short_activation_text(name, parameters)
                                                : activation_text(name, parameters);
  return w.step(with_name(text, "x", "$0"), w.type(0), {w.in(0)}, wide ? 24 : 8);
}
// Of any number.
Term number_function(Weaver& w) {
  if (is_real_type(w.type(0))) return function(w);
  const std::string name = w.node().type, zero = constant_text(w.type(0), 0);
  const std::string text = name == "Neg"    ? "op::neg($0)"
                           : name == "Abs"  ? "op::abs($0)"
                           : name == "Relu" ? "$0 < " + zero + " ? " + zero + " : $0"
                                            : "op::sign($0)";
  return w.step(text, w.type(0), {w.in(0)});
}

template <const char* kText, int kCost = 1>
Term binary(Weaver& w) {
  return w.step(kText, w.type(0), {w.in(0), w.in(1)}, kCost);
}
template <const char* kText>
Term relation(Weaver& w) {
  return w.step(kText, kBool, {w.in(0), w.in(1)});
}
template <const char* kText>
Term chain(Weaver& w) {
  Term all = w.in(0);
  for (size_t i = 1; i < w.node().in.size(); ++i) all = w.step(kText, w.type(0), {all, w.in(i)});
  return w.node().in.size() > 1 ? all : w.step("$0", w.type(0), {all});
}

constexpr char kAdd[] = "op::add($0, $1)", kSub[] = "op::sub($0, $1)", kMul[] = "op::mul($0, $1)",
               kDiv[] = "op::div($0, $1)", kMax[] = "op::max_of($0, $1)", kMin[] = "op::min_of($0, $1)",
               kEqual[] = "$0 == $1", kLess[] = "$0 < $1", kGreater[] = "$0 > $1", kLessEqual[] = "$0 <= $1",
               kGreaterEqual[] = "$0 >= $1", kAnd[] = "$0 && $1", kOr[] = "$0 || $1", kXor[] = "$0 != $1",
               kBitAnd[] = "$0 & $1", kBitOr[] = "$0 | $1", kBitXor[] = "$0 ^ $1";

Term mean(Weaver& w) {
  const Term sum = chain<kAdd>(w);
  return w.step("op::div($0, " + constant_text(w.type(0), double(w.node().in.size())) + ")", w.type(0), {sum}, 4);
}
Term modulo(Weaver& w) {
  const bool sign_of_a = w.node().integer("fmod", 0) != 0;
  return w.step(sign_of_a ? "op::remainder($0, $1)" : "op::modulo($0, $1)", w.type(0), {w.in(0), w.in(1)}, 16);
}
Term power(Weaver& w) { return w.power(w.in(0), w.in(1), w.type(0)); }
Term shift(Weaver& w) {
  const bool left = w.node().string("direction", "") == "LEFT";
  return w.step(left ? "op::shift_left($0, $1)" : "op::shift_right($0, $1)", w.type(0), {w.in(0), w.in(1)});
}
Term logical_not(Weaver& w) { return w.step("!$0", kBool, {w.in(0)}); }
Term bitwise_not(Weaver& w) { return w.step(computed_type(w.type(0)) + "(~$0)", w.type(0), {w.in(0)}); }
Term where(Weaver& w) { return w.step("$0 ? $1 : $2", w.type(1), {w.in(0), w.in(1), w.in(2)}); }
Term is_nan(Weaver& w) { return w.step("$0 != $0", kBool, {w.in(0)}); }
Term is_infinite(Weaver& w) {
  std::string text = "false";
  if (w.node().integer("detect_positive", 1)) text += " || $0 == op::infinity()";
  if (w.node().integer("detect_negative", 1)) text += " || $0 == -op::infinity()";
  return w.step(text, kBool, {w.in(0)});
}
Term cast(Weaver& w) {
  const Type to = w.node().out[0]->type;
  const bool saturates = w.node().integer("saturate", 1) != 0;
  const std::string text = to == w.type(0) ? "$0" : text_of_conversion(to, "$0", saturates);
  return w.step(text, to, {w.in(0)}, 2);
}
// Before opset 7, a list of slopes belongs to the channels.
Term prelu(Weaver& w) {
  const Term x = w.in(0), slope = w.node().since < 7 ? w.in(1, Form::on_axis, 1, x) : w.in(1);
  return w.step("$0 < " + constant_text(w.type(0), 0) + " ? op::mul($0, $1) : $0", w.type(0), {x, slope}, 2);
}

// The lowest or highest finite number of a floating-point type.
std::string finite_end(Type type, bool high) {
  const std::string sign = high ? "" : "-";
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16) return sign + "65504.0f";
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16) return sign + "bits_to_float(0x7f7f0000u)";
  return sign + (type == kDouble ? "1.7976931348623157e+308" : "3.40282347e+38f");
}
// A bound that is not given is the last finite number.
Term bounded(Weaver& w, Term x, size_t i, bool high) {
  const std::string call = high ? "op::at_most($0, " : "op::at_least($0, ";
  if (w.node().input(i)) return w.step(call + "$1)", w.type(0), {x, w.in(i, Form::scalar)});
  if (!is_real_type(w.type(0))) return x;
  return w.step(call + finite_end(w.type(0), high) + ")", w.type(0), {x});
}
Term clip(Weaver& w) {
  const Term x = w.in(0);
  if (w.node().since >= 11) {
    const Term y = bounded(w, bounded(w, x, 1, false), 2, true);
    return y < 0 ? w.step("$0", w.type(0), {x}) : y;  // integers without bounds
  }
  Parameters bounds;
  bounds["min"] = w.node().number("min", -3.40282347e+38f);
  bounds["max"] = w.node().number("max", 3.40282347e+38f);
  const bool wide = w.type(0) == kDouble;
  const std::string text = wide ? double_activation_text("Clip", bounds) : activation_text("Clip", bounds);
  return w.step(with_name(text, "x", "$0"), w.type(0), {x}, 2);
}
std::string clip_refuses(const Node& node) {
  if (node.since < 11) return reals(node);
  return numbers(node);
}

// The sum of the first two inputs, and GELU of it.
Term biased_gelu(Weaver& w) {
  const Term sum = w.node().input(1) ? w.step(kAdd, w.type(0), {w.in(0), w.in(1)}) : w.in(0);
  const std::string name = w.node().type == "FastGelu" ? "GeluTanh" : "Gelu";
  const std::string text = w.type(0) == kDouble ? double_activation_text(name) : activation_text(name);
  return w.step(with_name(text, "x", "$0"), w.type(0), {sum}, 12);
}
Term bias_add(Weaver& w) {
  const Term sum = w.step(kAdd, w.type(0), {w.in(0), w.in(1)});
  return w.step(kAdd, w.type(0), {sum, w.in(2)});
}

bool is_code(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16;
}
bool is_short_real(Type type) { return is_half(type) || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }

// The type of x / scale.
Type quotient_type(const Node& node) {
  const auto precision = Type(node.integer("precision", 0));
  return precision ? precision : node.in[1]->type;
}
std::string scales_refuse(const Node& node) {
  if (node.integer("block_size", 0)) return text("block_size is ", node.integer("block_size", 0), ", wanted 0");
  if (!is_short_real(node.in[1]->type)) return text("the scale is ", name_of(node.in[1]->type));
  return "";
}
// A float8 has no zero point: one that is given must be 0.
std::string zero_refuses(const Node& node) {
  const Value* zero = node.input(2);
  if (!zero) return "";
  if (!zero->constant) return "the zero point of float8 is not a constant";
  const TensorView view = view_of(zero->constant);
  const auto* bytes = static_cast<const uint8_t*>(view.data);
  return std::all_of(bytes, bytes + view.bytes(), [](uint8_t b) { return (b & 0x7f) == 0; })
             ? ""
             : "the zero point of float8 is not 0";
}
std::string quantize_refuses(const Node& node) {
  const Type x = node.in[0]->type;
  if (is_float8(node.out[0]->type)) {
    const std::string why = zero_refuses(node);
    if (!why.empty()) return why;
  } else if (!is_code(node.out[0]->type))
    return text("the output is ", name_of(node.out[0]->type), ", not of 8 or 16 bits");
  if (!is_short_real(x) && x != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32) return text("its input is ", name_of(x));
  if (!is_short_real(quotient_type(node))) return "its precision is not a floating-point type of up to 32 bits";
  return scales_refuse(node);
}
std::string dequantize_refuses(const Node& node) {
  const Type x = node.in[0]->type;
  if (is_float8(x)) {
    const std::string why = zero_refuses(node);
    if (!why.empty()) return why;
  } else if (!is_code(x) && x != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32) {
    return text("its input is ", name_of(x));
  }
  if (!is_short_real(node.out[0]->type)) return text("its output is ", name_of(node.out[0]->type));
  return scales_refuse(node);
}
Term quantize(Weaver& w) {
  const Term x = w.in(0);
  const int64_t axis = w.node().integer("axis", 1);
  const Type type = w.node().out[0]->type, precision = quotient_type(w.node());
  std::string quotient = "float($0) / $1";
  if (is_half(precision)) {
    const auto rounded = [&](const std::string& v) { return text_of_conversion(precision, v); };
    quotient = rounded(rounded("$0") + " / " + rounded("$1"));
  }
  std::vector<Term> arguments{x, w.in(1, Form::on_axis, axis, x)};
  if (is_float8(type))
    return w.step(text_of_conversion(type, quotient, w.node().integer("saturate", 1) != 0), type, arguments, 10);
  std::string zero = constant_text(type, 0);
  if (w.node().input(2)) {
    arguments.push_back(w.in(2, Form::on_axis, axis, x));
    zero = "$2";
  }
  return w.step("op::quantize<" + computed_type(type) + ">(" + quotient + ", " + zero + ")", type, arguments, 10);
}
Term dequantize(Weaver& w) {
  const Term x = w.in(0);
  const int64_t axis = w.node().integer("axis", 1);
  std::vector<Term> arguments{x, w.in(1, Form::on_axis, axis, x)};
  if (is_float8(w.type(0))) {
    const Type to = w.node().out[0]->type;
    return w.step(to == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT ? "$0 * $1" : text_of_conversion(to, "$0 * $1"), to,
                  arguments, 2);
  }
  std::string zero = constant_text(w.type(0), 0);
  if (w.node().input(2)) {
    arguments.push_back(w.in(2, Form::on_axis, axis, x));
    zero = "$2";
  }
  return w.step("op::dequantize($0, " + zero + ", $1)", w.node().out[0]->type, arguments, 3);
}

using Rules = std::map<std::pair<std::string, std::string>, Rule>;
constexpr const char* kMs = "com.microsoft";

void add_arithmetic(Rules& r) {
  for (const char* name : {"LeakyRelu",   "Elu",       "Selu",  "Celu",       "Sigmoid",  "Tanh",
                           "HardSigmoid", "HardSwish", "Mish",  "Softplus",   "Softsign", "ThresholdedRelu",
                           "Shrink",      "Gelu",      "Swish", "Reciprocal", "Round",    "Exp",
                           "Log",         "Sqrt",      "Erf",   "Floor",      "Ceil",     "Sin",
                           "Cos",         "Tan",       "Asin",  "Acos",       "Atan",     "Sinh",
                           "Cosh",        "Asinh",     "Acosh", "Atanh",      "Affine",   "ScaledTanh"})
    r[{"", name}] = {reals, function};
  r[{kMs, "Gelu"}] = r[{kMs, "QuickGelu"}] = {reals, function};
  r[{kMs, "FastGelu"}] = r[{kMs, "BiasGelu"}] = {reals, biased_gelu};
  r[{kMs, "BiasAdd"}] = {reals, bias_add};
  for (const char* name : {"Neg", "Abs", "Relu", "Sign"}) r[{"", name}] = {numbers, number_function};
  r[{"", "Add"}] = {numbers, binary<kAdd>};
  r[{"", "Sub"}] = {numbers, binary<kSub>};
  r[{"", "Mul"}] = {numbers, binary<kMul>};
  r[{"", "Div"}] = {numbers, binary<kDiv, 4>};
  r[{"", "Mod"}] = {numbers, modulo};
  r[{"", "Pow"}] = {numbers, power};
  r[{"", "PRelu"}] = {numbers, prelu};
  r[{"", "Clip"}] = {clip_refuses, clip};
  r[{"", "Max"}] = {numbers, chain<kMax>};
  r[{"", "Min"}] = {numbers, chain<kMin>};
  r[{"", "Sum"}] = {numbers, chain<kAdd>};
  r[{"", "Mean"}] = {reals, mean};
}

void add_logic(Rules& r) {
  r[{"", "Equal"}] = {any, relation<kEqual>};
  r[{"", "Less"}] = {any, relation<kLess>};
  r[{"", "Greater"}] = {any, relation<kGreater>};
  r[{"", "LessOrEqual"}] = {any, relation<kLessEqual>};
  r[{"", "GreaterOrEqual"}] = {any, relation<kGreaterEqual>};
  r[{"", "And"}] = {bools, relation<kAnd>};
  r[{"", "Or"}] = {bools, relation<kOr>};
  r[{"", "Xor"}] = {bools, relation<kXor>};
  r[{"", "Not"}] = {bools, logical_not};
  r[{"", "BitwiseAnd"}] = {integers, binary<kBitAnd>};
  r[{"", "BitwiseOr"}] = {integers, binary<kBitOr>};
  r[{"", "BitwiseXor"}] = {integers, binary<kBitXor>};
  r[{"", "BitwiseNot"}] = {integers, bitwise_not};
  r[{"", "BitShift"}] = {integers, shift};
  r[{"", "IsNaN"}] = {reals, is_nan};
  r[{"", "IsInf"}] = {reals, is_infinite};
  r[{"", "Where"}] = {bools, where};
  r[{"", "Cast"}] = r[{"", "CastLike"}] = {any, cast};
  for (const char* domain : {"", kMs}) {
    r[{domain, "QuantizeLinear"}] = {quantize_refuses, quantize};
    r[{domain, "DequantizeLinear"}] = {dequantize_refuses, dequantize};
  }
}

}  // namespace

const Rules& elementwise_rules() {
  static const Rules& all = *[] {
    auto* const made = new Rules;
    add_arithmetic(*made);
    add_logic(*made);
    return made;
  }();
  return all;
}

std::string elementwise_refuses(const Node& node) {
  const auto rule = elementwise_rules().find({node.domain, node.type});
  if (rule == elementwise_rules().end()) return "no elementwise operator";
  if (node.in.empty() || !node.in[0] || node.out.empty() || !node.out[0]) return "its first input or output is omitted";
  if (node.in.size() > 40) return text("it has ", node.in.size(), " inputs; at most 40");
  for (const auto* list : {&node.in, &node.out}) {
    for (const Value* v : *list) {
      if (v && !is_computable(v->type)) return text("'", v->name, "' is ", name_of(v->type));
      if (v && v->rank() > 8) return text("'", v->name, "' has ", v->rank(), " axes; at most 8");
    }
  }
  if (node.has("broadcast") || node.has("consumed_inputs")) return "its form is from before opset 7";
  return rule->second.refuses(node);
}

bool is_placed(const Node& node, size_t i) {
  if (node.type == "QuantizeLinear" || node.type == "DequantizeLinear") return i > 0;
  if (node.type == "PRelu" && node.since < 7) return i > 0;
  return node.type == "Clip" && i > 0;
}

}  // namespace providers::cuda
