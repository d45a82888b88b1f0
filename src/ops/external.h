// Operators that somebody outside of the engine's own list implements: custom operators of a caller, what a provider has
// compiled, copies between memories.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/op.h"

namespace retort {

/// The provider of the engine's own operators, as callers know it; every other one is a plug-in.
inline constexpr const char* kCpuProvider = "CPUExecutionProvider";

/// A node of such an operator, as the model has it.
struct ExternalNode {
  std::string name, domain, type;
  int version = 0;  ///< that the model imports for the domain
  Attributes attributes;
  std::vector<std::string> inputs, outputs;  ///< names of values; empty for omitted ones
  std::shared_ptr<const DimTable> dims;      ///< of the symbols in types
};

/// An output that lies over an input: always, so that nobody copies what stays as it is, or where nobody needs the input
/// afterwards.
struct OutputAlias {
  size_t output = 0, input = 0;
  bool always = false;
  Tensor constant = {};  ///< in place of an input, and always
};

/// Thread-safe; lives as long as any session that uses it.
class ExternalOp {
 public:
  virtual ~ExternalOp() = default;
  virtual std::string domain() const = 0;
  virtual std::string type() const = 0;
  /// Whether it means nodes of models that import this version of the domain.
  virtual bool covers(int version) const = 0;
  /// The version of the domain that brought it.
  virtual int first_version() const { return 1; }
  /// Checks the inputs and sets what is known of the outputs; at least their element types, or nothing where only the kernel
  /// can tell.
  virtual void infer(const ExternalNode& node, InferContext& context) const = 0;
  /// Once per session and node.
  virtual std::unique_ptr<State> prepare(const ExternalNode& node, PrepareContext& context) const = 0;
  /// Makes the outputs by RunContext::allocate() and set_value(). Runs of one session may be concurrent.
  virtual void run(const ExternalNode& node, RunContext& context) const = 0;
  /// Where it reads input `i`, and makes output `i`.
  virtual MemorySpace input_space(size_t) const { return {}; }
  virtual MemorySpace output_space(size_t) const { return {}; }
  /// Whether output `output` may lie over input `input`, of the same type and shape, which nobody needs afterwards.
  virtual bool may_replace(size_t /*output*/, size_t /*input*/) const { return false; }
  /// Which of its outputs are to lie over an input, whose type, size and memory they have; the first that can be. An output of
  /// the graph has memory of its own.
  virtual std::span<const OutputAlias> aliases() const { return {}; }
  /// Those of them that can be in a plan, for the state that prepare() made.
  virtual void grant(State&, std::vector<OutputAlias>) const {}
  /// Whether its one output is its one input, in another memory.
  virtual bool is_copy() const { return false; }
  /// Who runs it, for profiles.
  virtual std::string provider() const { return kCpuProvider; }
};

/// What a session looks for before it takes an operator of its own.
class ExternalOps {
 public:
  void add(std::shared_ptr<const ExternalOp> op) { all_.push_back(std::move(op)); }
  bool empty() const { return all_.empty(); }
  /// Null: there is none. The one that was added first wins. Throws fail where the operator is there in other
  /// versions only.
  std::shared_ptr<const ExternalOp> find(std::string_view domain, std::string_view type, int version) const;

 private:
  std::vector<std::shared_ptr<const ExternalOp>> all_;
};

/// Makes `node` one that `op` implements, of the version that brought it; its values are those of `graph`.
void resolve_external(const Graph& graph, Node& node, std::shared_ptr<const ExternalOp> op);
/// Null for a node of the engine's own operators.
const ExternalOp* external_op(const Node& node);
/// The same from what the node became in a plan.
const ExternalOp* external_op(const OpDef& op, const void* params);

}  // namespace retort
