// Expressions of elementwise operators. Nodes are woven into one expression, and an operator runs it by as few generated
// kernels as the shapes allow.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/core/operators.h"

namespace providers::cuda {

/// A number of a value in an expression: a step if it is not negative, else source ~number.
using Term = int;

/// An input of an expression.
struct Source {
  enum class Form {
    broadcast,  ///< by the rules of ONNX
    scalar,     ///< one element, of any rank
    on_axis     ///< one element, or one per index along `axis` of `like`
  };
  int in = -1;  ///< input of the operator
  Type type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Form form = Form::broadcast;
  int64_t axis = 0;
  Term like = 0;
};

/// An operation of an expression.
struct Step {
  std::string text;  ///< "op::add($0, $1)", in the types in which kernels compute
  Type type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<Term> arguments;
  int cost = 1;        ///< roughly the instructions of one element
  bool power = false;  ///< $0 to the power of $1, which has other texts for some exponents
};

struct Expression {
  std::vector<Source> sources;
  std::vector<Step> steps;   ///< after the steps that they read
  std::vector<int> results;  ///< the step of each output of the operator
};

/// Whether kernels can read, compute and store the type.
bool is_computable(Type type);
bool is_real_type(Type type);
bool is_float8(Type type);        ///< e4m3fn or e5m2, which are also real types
bool is_integer_type(Type type);  ///< bool is none
/// "float" for floating-point types but double, otherwise the type itself.
std::string computed_type(Type type);
/// "float" -> "(3.0f)", "i64" -> "i64(3)", in the type in which `type` is computed.
std::string constant_text(Type type, double value);
/// A number that is converted to the type: "op::To<f16>::of($0)". `saturates`: numbers that are too large for a float8
/// become the greatest one.
std::string text_of_conversion(Type to, const std::string& number, bool saturates = true);

/// Puts nodes together to one expression.
class Weaver {
 public:
  /// Nodes come after those whose results they read.
  void add(const Node& node);

  // For the rule of the node that is added.
  const Node& node() const { return *node_; }
  Type type(size_t i) const { return node_->in[i]->type; }
  Term in(size_t i, Source::Form form = Source::Form::broadcast, int64_t axis = 0, Term like = 0);
  Term step(std::string text, Type type, std::vector<Term> arguments, int cost = 1);
  Term power(Term base, Term exponent, Type type);

  /// Inputs of the expression so far.
  size_t inputs() const { return inputs_.size(); }
  /// The operator, whose outputs are these values. The weaver is empty afterwards.
  std::unique_ptr<Op> finish(const std::vector<const Value*>& outputs, const std::string& who, Builder& builder);

 private:
  const Node* node_ = nullptr;
  Expression expression_;
  std::vector<const Value*> inputs_;
  std::map<const Value*, Term> made_;
  std::map<std::tuple<const Value*, Source::Form, int64_t, Term>, Term> sources_;
};

/// How a type of node becomes steps.
struct Rule {
  std::string (*refuses)(const Node& node);
  Term (*weave)(Weaver& w);
};
/// By domain and type; elementwise_rules.cc.
const std::map<std::pair<std::string, std::string>, Rule>& elementwise_rules();
/// Why the node cannot be woven: "no elementwise operator" for those without a rule.
std::string elementwise_refuses(const Node& node);
/// Whether input `i` has another form than Form::broadcast, so that the value must come from outside of an expression.
bool is_placed(const Node& node, size_t i);

/// How the elements of a loop read an operand.
enum class Access {
  flat,       ///< the same index as the loop
  uniform,    ///< one element
  parameter,  ///< one element, which the host knows
  row,        ///< vectors of neighbours
  shared,     ///< one element for a vector
  each        ///< one index per element
};

/// What the text of a kernel depends on. Two equal ones have equal texts.
struct Loop {
  struct Operand {
    Term term = 0;  ///< the source or step that it has the elements of
    Type type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    Access access = Access::flat;
  };
  std::vector<Operand> operands;
  std::vector<int> steps;           ///< in order
  std::vector<int> results;         ///< steps
  std::map<int, double> exponents;  ///< of steps with `power`
  int rank = 0;                     ///< axes, if an operand is `row`, `shared` or `each`
  int elements = 1;                 ///< of a vector
  int vectors = 1;                  ///< of a thread
  bool large = false;               ///< indices need 64 bits
  bool divided = false;             ///< the last axis is one of whole vectors
};
/// The kernel `elementwise`: operands, results, count (long long), and if rank > 0 the axes and the strides of each
/// operand that needs them; elementwise_text.cc.
std::string loop_text(const Expression& expression, const Loop& loop);

/// An operator that runs an expression; elementwise_op.cc.
std::unique_ptr<Op> make_elementwise(Expression expression);

}  // namespace providers::cuda
