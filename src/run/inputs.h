// Puts the inputs of a run where the plan reads them. Writes the memory of input slots, through joins, and their boxed
// values; copies tensors that lie in another memory. Keeps only the memory of those copies.
#pragma once
#include <vector>

#include "ep/device_run.h"
#include "run/growing.h"
#include "run/joins.h"
#include "run/request.h"
#include "run/slot_table.h"

namespace retort {

/// Not thread-safe. The arguments of the constructor must outlive it.
class Inputs {
 public:
  Inputs(SlotTable& table, Joins& joins, GrowingCaches& caches, DeviceRun& device_run);

  /// Binds the inputs of a run, whose types are already in the slots. Throws invalid_argument if an input would have to
  /// be copied and the request forbids copies.
  void bind(const RunRequest& request);
  /// The memory in which input i is read.
  const MemorySpace& space(size_t i) const;
  /// The copy of input i that this run made in the memory where it is read; null if no copy was needed.
  const Tensor* copy_of(size_t i) const;
  /// Bytes held between runs.
  size_t bytes() const;
  /// Frees the memory. No device may still use it.
  void give_back() { copies_.clear(); }

 private:
  /// A copy, in the memory that the plan reads, of an input that was given in another memory.
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
  std::vector<Copy> copies_;  ///< per input; empty until the first copy
};

}  // namespace retort
