// A route: a plan, and where each input of the plan comes from. Reads the inputs of a call; writes only the lists that
// the caller of order() gives.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "ep/spaces.h"
#include "ep/uploads.h"
#include "session/frame_pool.h"
#include "session/ports.h"
#include "session/run_call.h"

namespace retort {

/// The inputs of a plan, by their position among them.
struct RouteInputs {
  std::vector<uint32_t> index;    ///< the session's index of the input
  std::vector<Value> defaults;    ///< the model's value of an overridable input; empty for required ones
  std::vector<uint32_t> scalars;  ///< positions of inputs that are declared scalars: any shape of one element fits them

  void add(uint32_t input, Value default_value, bool is_scalar);
  /// Adds the input at `position` once more: a plan has an input once for each memory that it reads it in.
  void repeat(size_t position);
};

/// Thread-safe. `ports` and `budget` must outlive it.
class Route {
 public:
  /// `inputs`: those of the plan in its order. `budget`: limits the workspaces of the frames; null: nothing does.
  Route(const Ports& ports, RouteInputs inputs, std::shared_ptr<const Plan> plan, MemoryBudget* budget);

  /// The session's index of each input of the plan.
  std::span<const uint32_t> inputs() const { return inputs_.index; }
  /// The memory that the plan reads its input at `position` in.
  const MemorySpace& space(size_t position) const;
  /// The value that a run of `call` reads at `position`: the one that the caller gave, its copy in the right memory, or
  /// the model's own; null for an optional input or one that no step reads. Throws fail for a required input that is
  /// not given.
  const Value* read(const RunCall& call, size_t position) const;
  /// Writes the values that a run of `call` reads to `ordered`, by position. `views` holds those that the route has to
  /// reshape, and must be empty; both must stay until the run ends. Throws as read() does.
  void order(const RunCall& call, std::span<const Value*> ordered, std::vector<Value>& views) const;
  FramePool& frames() { return frames_; }

 private:
  const Value* given(std::span<const Value* const> inputs, size_t position) const;
  const Value* resident(const RunCall& call, size_t position, const Value* given) const;

  const Ports& ports_;
  const RouteInputs inputs_;
  FramePool frames_;
};

/// Puts the model's own values of overridable inputs in the memory that a plan reads them in, as it does with
/// constants.
void upload_defaults(RouteInputs& inputs, const GraphSpaces& spaces, Uploads& uploads);

}  // namespace retort
