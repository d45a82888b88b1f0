// ai.onnx.preview.training: a step of Adagrad, Adam or Momentum for any number of tensors, as arithmetic of ai.onnx.
// Inputs are the learning rate R, the number T of steps so far, and for n tensors n values X, n gradients G and their
// states.
#include "base/error.h"
#include "lift/expect.h"

namespace retort {
namespace {

/// Builds the arithmetic. Numbers have the type of the tensor that they are combined with.
class Step {
 public:
  explicit Step(Rewriter& r) : r_(r) {}

  ValueId binary(const char* type, ValueId a, ValueId b) { return r_.add({.type = type, .inputs = {a, b}}); }
  /// A number in the type of `x`.
  ValueId constant(ValueId x, double value) { return r_.constant(float_scalar(r_.type_of(x).dtype, float(value))); }
  ValueId with(const char* type, ValueId a, double b) { return binary(type, a, constant(a, b)); }
  ValueId root(ValueId a) { return r_.add({.type = "Sqrt", .inputs = {a}}); }
  /// factor · a + b
  ValueId blend(double factor, ValueId a, ValueId b) { return binary("Add", with("Mul", a, factor), b); }
  /// A scalar of inputs 0 or 1 in the type of `x`.
  ValueId number(size_t input, ValueId x) { return r_.add({.type = "CastLike", .inputs = {r_.input(input), x}}); }
  /// The scalar a if T > 0, else the scalar b.
  ValueId after_first(ValueId a, ValueId b) {
    const ValueId zero = r_.constant(Tensor::of<int64_t>({}, {0}));
    return r_.add({.type = "Where", .inputs = {binary("Greater", r_.input(1), zero), a, b}});
  }
  float attribute(const char* name, float otherwise) { return r_.attributes().get_or<float>(name, otherwise); }

 private:
  Rewriter& r_;
};

/// The number of tensors, each of which has `kinds` inputs of one shape. R and T are scalars.
size_t tensors(Rewriter& r, size_t kinds) {
  const size_t inputs = r.node().inputs.size(), count = inputs > 2 ? (inputs - 2) / kinds : 0;
  require(count > 0 && inputs == 2 + count * kinds, ErrorCode::invalid_graph,
          "{} inputs; expected 2 and {} for each tensor", inputs, kinds);
  require(r.node().outputs.size() <= count * (kinds - 1), ErrorCode::invalid_graph, "{} outputs, {} are made",
          r.node().outputs.size(), count * (kinds - 1));
  const ValueId scalar = r.constant(Tensor::of<int64_t>({}, {0}));
  for (size_t i = 0; i < inputs; ++i) {
    const ValueId like = i < 2 ? scalar : r.input(2 + (i - 2) % count);
    r.set_input(i, expect(r, r.input(i), cat("input {}", i), like));
  }
  return count;
}

/// norm_coefficient · X + G
ValueId regular_gradient(Rewriter& r, Step& s, ValueId x, ValueId gradient) {
  const float norm = r.attributes().get_or<float>("norm_coefficient", 0);
  return norm == 0 ? gradient : s.blend(norm, x, gradient);
}

void adagrad(Rewriter& r) {
  const size_t n = tensors(r, 3);
  Step s(r);
  for (size_t i = 0; i < n; ++i) {
    const ValueId x = r.input(2 + i), gradient = regular_gradient(r, s, x, r.input(2 + n + i));
    const ValueId decay = s.with("Add", s.with("Mul", s.number(1, x), s.attribute("decay_factor", 0)), 1);
    const ValueId rate = s.binary("Div", s.number(0, x), decay);
    const ValueId state = s.binary("Add", r.input(2 + 2 * n + i), s.binary("Mul", gradient, gradient));
    const ValueId scale = s.with("Add", s.root(state), s.attribute("epsilon", 0));
    const ValueId change = s.binary("Div", s.binary("Mul", rate, gradient), scale);
    r.replace_output(i, s.binary("Sub", x, change));
    r.replace_output(n + i, state);
  }
  r.remove();
}

// The rate times sqrt(1 - beta^T) / (1 - alpha^T), from the second step on.
ValueId adam_rate(Step& s, ValueId x, float alpha, float beta) {
  const ValueId rate = s.number(0, x), steps = s.number(1, x);
  const auto rest = [&](float base) {  // 1 - base^T
    return s.binary("Sub", s.constant(x, 1), s.binary("Pow", s.constant(x, base), steps));
  };
  const ValueId adjusted = s.binary("Div", s.binary("Mul", rate, s.root(rest(beta))), rest(alpha));
  return s.after_first(adjusted, rate);
}

void adam(Rewriter& r) {
  const size_t n = tensors(r, 4);
  Step s(r);
  const float alpha = s.attribute("alpha", 0.9f), beta = s.attribute("beta", 0.999f);
  const float post = s.attribute("norm_coefficient_post", 0);
  for (size_t i = 0; i < n; ++i) {
    const ValueId x = r.input(2 + i), gradient = regular_gradient(r, s, x, r.input(2 + n + i));
    const ValueId mean = s.blend(alpha, r.input(2 + 2 * n + i), s.with("Mul", gradient, 1 - alpha));
    const ValueId square = s.with("Mul", s.binary("Mul", gradient, gradient), 1 - beta);
    const ValueId state = s.blend(beta, r.input(2 + 3 * n + i), square);
    const ValueId scale = s.with("Add", s.root(state), s.attribute("epsilon", 1e-6f));
    const ValueId change = s.binary("Div", s.binary("Mul", adam_rate(s, x, alpha, beta), mean), scale);
    ValueId y = s.binary("Sub", x, change);
    if (post != 0) y = s.with("Mul", y, 1 - post);
    r.replace_output(i, y);
    r.replace_output(n + i, mean);
    r.replace_output(2 * n + i, state);
  }
  r.remove();
}

void momentum(Rewriter& r) {
  const size_t n = tensors(r, 3);
  Step s(r);
  const auto mode = r.attributes().get_or<std::string>("mode", "");
  require(mode == "standard" || mode == "nesterov", ErrorCode::invalid_argument,
          "mode \"{}\" is neither standard nor nesterov", mode);
  const float alpha = s.attribute("alpha", 0);
  for (size_t i = 0; i < n; ++i) {
    const ValueId x = r.input(2 + i), gradient = regular_gradient(r, s, x, r.input(2 + n + i));
    const ValueId weight = s.after_first(s.constant(x, s.attribute("beta", 0)), s.constant(x, 1));
    const ValueId velocity = s.blend(alpha, r.input(2 + 2 * n + i), s.binary("Mul", weight, gradient));
    const ValueId direction = mode == "standard" ? velocity : s.blend(alpha, velocity, gradient);
    r.replace_output(i, s.binary("Sub", x, s.binary("Mul", s.number(0, x), direction)));
    r.replace_output(n + i, velocity);
  }
  r.remove();
}

constexpr std::string_view kTraining = "ai.onnx.preview.training";
constexpr LiftRule kOptimizerRules[] = {{"Adagrad", kAlways, adagrad, kTraining},
                                        {"Adam", kAlways, adam, kTraining},
                                        {"Momentum", kAlways, momentum, kTraining}};

}  // namespace

extern const LiftRules lift_optimizers;
constinit const LiftRules lift_optimizers{kOptimizerRules};

}  // namespace retort
