// Execution providers: whoever runs parts of a model in memory of its own. The CPU is not one of them: it takes what they
// leave (cpu.h).
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
struct RunOptions;
class RunCapture;
class Uploads;

/// Nodes that a provider runs as one.
struct Claim {
  std::vector<NodeId> nodes;
  std::string name;              ///< for messages and profiles; may be empty
  bool drops_constants = false;  ///< the provider keeps copies of the part's constants
  bool single = false;  ///< one node, for a kernel: it keeps name, type and bodies, and each of its inputs is one
  size_t ticket = 0;    ///< the provider's own; the partition has it again
};

/// What was claimed, cut out: its graph in the model's own dialect, constants inside, with the inputs and outputs that the
/// rest of the model has in common with it.
struct Partition {
  std::string name;
  std::shared_ptr<Graph> graph;
  const Model* model = nullptr;                  ///< that it was cut out of
  bool drops_constants = false, single = false;  ///< as claimed, like the next
  size_t ticket = 0;
  Uploads* uploads = nullptr;  ///< the session's: where a provider finds constants in its memory
};

/// What a compiled partition sees in a run.
class PartitionRun {
 public:
  virtual ~PartitionRun() = default;
  virtual size_t input_count() const = 0;
  virtual size_t output_count() const = 0;
  /// In the memory that Compiled::input_space() asked for.
  virtual const Tensor& input(size_t i) const = 0;
  /// Memory for a result where Compiled::output_space() says: the caller's own if it fits. Uninitialised.
  virtual Tensor& output(size_t i, DType dtype, const Shape& shape) = 0;
  /// Where the provider's work of this run goes; null for one without streams: it works before it returns.
  virtual Stream* stream() const = 0;
  /// The run is to end; whatever is returned is thrown away.
  virtual bool cancelled() const = 0;
  /// Threads of the session.
  virtual const Parallel& parallel() const = 0;
  /// Runs the bodies of a single node; its captures are none of the inputs.
  virtual BodyRunner& bodies() const = 0;
  /// Between its memory and that of the host, or within one of them.
  virtual void copy(const Tensor& from, Tensor& to) const = 0;
  /// Makes `tensor` output i, as it is; it has its owner.
  virtual void set_output(size_t i, const Tensor& tensor) = 0;
};

/// Memory that a provider has for one session.
struct SessionMemory {
  std::vector<std::shared_ptr<Allocator>> any;
  std::vector<std::shared_ptr<Allocator>> constants;  ///< for what is written once, before any run
};

/// Thread-safe: runs of a session may be concurrent.
class Compiled {
 public:
  virtual ~Compiled() = default;
  /// Throws Error; the engine adds which partition it was.
  virtual void run(PartitionRun& run) const = 0;
  /// Where input and output `i` lie.
  virtual MemorySpace input_space(size_t i) const = 0;
  virtual MemorySpace output_space(size_t i) const = 0;
  /// Which outputs are to lie over an input (ExternalOp::aliases).
  virtual std::span<const OutputAlias> aliases() const { return {}; }
  /// What a model may keep in place of the part; null where it was not asked for, or there is nothing to keep.
  virtual const StandIn* stand_in() const { return nullptr; }
};

/// One per session that uses it. claim() and compile() are called by one thread at a time: while the session is made, and
/// beside runs when a call needs a second plan. The rest comes from any thread.
class Provider {
 public:
  virtual ~Provider() = default;
  virtual const std::string& name() const = 0;
  /// The memory that its values lie in.
  virtual MemorySpace space() const = 0;
  /// Goes before the memory of the factory's devices, which serves for what is missing.
  virtual SessionMemory memory() const { return {}; }
  /// What it would run of `graph`: the model's, or a body in it. Nodes are in the model's own dialect, Constant nodes are
  /// constants, types of values there as far as they are known. Claims of earlier providers, and those in bodies within,
  /// are gone from the graph.
  virtual std::vector<Claim> claim(const Model& model, const Graph& graph) = 0;
  /// Whether it wants nodes that it claims with their channels last (channels_last.h); it claims again then, and must have
  /// all that were changed.
  virtual bool prefers_channels_last() const { return false; }
  /// The same of one operator; nothing: as is usual for it.
  virtual std::optional<bool> wants_channels_last(const std::string& /*domain*/, const std::string& /*type*/) const {
    return std::nullopt;
  }
  /// Why the last claim() left out this node, in words for users; empty: it did not say. Bodies are asked about first.
  virtual std::string why_not(NodeId) const { return {}; }
  virtual std::shared_ptr<const Compiled> compile(const Partition& partition) = 0;
  /// What it wants to read of a model that keeps its parts, before it takes them back. Asked before claim(); "": nothing.
  virtual std::string compatibility(const Model&) { return {}; }
  /// A stream for a run; null: it works on the thread of the caller.
  virtual std::unique_ptr<Stream> make_stream() { return nullptr; }
  /// The session is made; what is thrown ends that.
  virtual void session_made() {}
  /// Whether runs of a session may be under way at the same time.
  virtual bool runs_at_once() const { return true; }
  /// Options that may change between runs, in the order in which they were given; null-terminated.
  virtual void set_options(std::span<const char* const> /*keys*/, std::span<const char* const> /*values*/) {}
  /// Around every run of the session, on the thread of its caller. `options`: of the run, null where it has none.
  /// `waits`: the run returns after the device is done.
  virtual void run_begins(const RunOptions* /*options*/) {}
  virtual void run_ends(const RunOptions* /*options*/, bool /*waits*/) {}
  /// Follows one profile, of the session or of a run, and tells what the device did; null: there is nothing to tell.
  virtual std::unique_ptr<ProfileListener> make_listener() { return nullptr; }
  /// What captures runs; null: nothing does.
  virtual RunCapture* capture() { return nullptr; }
  /// Waits until its device is done with everything.
  virtual void synchronize() {}
};

/// A piece of hardware that a factory's providers can use.
struct ProviderDevice {
  size_t hardware = 0;  ///< among the hardware of the environment
  std::map<std::string, std::string> metadata, options;
  std::vector<std::shared_ptr<Allocator>> memory;  ///< its own first; then memory of the host that it can reach
};

/// Makes providers of one kind. Thread-safe; environments and sessions share it.
class ProviderFactory {
 public:
  virtual ~ProviderFactory() = default;
  virtual const std::string& name() const = 0;
  virtual const std::string& vendor() const = 0;
  virtual std::span<const ProviderDevice> devices() const = 0;
  /// `devices`: by index. `outward`: the options of the session as its caller knows them; may be null. Throws Error where
  /// they do not suit it.
  virtual std::unique_ptr<Provider> make_provider(std::span<const size_t> devices,
                                                  const std::map<std::string, std::string>& config,
                                                  const void* outward) = 0;
  /// Null: it has no memory of its own.
  virtual DataTransfer* transfer() { return nullptr; }
  /// A stream of the caller's; null: there are none.
  virtual std::unique_ptr<Stream> make_stream(size_t, const std::map<std::string, std::string>&) { return nullptr; }
};

}  // namespace retort
