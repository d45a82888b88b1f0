// Reverse-mode differentiation of a lifted graph. A rule for one operator adds nodes that compute the derivatives by
// its inputs from those by its outputs. All derivatives are those of one number: of y, or of the sum of its elements.
#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lift/rewriter.h"

namespace retort::gradient {

class Backward;

/// A value in a formula. Arithmetic broadcasts and adds nodes; a number becomes a scalar of the other operand's type.
struct Term {
  Backward* in = nullptr;
  ValueId id = ValueId::none;
};
Term operator+(Term a, Term b);
Term operator-(Term a, Term b);
Term operator*(Term a, Term b);
Term operator/(Term a, Term b);
Term operator+(Term a, double b);
Term operator-(Term a, double b);
Term operator*(Term a, double b);
Term operator/(Term a, double b);
Term operator-(double a, Term b);

/// The derivatives of y by all values that depend on xs, and the node that a rule is being applied to.
class Backward {
 public:
  explicit Backward(Rewriter& rewriter) : r_(rewriter) {}

  /// Adds the derivatives of `y` by every value that depends on `xs`. `nodes` compute y, every producer before its
  /// consumers. Throws not_implemented naming an operator that has no rule.
  void run(ValueId y, std::span<const ValueId> xs, std::span<const NodeId> nodes);
  /// After run(): the derivative by `x`, of the shape of x.
  ValueId derivative(ValueId x);

  // For rules: the node.
  size_t inputs() const { return node_.inputs.size(); }
  size_t outputs() const { return node_.outputs.size(); }
  bool has(size_t i) const { return node_.input(i) != ValueId::none; }
  Term x(size_t i = 0) { return {this, node_.input(i)}; }
  Term y(size_t i = 0) { return {this, node_.outputs[i]}; }
  /// The derivative by output i; without an id if there is none.
  Term dy(size_t i = 0);
  const Attributes& attributes() const { return node_.attributes; }
  template <typename T>
  T attribute(std::string_view name, T otherwise) const {
    return node_.attributes.get_or<T>(name, otherwise);
  }
  /// Whether the derivative by input i is needed.
  bool wants(size_t i) const { return has(i) && active_.contains(node_.inputs[i]); }
  /// Adds to the derivative by input i, which must have its shape.
  void give(size_t i, Term part);
  /// The same node, with input 0 replaced.
  std::vector<Term> again(Term input);

  // For rules: formulas.
  Term call(const char* type, const std::vector<Term>& inputs, Attributes attributes = {});
  Term ints(const std::vector<int64_t>& values) { return {this, r_.constant(values)}; }
  Term index(int64_t value) { return {this, r_.constant(Tensor::of<int64_t>({}, {value}))}; }
  /// A scalar of the type of `like`.
  Term number(double value, Term like);
  const ValueType& type(Term t) const { return r_.graph().value(t.id).type; }
  /// Throws not_implemented if it is unknown.
  size_t rank(Term t) const;
  Term shape(Term t) { return call("Shape", {t}); }
  /// Extents of axes [begin, end) as a vector.
  Term extents(Term t, int64_t begin, int64_t end) { return call("Shape", {t}, {{"start", begin}, {"end", end}}); }
  Term reshaped(Term t, Term shape) { return call("Reshape", {t, shape}, {{"allowzero", int64_t(1)}}); }
  Term transposed(Term t, std::vector<int64_t> perm) { return call("Transpose", {t}, {{"perm", std::move(perm)}}); }
  /// `value` in the shape of `like`, of its type.
  Term filled(double value, Term like);
  /// Sums over the axes along which `t` was broadcast from the shape of `like`.
  Term summed_to(Term t, Term like);

 private:
  void find_active(std::span<const ValueId> xs, std::span<const NodeId> nodes);
  bool is_float(ValueId id) const;
  void turn(NodeId id);
  void accumulate(ValueId id, ValueId part);

  Rewriter& r_;
  Node node_;  ///< a copy, since adding nodes moves those of the graph
  std::set<ValueId> active_;
  std::map<ValueId, ValueId> derivatives_;
};

struct GradientRule {
  std::string_view type;
  void (*apply)(Backward& b);
};
using GradientRules = std::span<const GradientRule>;
extern const GradientRules kElementwiseGradients, kProductGradients, kConvolutionGradients, kReductionGradients,
    kMovementGradients;

}  // namespace retort::gradient
