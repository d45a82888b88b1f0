// Derivatives of reductions, and of GlobalAveragePool.
#include "lift/gradient/backward.h"

namespace retort::gradient {
namespace {

/// `t`, which has the shape of the output, with the axes that the node has removed.
Term with_axes(Backward& b, Term t) {
  const bool keeps = b.attribute("keepdims", int64_t(1)) == 1;
  if (keeps || !b.has(1)) return t;  // a scalar broadcasts to any shape
  const ValueType& axes = b.type(b.x(1));
  const bool none = axes.ranked && axes.rank() == 1 && axes.shape[0] == 0;
  return none ? t : b.call("Unsqueeze", {t, b.x(1)});
}

Term spread(Backward& b, Term t) { return b.call("Expand", {t, b.shape(b.x())}); }
Term dy(Backward& b) { return with_axes(b, b.dy()); }
Term y(Backward& b) { return with_axes(b, b.y()); }

void sum(Backward& b) { b.give(0, spread(b, dy(b))); }

void reduce_mean(Backward& b) {
  const Term count = b.call("Div", {b.call("Size", {b.x()}), b.call("Size", {b.y()})});
  b.give(0, spread(b, dy(b) / b.call("CastLike", {count, b.dy()})));
}

void sum_square(Backward& b) { b.give(0, b.x() * dy(b) * 2.0); }
void l1(Backward& b) { b.give(0, b.call("Sign", {b.x()}) * dy(b)); }

// At the origin, where there is no derivative, 0 is one of the subgradients.
void l2(Backward& b) {
  const Term length = y(b), zero = b.number(0, length);
  const Term inverse = b.call("Where", {b.call("Equal", {length, zero}), zero, b.call("Reciprocal", {length})});
  b.give(0, b.x() * (dy(b) * inverse));
}

void log_sum(Backward& b) { b.give(0, spread(b, dy(b) / b.call("Exp", {y(b)}))); }
void log_sum_exp(Backward& b) { b.give(0, b.call("Exp", {b.x() - y(b)}) * dy(b)); }

// Elements that are equally large or small share the derivative.
void reduce_extreme(Backward& b) {
  const Term one = b.number(1, b.x()), zero = b.number(0, b.x());
  const Term chosen = b.call("Where", {b.call("Equal", {b.x(), y(b)}), one, zero});
  std::vector<Term> inputs{chosen};
  if (b.has(1)) inputs.push_back(b.x(1));
  const int64_t noop = b.attribute("noop_with_empty_axes", int64_t(0));
  const Term count =
      b.call("ReduceSum", inputs, {{"keepdims", b.attribute("keepdims", int64_t(1))}, {"noop_with_empty_axes", noop}});
  b.give(0, chosen * with_axes(b, b.dy() / count));
}

constexpr GradientRule kReductionRules[] = {
    {"GlobalAveragePool", reduce_mean},
    {"ReduceL1", l1},
    {"ReduceL2", l2},
    {"ReduceLogSum", log_sum},
    {"ReduceLogSumExp", log_sum_exp},
    {"ReduceMax", reduce_extreme},
    {"ReduceMean", reduce_mean},
    {"ReduceMin", reduce_extreme},
    {"ReduceSum", sum},
    {"ReduceSumSquare", sum_square},
};

}  // namespace

constinit const GradientRules kReductionGradients{kReductionRules};

}  // namespace retort::gradient
