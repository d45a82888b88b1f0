// The operators that the provider runs: conditions for claiming a node, and the operation that it becomes.
#pragma once
#include "builder.h"

namespace onednn {

using providers::Node;
using providers::Value;

struct Rule {
  const char* type;
  int since = 1;  ///< oldest version of the operator
  bool (*claims)(const Node& node);
  std::unique_ptr<Operation> (*make)(const Node& node);
  bool moves = false;  ///< only another view of data: alone no reason to make a part
  bool many = false;   ///< may have several results
  bool first = false;  ///< reads only its first input in runs; `make` has read the others, which are constant
};
using Rules = std::vector<Rule>;

// By families, one file each.
void add_convolutions(Rules& rules);
void add_products(Rules& rules);
void add_pools(Rules& rules);
void add_norms(Rules& rules);
void add_functions(Rules& rules);
void add_binaries(Rules& rules);
void add_moves(Rules& rules);
void add_pieces(Rules& rules);
void add_resizes(Rules& rules);
void add_quantized(Rules& rules);

/// The rule for a node that may be claimed; null for others.
const Rule* rule_for(const Node& node);
std::set<std::string> operator_names();

/// Whether all inputs and outputs are float32 of known rank, and the first input has `least` to `most` dimensions.
bool floats(const Node& node, size_t least = 1, size_t most = 6);
/// Whether input `i` exists and no run can change it.
bool is_constant(const Node& node, size_t i);
/// The integers or numbers of a constant input.
std::vector<int64_t> constant_integers(const Node& node, size_t i);
float constant_number(const Node& node, size_t i, float otherwise);

/// Applies functions one after the other.
class Eltwise : public Operation {
 public:
  explicit Eltwise(std::vector<PostOp> f) : functions(std::move(f)) {}
  void build(Builder& b) const override;
  const std::vector<PostOp> functions;
};

/// Add, Mul and so on.
class Binary : public Operation {
 public:
  explicit Binary(dnnl::algorithm f) : function(f) {}
  void build(Builder& b) const override;
  const dnnl::algorithm function;
};

/// The error function; only claimed so that it can become part of Gelu.
class Erf : public Operation {
 public:
  void build(Builder& b) const override;
};

/// y = (x - mean) / sqrt(variance + epsilon) * scale + shift, per channel; inputs x, scale, shift, mean, variance.
class BatchNorm : public Operation {
 public:
  explicit BatchNorm(float e) : epsilon(e) {}
  void build(Builder& b) const override;
  const float epsilon;
};

/// The post-operations that a primitive can take, and those that remain.
class Posts {
 public:
  /// `dims`: of the result.
  Posts(const Builder& b, const Operation& op, const Dims& dims);
  const dnnl::post_ops& ops() const { return ops_; }
  /// Memory for the result: that of the addend, or new memory.
  Tensor target(Builder& b, const Dims& dims, const Desc& desc) const;
  /// Adds steps for the post-operations that the primitive did not take.
  Tensor rest(Builder& b, Tensor t) const { return steps(b, op_, t, taken_); }
  /// Adds steps for the post-operations from number `first` on.
  static Tensor steps(Builder& b, const Operation& op, Tensor t, size_t first);

 private:
  const Operation& op_;
  dnnl::post_ops ops_;
  size_t taken_ = 0;
  int addend_ = -1;
};

}  // namespace onednn
