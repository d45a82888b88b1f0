// Operators that are not in the engine's own list: custom operators of a caller, compiled parts of a provider, copies
// between memories.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/op.h"

namespace retort {

/// The provider of the engine's own operators, as callers know it; every other one is a plug-in.
inline constexpr const char* kCpuProvider = "CPUExecutionProvider";

/// A node of such an operator, as it is in the model.
struct ExternalNode {
  std::string name, domain, type;
  int version = 0;  ///< the version of the domain that the model imports
  Attributes attributes;
  std::vector<std::string> inputs, outputs;  ///< names of values; empty for omitted ones
  std::shared_ptr<const DimTable> dims;      ///< has the symbols in types
};

/// An output in the memory of an input: either always, so that an unchanged tensor is not copied, or if nothing reads
/// the input afterwards.
struct OutputAlias {
  size_t output = 0, input = 0;
  bool always = false;
  Tensor constant = {};  ///< replaces the input; the alias then always applies
};

/// Thread-safe. Lives as long as any session that uses it.
class ExternalOp {
 public:
  virtual ~ExternalOp() = default;
  virtual std::string domain() const = 0;
  virtual std::string type() const = 0;
  /// Whether it implements nodes of models that import this version of the domain.
  virtual bool covers(int version) const = 0;
  /// The version of the domain that introduced it.
  virtual int first_version() const { return 1; }
  /// Checks the inputs and sets what is known about the outputs: at least their element types, or nothing if only the
  /// kernel can determine them.
  virtual void infer(const ExternalNode& node, InferContext& context) const = 0;
  /// Called once per session and node.
  virtual std::unique_ptr<State> prepare(const ExternalNode& node, PrepareContext& context) const = 0;
  /// Allocates the outputs by RunContext::allocate() and set_value(). Runs of one session may be concurrent.
  virtual void run(const ExternalNode& node, RunContext& context) const = 0;
  /// The memory in which it reads input `i` or writes output `i`.
  virtual MemorySpace input_space(size_t) const { return {}; }
  virtual MemorySpace output_space(size_t) const { return {}; }
  /// Whether output `output` may overwrite input `input`, of the same type and shape, if nothing reads it afterwards.
  virtual bool may_replace(size_t /*output*/, size_t /*input*/) const { return false; }
  /// The outputs that should lie in the memory of an input, which has their type and size; the first possible alias of
  /// an output is used. An output of the graph has memory of its own.
  virtual std::span<const OutputAlias> aliases() const { return {}; }
  /// Passes the aliases that apply in a plan to the state that prepare() made.
  virtual void grant(State&, std::vector<OutputAlias>) const {}
  /// Whether its one output is a copy of its one input in another memory.
  virtual bool is_copy() const { return false; }
  /// The provider that runs it, for profiles.
  virtual std::string provider() const { return kCpuProvider; }
};

/// The operators that a session searches before the engine's own.
class ExternalOps {
 public:
  void add(std::shared_ptr<const ExternalOp> op) { all_.push_back(std::move(op)); }
  bool empty() const { return all_.empty(); }
  /// Null if there is none. The operator that was added first wins. Throws fail if the operator exists only in other
  /// versions.
  std::shared_ptr<const ExternalOp> find(std::string_view domain, std::string_view type, int version) const;

 private:
  std::vector<std::shared_ptr<const ExternalOp>> all_;
};

/// Makes `node` a node of `op`, in the version that introduced it; its values are those of `graph`.
void resolve_external(const Graph& graph, Node& node, std::shared_ptr<const ExternalOp> op);
/// Null for a node of the engine's own operators.
const ExternalOp* external_op(const Node& node);
/// The same for a node in a plan.
const ExternalOp* external_op(const OpDef& op, const void* params);

}  // namespace retort
