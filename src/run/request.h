// Describes one run for a frame.
#pragma once
#include <atomic>
#include <span>

#include "base/parallel.h"
#include "base/profiler.h"
#include "ep/device_run.h"
#include "memory/copy_ledger.h"
#include "memory/kept_blocks.h"
#include "memory/spare.h"
#include "tensor/tensor.h"

namespace retort {

/// The pointers must stay valid until the run ends.
struct RunRequest {
  std::span<const Value* const> inputs;  ///< in plan order, including captures; null only for omitted optional inputs
  /// In plan order. Before the run: a tensor to be written (its shape must fit), or empty if the frame is to allocate
  /// one. After the run: the results.
  std::span<Value* const> outputs;
  std::span<Spare> spares;          ///< per output, or empty: keeps the memory of outputs that the frame allocates
  ResultMemory* results = nullptr;  ///< memory of the results that the frame allocates; null: malloc's
  /// Per output, or empty: the memory in which those outputs are to lie; empty means the host.
  std::span<const MemorySpace> output_spaces;
  Parallel parallel;
  Parallel forks;  ///< runs the branches of forks; with one thread, no forks are made
  const std::atomic<bool>* cancel = nullptr;
  const std::atomic<uint32_t>* cancellations = nullptr;  ///< how often `cancel` has been set; null in bodies
  Profiler* profiler = nullptr;
  CopyLedger* ledger = nullptr;
  const SessionDevices* devices = nullptr;  ///< null if only the host is used
  StreamUse streams;
  DeviceRun* within = nullptr;   ///< for bodies: the run that they are part of; replaces everything above about devices
  bool disallow_copies = false;  ///< if true, an implicit copy is an error
  /// Whether outputs that the frame allocates may lie in blocks with spare rows (tensor/grown_rows.h).
  bool caches_grow = false;

  /// The memory in which output i is to lie if the frame allocates it.
  const MemorySpace& output_space(size_t i) const {
    static constexpr MemorySpace kHost;
    return output_spaces.empty() ? kHost : output_spaces[i];
  }
};

}  // namespace retort
