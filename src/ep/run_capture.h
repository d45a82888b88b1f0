// Runs that a provider records and repeats without the engine.
#pragma once

namespace retort {

/// Each record has a number, which callers give as gpu_graph_id. A record reads and writes the same memory as its run,
/// so inputs and outputs have to be bound. Thread-safe.
class RunCapture {
 public:
  virtual ~RunCapture() = default;
  /// Whether CPU nodes that compute shapes may remain beside the provider's own.
  virtual bool allows_shapes_on_cpu() const = 0;
  virtual bool has(int id) const = 0;
  virtual void replay(int id) = 0;
  /// Does nothing if there is no such record.
  virtual void release(int id) = 0;
};

}  // namespace retort
