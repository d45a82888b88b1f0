// Execution providers, which run parts of a model in their own memory. The CPU is not one of them: it runs the nodes
// that no provider claims (cpu.h).
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/profiler.h"
#include "ep/stand_in.h"
#include "ep/stream.h"
#include "ep/transfer.h"
#include "ir/graph.h"
#include "memory/allocator.h"
#include "ops/external.h"

namespace retort {

class BodyRunner;
class RunCapture;
class Uploads;

/// Nodes that a provider asks to run as one.
struct Claim {
  std::vector<NodeId> nodes;
  std::string name;              ///< for messages and profiles; may be empty
  bool drops_constants = false;  ///< the provider keeps copies of the part's constants
  bool single = false;           ///< one node for a kernel: keeps its name, type and bodies, and all inputs
  size_t ticket = 0;             ///< the provider's own number; the partition has it again
};

/// A claim that was cut out: its graph in the model's own dialect, with constants inside; its inputs and outputs are
/// the values that the rest of the model shares with it.
struct Partition {
  std::string name;
  std::shared_ptr<Graph> graph;
  const Model* model = nullptr;                  ///< the model that it was cut out of
  bool drops_constants = false, single = false;  ///< as claimed; so is the ticket
  size_t ticket = 0;
  Uploads* uploads = nullptr;  ///< the session's: constants in the provider's memory
};

/// The interface between a compiled partition and a run.
class PartitionRun {
 public:
  virtual ~PartitionRun() = default;
  virtual size_t input_count() const = 0;
  virtual size_t output_count() const = 0;
  /// The input, in the memory that Compiled::input_space() names.
  virtual const Tensor& input(size_t i) const = 0;
  /// Memory for a result, where Compiled::output_space() says: the caller's own if it fits. Uninitialised.
  virtual Tensor& output(size_t i, DType dtype, const Shape& shape) = 0;
  /// The stream for the provider's work in this run; null for a provider without streams, which works synchronously.
  virtual Stream* stream() const = 0;
  /// Whether the run was cancelled; results are discarded then.
  virtual bool cancelled() const = 0;
  /// The threads of the session.
  virtual const Parallel& parallel() const = 0;
  /// Runs the bodies of a single node; its captures are not among the inputs.
  virtual BodyRunner& bodies() const = 0;
  /// Copies between the provider's memory and that of the host, or within one of them.
  virtual void copy(const Tensor& from, Tensor& to) const = 0;
  /// The options of the run as its caller knows them; null: none.
  virtual const void* outward() const = 0;
  /// Makes `tensor` output i without a copy; the tensor has an owner.
  virtual void set_output(size_t i, const Tensor& tensor) = 0;
};

/// The memory that a provider has for one session.
struct SessionMemory {
  std::vector<std::shared_ptr<Allocator>> any;
  std::vector<std::shared_ptr<Allocator>> constants;  ///< for memory that is written once, before any run
};

/// Thread-safe: runs of a session may be concurrent.
class Compiled {
 public:
  virtual ~Compiled() = default;
  /// Throws Error; the engine adds the name of the partition.
  virtual void run(PartitionRun& run) const = 0;
  /// The memory of input and output `i`.
  virtual MemorySpace input_space(size_t i) const = 0;
  virtual MemorySpace output_space(size_t i) const = 0;
  /// The outputs that should lie over an input (ExternalOp::aliases).
  virtual std::span<const OutputAlias> aliases() const { return {}; }
  /// The node that a saved model has in place of the part; null if none was requested, or there is nothing to save.
  virtual const StandIn* stand_in() const { return nullptr; }
};

/// Each session has its own. claim(), compile() and compile_all() are called by one thread at a time: while the session is made, and
/// during runs if a call needs a second plan. Any thread may call the other functions.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual const std::string& name() const = 0;
  /// Whether the CPU chooses nodes before this provider, which then gets only those that the CPU cannot run.
  bool comes_after_cpu() const { return comes_after_cpu_; }
  void come_after_cpu() { comes_after_cpu_ = true; }
  /// The memory that its values lie in.
  virtual MemorySpace space() const = 0;
  /// The session's memory, which is used before that of the factory's devices.
  virtual SessionMemory memory() const { return {}; }
  /// The nodes of `graph` (the model's, or a body) that it would run. Nodes are in the model's own dialect; Constant
  /// nodes are constants; values have types as far as they are known. Claims of earlier providers, and claims in inner
  /// bodies, are no longer in the graph.
  virtual std::vector<Claim> claim(const Model& model, const Graph& graph) = 0;
  /// Whether it wants the nodes that it claims with channels last (channels_last.h). It claims again after the
  /// conversion, and must then claim all converted nodes.
  virtual bool prefers_channels_last() const { return false; }
  /// The same for one operator; nullopt: the usual choice for the operator.
  virtual std::optional<bool> wants_channels_last(const std::string& /*domain*/, const std::string& /*type*/) const {
    return std::nullopt;
  }
  /// Why the last claim() left this node out, as a text for users; empty: no reason. Bodies are asked about first.
  virtual std::string why_not(NodeId) const { return {}; }
  virtual std::shared_ptr<const Compiled> compile(const Partition& partition) = 0;
  /// Compiles all parts of one graph, in the order of the claims; the result has one for each. Overridden by providers
  /// whose compiler wants to see them together.
  virtual std::vector<std::shared_ptr<const Compiled>> compile_all(std::span<const Partition> parts);
  /// The text that it wants to read in a model with its saved parts, before it loads them. Called before claim(); "":
  /// none.
  virtual std::string compatibility(const Model&) { return {}; }
  /// A stream for a run; null: it works on the caller's thread.
  virtual std::unique_ptr<Stream> make_stream() { return nullptr; }
  /// Called when the session is made; an exception ends the creation.
  virtual void session_made() {}
  /// Whether several runs of a session may be in progress at the same time.
  virtual bool runs_at_once() const { return true; }
  /// Options that may change between runs, in the order in which they were given; null-terminated.
  virtual void set_options(std::span<const char* const> /*keys*/, std::span<const char* const> /*values*/) {}
  /// Called before and after every run of the session, on its caller's thread. `outward`: the options of the run as its
  /// caller knows them; may be null. `waits`: whether the run returns after the device has finished.
  virtual void run_begins(const void* /*outward*/) {}
  virtual void run_ends(const void* /*outward*/, bool /*waits*/) {}
  /// Follows one profile, of the session or of a run, and adds the device's events; null: it has none.
  virtual std::unique_ptr<ProfileListener> make_listener() { return nullptr; }
  /// Captures runs; null: runs are not captured.
  virtual RunCapture* capture() { return nullptr; }
  /// Waits until its device has finished all work.
  virtual void synchronize() {}

 private:
  bool comes_after_cpu_ = false;
};

/// A hardware device that a factory's providers can use.
struct ProviderDevice {
  size_t hardware = 0;  ///< index among the environment's hardware
  std::map<std::string, std::string> metadata, options;
  std::vector<std::shared_ptr<Allocator>> memory;  ///< its own first; then host memory that it can access
};

/// Makes providers of one kind. Thread-safe; environments and sessions share it.
class ProviderFactory {
 public:
  virtual ~ProviderFactory() = default;
  virtual const std::string& name() const = 0;
  virtual const std::string& vendor() const = 0;
  virtual std::span<const ProviderDevice> devices() const = 0;
  /// `devices`: indices. `outward`: the options of the session as its caller knows them; may be null. Throws Error if
  /// the options do not suit the provider.
  virtual std::unique_ptr<Provider> make_provider(std::span<const size_t> devices,
                                                  const std::map<std::string, std::string>& config,
                                                  const void* outward) = 0;
  /// Null: it has no memory of its own.
  virtual DataTransfer* transfer() { return nullptr; }
  /// A stream for the caller; null: it has no streams.
  virtual std::unique_ptr<Stream> make_stream(size_t, const std::map<std::string, std::string>&) { return nullptr; }
};

}  // namespace retort
