// What the caller gets: memory for the outputs of a run, and the results at its end. Outputs are bound to what the caller
// gave for them, to a block that a cache grows in, or to memory of their own; at the end, what does not lie there is
// copied. Writes the memory of output slots, through joins, and the caller's values; reads everything else.
#pragma once
#include <string>
#include <vector>

#include "ep/device_run.h"
#include "run/branches.h"
#include "run/growing.h"
#include "run/inputs.h"
#include "run/joins.h"
#include "run/request.h"
#include "run/slot_table.h"

namespace retort {

/// Not thread-safe. What it is made from must outlive it. Throws invalid_argument where an output does not fit what the caller gave for it, or would have to be
/// copied and the request forbids that.
class Outputs {
 public:
  Outputs(SlotTable& table, Joins& joins, const Inputs& inputs, GrowingCaches& caches, DeviceRun& device_run);

  /// A run begins.
  void begin(const RunRequest& request);
  /// The inputs are bound: outputs whose kernel sizes them may lie where the caller wants them, if they turn out to fit.
  void offer(const RunRequest& request);
  /// A segment is laid out: settles the memory of every output whose shape is known by now.
  void bind(const RunRequest& request, const Branches& branches);
  /// All steps have run: the caller's values become the results.
  void finish(const RunRequest& request);
  /// The run has failed: values that were empty when it began are empty again.
  void abandon(const RunRequest& request);

  /// Bytes held between runs.
  size_t bytes() const;
  /// Gives the memory back. No device may use it any more.
  void give_back() { spares_.clear(); }

 private:
  /// kBoundEarly: what the output is a view of has memory, the view's own shape is not known yet.
  enum Bound : char { kUnbound, kBound, kBoundEarly };

  void bind_one(const RunRequest& request, const Branches& branches, size_t i, const Slot& made);
  void bind_boxed(const RunRequest& request, size_t i);
  bool bind_grown(const RunRequest& request, size_t i);
  bool shares_bound(size_t i) const;
  Tensor make(const RunRequest& request, size_t i, const Slot& made);
  Tensor take_spare(const RunRequest& request, size_t i, const Slot& made, const MemorySpace& space);
  std::string shape_clash(size_t i, const Tensor& given, const Slot& made) const;
  void finish_one(const RunRequest& request, size_t i);
  void finish_given(const RunRequest& request, size_t i, Tensor& given);
  bool is_taken(const RunRequest& request, size_t i) const;
  void take_offers_back();

  const Plan& plan_;
  SlotTable& table_;
  Joins& joins_;
  const Inputs& inputs_;
  GrowingCaches& caches_;
  DeviceRun& device_run_;
  std::vector<Tensor> made_;    ///< per output: memory that this run made or staged
  std::vector<Bound> bound_;    ///< per output: whether its memory is settled in this run
  std::vector<char> is_given_;  ///< per output: whether it was a value when this run began
  std::vector<Spare> spares_;   ///< per output, for callers who keep none; empty until a result of a device needs one
};

}  // namespace retort
