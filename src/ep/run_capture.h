// Runs that a provider records and repeats without the engine.
#pragma once

namespace retort {

/// Each record has a number, which callers give as gpu_graph_id. A record reads and writes the memory that its run did, so
/// inputs and outputs have to be bound. Thread-safe.
class RunCapture {
 public:
  virtual ~RunCapture() = default;
  /// Whether nodes of the CPU that compute shapes may stay beside its own.
  virtual bool allows_shapes_on_cpu() const = 0;
  virtual bool has(int id) const = 0;
  virtual void replay(int id) = 0;
  /// Nothing where there is none.
  virtual void release(int id) = 0;
};

}  // namespace retort
