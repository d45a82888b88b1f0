// Provides memory for the outputs of a run, and the results at its end. An output is bound to the caller's tensor, to
// the block of a growing cache, or to memory of its own; at the end, a result that is elsewhere is copied. Writes the
// memory of output slots, through joins, and the caller's values; reads everything else.
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

/// Not thread-safe. The arguments of the constructor must outlive it. Throws invalid_argument if an output does not fit
/// the caller's tensor, or would have to be copied and the request forbids copies.
class Outputs {
 public:
  Outputs(SlotTable& table, Joins& joins, const Inputs& inputs, GrowingCaches& caches, DeviceRun& device_run);

  /// Begins a run.
  void begin(const RunRequest& request);
  /// To be called when the inputs are bound: offers the caller's tensors to kernels that determine the sizes of their
  /// outputs.
  void offer(const RunRequest& request);
  /// To be called when a segment is laid out: binds every output whose shape is known by now.
  void bind(const RunRequest& request, const Branches& branches);
  /// To be called when all steps have run: stores the results in the caller's values.
  void finish(const RunRequest& request);
  /// To be called when the run has failed: empties the values that were empty when it began.
  void abandon(const RunRequest& request);

  /// Bytes held between runs.
  size_t bytes() const;
  /// Frees the memory. No device may still use it.
  void give_back() { spares_.clear(); }

 private:
  /// kBoundEarly: the value under a view has memory, but the view's own shape is not known yet.
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
  std::vector<Tensor> made_;    ///< per output: memory that this run allocated for the result or for a staged copy
  std::vector<Bound> bound_;    ///< per output: whether its memory is determined in this run
  std::vector<char> is_given_;  ///< per output: whether the caller gave a value when this run began
  /// Per output, for callers who keep none; empty until a result in device memory needs one.
  std::vector<Spare> spares_;
};

}  // namespace retort
