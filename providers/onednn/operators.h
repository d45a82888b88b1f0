// The operators that the provider runs: when a node may be claimed, and what it becomes.
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
  bool moves = false;  ///< only looks at data in another way: no reason to make a part
  bool many = false;   ///< may have several results
  bool first = false;  ///< reads its first input at runs; `make` has read the others, which are constant
};
using Rules = std::vector<Rule>;

// By families, each in a file of its own.
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

/// The rule of a node that may be claimed; null for others.
const Rule* rule_for(const Node& node);
std::set<std::string> operator_names();

/// Whether all inputs and outputs are float32 of known rank, from `least` to `most` dimensions for the first input.
bool floats(const Node& node, size_t least = 1, size_t most = 6);
/// Whether input `i` is there and no run can change it.
bool is_constant(const Node& node, size_t i);
/// Its integers or numbers; the input must be constant.
std::vector<int64_t> constant_integers(const Node& node, size_t i);
float constant_number(const Node& node, size_t i, float otherwise);

/// Functions one after the other.
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

/// The error function; only here to become a part of Gelu where it can.
class Erf : public Operation {
 public:
  void build(Builder& b) const override;
};

/// y = (x - mean) / sqrt(variance + epsilon) * scale + shift, for each channel; inputs x, scale, shift, mean, variance.
class BatchNorm : public Operation {
 public:
  explicit BatchNorm(float e) : epsilon(e) {}
  void build(Builder& b) const override;
  const float epsilon;
};

/// The post-operations that a primitive can take, and what is left.
class Posts {
 public:
  /// `dims` are those of the result.
  Posts(const Builder& b, const Operation& op, const Dims& dims);
  const dnnl::post_ops& ops() const { return ops_; }
  /// Memory for the result: that of the value to be added, or new.
  Tensor target(Builder& b, const Dims& dims, const Desc& desc) const;
  /// Steps for what the primitive did not take.
  Tensor rest(Builder& b, Tensor t) const { return steps(b, op_, t, taken_); }
  /// Steps for those from number `first` on.
  static Tensor steps(Builder& b, const Operation& op, Tensor t, size_t first);

 private:
  const Operation& op_;
  dnnl::post_ops ops_;
  size_t taken_ = 0;
  int addend_ = -1;
};

}  // namespace onednn
