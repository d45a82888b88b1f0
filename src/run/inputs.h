// What the caller gives: the inputs of a run, put where the plan reads them. Writes the memory of input slots, through
// joins, and their boxed values; copies tensors that lie in another memory. Keeps the memory of those copies only.
#pragma once
#include <vector>

#include "ep/device_run.h"
#include "run/growing.h"
#include "run/joins.h"
#include "run/request.h"
#include "run/slot_table.h"

namespace retort {

/// Not thread-safe. What it is made from must outlive it.
class Inputs {
 public:
  Inputs(SlotTable& table, Joins& joins, GrowingCaches& caches, DeviceRun& device_run);

  /// Puts the inputs of a run in place, whose types the slots have already. Throws invalid_argument where one would have
  /// to be copied and the request forbids that.
  void bind(const RunRequest& request);
  /// Where input i is read.
  const MemorySpace& space(size_t i) const;
  /// Input i as this run copied it to where it is read; null: it lay there.
  const Tensor* copy_of(size_t i) const;
  /// Bytes held between runs.
  size_t bytes() const;
  /// Gives the memory back. No device may use it any more.
  void give_back() { copies_.clear(); }

 private:
  /// An input that was given in another memory, in that which the plan reads.
  struct Copy {
    Tensor tensor;
    Spare memory;
  };
  void bind_one(const RunRequest& request, size_t i);
  void* data_of(size_t i, const Tensor& t);
  const Tensor& brought(const RunRequest& request, size_t i, const Tensor& t);

  SlotTable& table_;
  Joins& joins_;
  GrowingCaches& caches_;
  DeviceRun& device_run_;
  std::vector<Copy> copies_;  ///< per input; empty until there is one
};

}  // namespace retort
