// From a model in its own dialect to a plan: providers take their parts, the rest is lowered for the CPU, and values
// are assigned to memories. Reads options and changes the model that it is given; the log and session.placement say
// what it did.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/thread_pool.h"
#include "ep/cpu.h"
#include "ep/device_run.h"
#include "ep/run_capture.h"
#include "ep/spaces.h"
#include "memory/packed_cache.h"
#include "memory/shared_blocks.h"
#include "plan/plan.h"
#include "session/assigned.h"
#include "session/options.h"
#include "session/ports.h"

namespace retort {

class PlacementReport;

/// What applies only to the plan that a session makes first.
struct FirstPlan {
  std::string model_path;        ///< "" for a model from memory
  PackedCache* cache = nullptr;  ///< where packed weights of an earlier start are found; null: there is no such file
  std::vector<AssignedPart>&
      parts;  ///< those of the CPU, among which those of providers take their nodes; may be empty
  std::span<const Port> overridable;    ///< inputs that are constants of the plan
  std::span<const ExternalFile> files;  ///< of the model's external data
};

/// Not thread-safe: one thread makes one plan at a time. All that it is made from must outlive it.
class PlanMaker {
 public:
  struct Parts {
    const SessionOptions& options;
    const Logger& logger;
    const SessionDevices& devices;
    SharedBlocks& weights;
    ThreadPool& threads;
    const ModelNodes* nodes = nullptr;  ///< of the model; null: steps name their own nodes
  };
  /// A plan, and what the session has to know about it.
  struct Made {
    std::shared_ptr<const Plan> plan;
    GraphSpaces spaces;             ///< of a session without devices: empty
    RunCapture* capture = nullptr;  ///< of the provider that captures runs of the plan; null: none does
    /// The memories in which parts and the CPU read FirstPlan::overridable, by name.
    std::vector<std::pair<std::string, MemorySpace>> constants;
    PortOwners owners;  ///< of the first plan's inputs and outputs, by position in the graph
  };

  explicit PlanMaker(const Parts& parts) : parts_(parts) {}

  /// How models are lowered. `cancel` ends the lowering when it is set; null: nothing does.
  LowerOptions lower_options(const std::atomic<bool>* cancel) const;
  /// Makes a plan. `first`: null for a second plan. Throws model_load_canceled, and what providers and passes throw.
  Made make(Model& model, const LowerOptions& lower, const FirstPlan* first) const;
  Uploads& uploads() const { return *parts_.devices.uploads; }

 private:
  bool is_reported() const;
  bool forbids_cpu() const;
  std::vector<Assignment> assign_parts(Model& model, const FirstPlan* first) const;
  void tell(const PlacementReport& report, bool is_first) const;
  void check_copies(const std::vector<BorderCopy>& copies) const;
  RunCapture* find_capture(const Graph& graph, bool is_first) const;
  std::shared_ptr<const Plan> build(Graph& graph, const LowerOptions& lower, const FirstPlan* first,
                                    GraphSpaces& spaces) const;
  std::vector<UploadedOutput> uploaded_outputs(const Graph& graph) const;

  const Parts parts_;
};

}  // namespace retort
