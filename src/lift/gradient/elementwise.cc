// Derivatives of elementwise operators, and of Softmax.
#include <cmath>
#include <numbers>

#include "lift/gradient/backward.h"

namespace retort::gradient {
namespace {

constexpr double kPi = std::numbers::pi;

Term zero(Term like) { return like.in->number(0, like); }
Term where(Term condition, Term a, Term b) { return a.in->call("Where", {condition, a, b}); }
Term less(Term a, double b) { return a.in->call("Less", {a, a.in->number(b, a)}); }
Term greater(Term a, double b) { return a.in->call("Greater", {a, a.in->number(b, a)}); }
Term f(const char* type, Term x) { return x.in->call(type, {x}); }
Term square(Term x) { return x * x; }
Term negated(Term x) { return f("Neg", x); }
/// 1 or 0, of the type of `a`.
Term is_equal(Term a, Term b) { return where(a.in->call("Equal", {a, b}), a.in->number(1, a), zero(a)); }

void no_gradient(Backward&) {}
void identity(Backward& b) { b.give(0, b.dy()); }

// The derivative of a function of one element; the rule is dy times it.
using Derivative = Term (*)(Backward& b, Term x, Term y);
template <Derivative d>
void unary(Backward& b) {
  b.give(0, b.dy() * d(b, b.x(), b.y()));
}

Term d_gelu(Backward& b, Term x, Term) {
  if (b.attribute<std::string>("approximate", "none") == "none") {
    const Term below = (f("Erf", x * std::sqrt(0.5)) + 1) * 0.5;
    return below + x * (f("Exp", square(x) * -0.5) / std::sqrt(2 * kPi));
  }
  const double scale = std::sqrt(2 / kPi), cube = 0.044715;
  const Term t = f("Tanh", (x + x * square(x) * cube) * scale);
  return (t + 1) * 0.5 + x * (1 - square(t)) * (square(x) * (3 * cube) + 1) * (0.5 * scale);
}

Term d_mish(Backward&, Term x, Term) {
  const Term t = f("Tanh", f("Softplus", x));
  return t + x * (1 - square(t)) * f("Sigmoid", x);
}

Term d_swish(Backward& b, Term x, Term) {
  const double alpha = b.attribute("alpha", 1.0f);
  const Term s = f("Sigmoid", x * alpha);
  return s + x * s * (1 - s) * alpha;
}

void relu(Backward& b) { b.give(0, where(greater(b.x(), 0), b.dy(), zero(b.dy()))); }
void leaky_relu(Backward& b) { b.give(0, where(less(b.x(), 0), b.dy() * double(b.attribute("alpha", 0.01f)), b.dy())); }
void elu(Backward& b) {
  b.give(0, where(less(b.x(), 0), b.dy() * (b.y() + double(b.attribute("alpha", 1.0f))), b.dy()));
}
void celu(Backward& b) {
  b.give(0, where(less(b.x(), 0), b.dy() * (b.y() / double(b.attribute("alpha", 1.0f)) + 1), b.dy()));
}
void selu(Backward& b) {
  const double alpha = b.attribute("alpha", 1.67326319217681884765625f),
               gamma = b.attribute("gamma", 1.05070102214813232421875f);
  b.give(0, where(greater(b.x(), 0), b.dy() * gamma, b.dy() * (b.y() + alpha * gamma)));
}
void thresholded_relu(Backward& b) {
  b.give(0, where(greater(b.x(), b.attribute("alpha", 1.0f)), b.dy(), zero(b.dy())));
}
void hard_sigmoid(Backward& b) {
  const Term slope = b.dy() * double(b.attribute("alpha", 0.2f));
  b.give(0, where(greater(b.y(), 0), where(less(b.y(), 1), slope, zero(slope)), zero(slope)));
}
void hard_swish(Backward& b) {
  const Term inner = b.dy() * (b.x() / 3 + 0.5);
  b.give(0, where(less(b.x(), -3), zero(inner), where(greater(b.x(), 3), b.dy(), inner)));
}
void clip(Backward& b) { b.give(0, where(b.call("Equal", {b.x(), b.y()}), b.dy(), zero(b.dy()))); }
void cast(Backward& b) { b.give(0, b.call("CastLike", {b.dy(), b.x()})); }

/// Gives input i the derivative `part` of the output, summed over the axes along which input i was broadcast.
void give_sum(Backward& b, size_t i, Term part) {
  if (b.wants(i)) b.give(i, b.summed_to(part, b.x(i)));
}

void add(Backward& b) {
  for (size_t i = 0; i < b.inputs(); ++i) give_sum(b, i, b.dy());
}
void sub(Backward& b) {
  give_sum(b, 0, b.dy());
  if (b.wants(1)) give_sum(b, 1, negated(b.dy()));
}
void mul(Backward& b) {
  if (b.wants(0)) give_sum(b, 0, b.dy() * b.x(1));
  if (b.wants(1)) give_sum(b, 1, b.dy() * b.x(0));
}
void div(Backward& b) {
  if (b.wants(0)) give_sum(b, 0, b.dy() / b.x(1));
  if (b.wants(1)) give_sum(b, 1, negated(b.dy() * b.y() / b.x(1)));
}
void pow(Backward& b) {
  const Term exponent = b.call("CastLike", {b.x(1), b.x(0)});
  if (b.wants(0)) give_sum(b, 0, b.dy() * exponent * b.call("Pow", {b.x(0), exponent - 1}));
  if (b.wants(1)) give_sum(b, 1, b.call("CastLike", {b.dy() * b.y() * f("Log", b.x(0)), b.x(1)}));
}
void mean(Backward& b) {
  for (size_t i = 0; i < b.inputs(); ++i) give_sum(b, i, b.dy() / double(b.inputs()));
}
// Inputs that are equally large or small share the derivative.
void extreme(Backward& b) {
  Term count = is_equal(b.y(), b.x(0));
  for (size_t i = 1; i < b.inputs(); ++i) count = count + is_equal(b.y(), b.x(i));
  for (size_t i = 0; i < b.inputs(); ++i) {
    if (b.wants(i)) give_sum(b, i, b.dy() * is_equal(b.y(), b.x(i)) / count);
  }
}
void select(Backward& b) {
  if (b.wants(1)) give_sum(b, 1, where(b.x(0), b.dy(), zero(b.dy())));
  if (b.wants(2)) give_sum(b, 2, where(b.x(0), zero(b.dy()), b.dy()));
}
void prelu(Backward& b) {
  const Term below = less(b.x(), 0);
  if (b.wants(0)) give_sum(b, 0, where(below, b.dy() * b.x(1), b.dy()));
  if (b.wants(1)) give_sum(b, 1, where(below, b.dy() * b.x(0), zero(b.dy())));
}

Term sum_along(Backward& b, Term t) { return b.call("ReduceSum", {t, b.ints({b.attribute("axis", int64_t(-1))})}); }
void softmax(Backward& b) { b.give(0, b.y() * (b.dy() - sum_along(b, b.dy() * b.y()))); }
void log_softmax(Backward& b) { b.give(0, b.dy() - f("Exp", b.y()) * sum_along(b, b.dy())); }

constexpr GradientRule kElementwiseRules[] = {
    {"Abs", unary<[](Backward&, Term x, Term) { return f("Sign", x); }>},
    {"Acos", unary<[](Backward&, Term x, Term) { return negated(f("Reciprocal", f("Sqrt", 1 - square(x)))); }>},
    {"Acosh", unary<[](Backward&, Term x, Term) { return f("Reciprocal", f("Sqrt", square(x) - 1)); }>},
    {"Add", add},
    {"Asin", unary<[](Backward&, Term x, Term) { return f("Reciprocal", f("Sqrt", 1 - square(x))); }>},
    {"Asinh", unary<[](Backward&, Term x, Term) { return f("Reciprocal", f("Sqrt", square(x) + 1)); }>},
    {"Atan", unary<[](Backward&, Term x, Term) { return f("Reciprocal", square(x) + 1); }>},
    {"Atanh", unary<[](Backward&, Term x, Term) { return f("Reciprocal", 1 - square(x)); }>},
    {"Cast", cast},
    {"CastLike", cast},
    {"Ceil", no_gradient},
    {"Celu", celu},
    {"Clip", clip},
    {"Cos", unary<[](Backward&, Term x, Term) { return negated(f("Sin", x)); }>},
    {"Cosh", unary<[](Backward&, Term x, Term) { return f("Sinh", x); }>},
    {"Div", div},
    {"Elu", elu},
    {"Erf", unary<[](Backward&, Term x, Term) { return f("Exp", negated(square(x))) * (2 / std::sqrt(kPi)); }>},
    {"Exp", unary<[](Backward&, Term, Term y) { return y; }>},
    {"Floor", no_gradient},
    {"Gelu", unary<d_gelu>},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", hard_swish},
    {"Identity", identity},
    {"LeakyRelu", leaky_relu},
    {"Log", unary<[](Backward&, Term x, Term) { return f("Reciprocal", x); }>},
    {"LogSoftmax", log_softmax},
    {"Max", extreme},
    {"Mean", mean},
    {"Min", extreme},
    {"Mish", unary<d_mish>},
    {"Mul", mul},
    {"Neg", [](Backward& b) { b.give(0, negated(b.dy())); }},
    {"PRelu", prelu},
    {"Pow", pow},
    {"Reciprocal", unary<[](Backward&, Term, Term y) { return negated(square(y)); }>},
    {"Relu", relu},
    {"Round", no_gradient},
    {"Selu", selu},
    {"Sigmoid", unary<[](Backward&, Term, Term y) { return y * (1 - y); }>},
    {"Sign", no_gradient},
    {"Sin", unary<[](Backward&, Term x, Term) { return f("Cos", x); }>},
    {"Sinh", unary<[](Backward&, Term x, Term) { return f("Cosh", x); }>},
    {"Softmax", softmax},
    {"Softplus", unary<[](Backward&, Term x, Term) { return f("Sigmoid", x); }>},
    {"Softsign", unary<[](Backward&, Term x, Term) { return f("Reciprocal", square(f("Abs", x) + 1)); }>},
    {"Sqrt", unary<[](Backward&, Term, Term y) { return f("Reciprocal", y * 2); }>},
    {"Sub", sub},
    {"Sum", add},
    {"Swish", unary<d_swish>},
    {"Tan", unary<[](Backward&, Term, Term y) { return square(y) + 1; }>},
    {"Tanh", unary<[](Backward&, Term, Term y) { return 1 - square(y); }>},
    {"ThresholdedRelu", thresholded_relu},
    {"Where", select},
};

}  // namespace

constinit const GradientRules kElementwiseGradients{kElementwiseRules};

}  // namespace retort::gradient
