// The plan is what a run walks. It is made once per session from the core graph, is immutable, and is shared by all
// concurrent runs.
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
#include "plan/model_nodes.h"
#include "plan/order.h"

namespace retort {

using SlotIndex = uint32_t;
inline constexpr SlotIndex kNoSlot = ~0u;

/// Where the memory of a value comes from.
enum class Home : uint8_t {
  none,      ///< not used
  input,     ///< bound by the caller
  constant,  ///< in the plan
  output,    ///< bound or allocated for the caller
  arena,     ///< in the workspace
  boxed,     ///< in memory of its own: strings, sequences, and tensors whose sizes follow from data
};

struct PlanValue {
  std::string name;
  ValueType type;  ///< as far as it is known before any run
  Home home = Home::none;
  SlotIndex root = kNoSlot;  ///< the value whose memory this one shares (itself if it is not a view)
  uint32_t last_use = 0;     ///< index of the last step that uses the memory; valid for roots only
  Tensor constant;
};

struct Plan;

/// An output that is a constant and lies in the memory of a device whose parts read it.
struct UploadedOutput {
  uint32_t output = 0;  ///< index among the plan's outputs
  Tensor constant;
};

struct Step {
  const OpDef* op = nullptr;
  std::shared_ptr<const void> params;
  std::unique_ptr<State> state;
  Kernel kernel;  ///< for the element type known at plan time
  DType dtype = DType::undefined;
  std::vector<SlotIndex> inputs, outputs;  ///< captures are at the end of inputs
  bool view = false;                       ///< the output shares the memory of the input, and the step does not run
  bool late = false;                       ///< the kernel determines the sizes of the outputs, or they are boxed
  uint32_t captures = 0;
  std::vector<std::shared_ptr<const Plan>> bodies;
  std::vector<std::string> body_names;  ///< the names of the graph attributes
  NodeId node = NodeId::none;
  std::string name;  ///< for errors: the nodes of the model that it computes, "node 'conv1' (Conv)"
  /// For profiles: the labels of the model's nodes that the step computes, and their operators, each joined by "+"; the
  /// index of the first of them in its graph.
  std::string label, operators;
  uint32_t index = 0;
  std::string provider;  ///< the provider that runs it
};

/// A cache that a step appends to: no other step reads this input of the plan or writes this output.
struct GrowingCache {
  uint32_t input = 0, output = 0;  ///< indices among the plan's inputs and outputs
};

struct Plan {
  std::vector<PlanValue> values;
  std::vector<Step> steps;
  std::vector<SlotIndex> inputs, outputs;  ///< in the graph's order; captures are at the end of inputs
  std::vector<MemorySpace> input_spaces;   ///< per input: the memory where it is read; empty: all on the host
  std::vector<UploadedOutput> uploaded_outputs;
  std::vector<char> unread;  ///< per input: whether only bodies read it; they accept any memory
  std::vector<GrowingCache> caches;
  uint32_t captures = 0;
  size_t constant_bytes = 0;  ///< bytes of the constants that runs still read
  bool reuses_memory = true;  ///< false: no value of a run takes the memory of another
  bool reads(size_t input) const { return !unread[input]; }
};

struct PlanOptions {
  /// `strict`: every kernel sums products of the operands themselves. This excludes Winograd, whose relative error is
  /// about ten times as large, and Strassen, where it is two to three times as large. Passes ignore this option, since
  /// their rewrites keep the formula.
  PrepareOptions kernels;
  bool prepack = true;        ///< kernels may keep packed copies of weights
  bool reuses_memory = true;  ///< see Plan
  NodeOrder order = NodeOrder::model;
  Parallel parallel;               ///< for packing
  SharedBlocks* shared = nullptr;  ///< for finding equal weights of other sessions; null: nothing is shared
  PackedCache* cache = nullptr;    ///< for finding weights that an earlier start has packed; null: all are packed anew
  const Logger* logger = nullptr;
  std::vector<MemorySpace> input_spaces = {};  ///< of the plan; empty: all on the host
  /// The same for bodies; a missing body reads all on the host.
  std::map<const Graph*, std::vector<MemorySpace>> body_spaces = {};
  std::vector<UploadedOutput> uploaded_outputs = {};
  const ModelNodes* nodes = nullptr;  ///< of the model; null: steps name their own nodes
};

/// Builds the plan of a core graph: order of steps, views, lifetimes, kernels with their packed state. A constant that
/// a kernel has packed and will not read again is also dropped from `graph`. Throws not_implemented naming the node if
/// it has no kernel.
std::shared_ptr<const Plan> build_plan(Graph& graph, const PlanOptions& options);

/// Decides which outputs of late steps lie at the address of an input, and extends the lifetimes of those inputs. The
/// homes, last uses and states of the plan must be final.
void share_late_outputs(Plan& plan);

/// Finds the caches of a plan whose steps, homes and kernels are final. `readers`: per root, the number of steps and
/// outputs that read its memory, including views.
std::vector<GrowingCache> find_caches(const Plan& plan, std::span<const uint32_t> readers);

}  // namespace retort
