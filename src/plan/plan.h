// The plan: what a run walks. Made once per session from the core graph, immutable, shared by all concurrent runs.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/parallel.h"
#include "memory/packed_cache.h"
#include "memory/shared_blocks.h"
#include "ops/op.h"

namespace retort {

using SlotIndex = uint32_t;
inline constexpr SlotIndex kNoSlot = ~0u;

/// Where the memory of a value comes from.
enum class Home : uint8_t {
  none,      ///< not used by anything
  input,     ///< bound by the caller
  constant,  ///< in the plan
  output,    ///< bound or allocated for the caller
  arena,     ///< in the workspace
  boxed,     ///< memory of its own: strings, sequences, sizes that only the data tells
};

struct PlanValue {
  std::string name;
  ValueType type;  ///< as far as known before any run
  Home home = Home::none;
  SlotIndex root = kNoSlot;  ///< the value whose memory this one shares (itself when it is no view)
  uint32_t last_use = 0;     ///< index of the last step that touches the memory; roots only
  Tensor constant;
};

struct Plan;

/// An output that is a constant, in the memory of a device whose parts read it.
struct UploadedOutput {
  uint32_t output = 0;  ///< among the plan's
  Tensor constant;
};

struct Step {
  const OpDef* op = nullptr;
  std::shared_ptr<const void> params;
  std::unique_ptr<State> state;
  Kernel kernel;  ///< for the element type known at plan time
  DType dtype = DType::undefined;
  std::vector<SlotIndex> inputs, outputs;  ///< captures included at the end of inputs
  bool view = false;                       ///< shares memory, nothing to run
  bool late = false;                       ///< outputs are sized or boxed by the kernel
  uint32_t captures = 0;
  std::vector<std::shared_ptr<const Plan>> bodies;
  std::vector<std::string> body_names;  ///< the graph attributes
  NodeId node = NodeId::none;
  std::string name;      ///< "node 'conv1' (Conv)", for errors
  std::string label;     ///< the node's name, for profiles
  std::string provider;  ///< who runs it
};

/// A cache that a step appends to: nothing else reads the input of the plan, nor the output.
struct GrowingCache {
  uint32_t input = 0, output = 0;  ///< among the plan's
};

struct Plan {
  std::vector<PlanValue> values;
  std::vector<Step> steps;
  std::vector<SlotIndex> inputs, outputs;  ///< in the graph's order; captures at the end of inputs
  std::vector<MemorySpace> input_spaces;   ///< by input: where it is read; empty: all on the host
  std::vector<UploadedOutput> uploaded_outputs;
  std::vector<char> unread;  ///< by input: whether nobody reads it but bodies, which take it from anywhere
  std::vector<GrowingCache> caches;
  uint32_t captures = 0;
  size_t constant_bytes = 0;  ///< of constants that runs still read
  bool reads(size_t input) const { return !unread[input]; }
};

struct PlanOptions {
  /// `strict`: every kernel sums products of the operands themselves: no Winograd, whose relative error is about ten
  /// times as large, and no Strassen, where it is two to three times as large. Passes do not ask: what they rewrite keeps
  /// the formula.
  PrepareOptions kernels;
  bool prepack = true;             ///< kernels may keep packed copies of weights
  Parallel parallel;               ///< for packing
  SharedBlocks* shared = nullptr;  ///< where equal weights of other sessions are found; null: nothing is shared
  PackedCache* cache = nullptr;    ///< where those of an earlier start are found; null: they are packed
  const Logger* logger = nullptr;
  std::vector<MemorySpace> input_spaces = {};                         ///< of the plan; empty: all on the host
  std::map<const Graph*, std::vector<MemorySpace>> body_spaces = {};  ///< the same of bodies; none: all on the host
  std::vector<UploadedOutput> uploaded_outputs = {};
};

/// Builds the plan of a core graph: order, aliases, lifetimes, kernels with their packed state. Constants that a kernel
/// has packed and will not read again are dropped from `graph` as well. Throws not_implemented naming the node when a
/// kernel is missing.
std::shared_ptr<const Plan> build_plan(Graph& graph, const PlanOptions& options);

/// Settles which outputs of late steps lie over an input; what they lie over lives longer by that. For a plan whose homes, last
/// uses and states are settled.
void share_late_outputs(Plan& plan);

/// The caches of a plan whose steps, homes and kernels are settled. `readers`: by root, how many steps and outputs there are
/// of its memory, views included.
std::vector<GrowingCache> find_caches(const Plan& plan, std::span<const uint32_t> readers);

}  // namespace retort
