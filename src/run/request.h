// What a caller asks of one run.
#pragma once
#include <atomic>
#include <span>

#include "base/parallel.h"
#include "base/profiler.h"
#include "ep/device_run.h"
#include "memory/copy_ledger.h"
#include "memory/spare.h"
#include "tensor/tensor.h"

namespace retort {

/// Pointers must outlive the run.
struct RunRequest {
  std::span<const Value* const> inputs;  ///< in plan order, captures included; null only for omitted optionals
  /// In plan order. In: a tensor to be written (its shape must fit), or empty: the frame makes one. Out: the results.
  std::span<Value* const> outputs;
  std::span<Spare> spares;  ///< per output, or empty: where memory for outputs that the frame makes is kept
  std::span<const MemorySpace> output_spaces;  ///< per output, or empty: where those are to lie; empty: on the host
  Parallel parallel;
  Parallel forks;  ///< runs the branches of forks; of one thread: there are none
  const std::atomic<bool>* cancel = nullptr;
  const std::atomic<uint32_t>* cancellations = nullptr;  ///< how often `cancel` was set; null in bodies
  Profiler* profiler = nullptr;
  CopyLedger* ledger = nullptr;
  const SessionDevices* devices = nullptr;  ///< null: there is only the host
  StreamUse streams;
  DeviceRun* within = nullptr;   ///< of bodies: the run that they are part of, in place of all that is said of devices
  bool disallow_copies = false;  ///< an implicit copy is an error
  bool caches_grow = false;      ///< outputs that the frame makes may lie in blocks with room (tensor/grown_rows.h)

  /// Where output i is to lie if the frame makes it.
  const MemorySpace& output_space(size_t i) const {
    static constexpr MemorySpace kHost;
    return output_spaces.empty() ? kHost : output_spaces[i];
  }
};

}  // namespace retort
