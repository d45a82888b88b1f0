// What a caller asks of one run of a session. Session::run() makes it, and each part of the session reads it.
#pragma once
#include <span>

#include "memory/spare.h"
#include "session/options.h"
#include "tensor/tensor.h"

namespace retort {

/// A copy of an input in another memory than the caller gave it in.
struct Resident {
  size_t input = 0;  ///< the session's index of the input
  Value value;
};

/// What a binding adds to the inputs and outputs of its runs.
struct BindingMemory {
  std::span<const Resident> residents;
  /// By output index: the memory in which the run makes an output that has no value; empty: all of them on the host.
  std::span<const MemorySpace> output_spaces;
  /// Results of the last run. The replay of a captured run writes to them. Any other call clears them first, so that
  /// their memory can be used again.
  std::span<Value* const> last_results;
  void clear_last_results() const {
    for (Value* result : last_results) *result = Value();
  }
};

/// One call of Session::run(). All that it points to outlives the run.
struct RunCall {
  std::span<const Value* const> inputs;  ///< by input index; null: the caller did not give it
  std::span<Value* const> outputs;       ///< by output index; see RunRequest
  std::span<Spare> spares;               ///< by output index, or empty; see RunRequest
  const RunOptions* options = nullptr;   ///< null: the defaults
  const BindingMemory& memory;
};

}  // namespace retort
