// A compiled part at work: which nodes become parts, and the runs of a part.
#pragma once
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/plugin.h"
#include "planner.h"

namespace providers::cuda {

/// The groups of nodes that the provider runs; each becomes a part. With `log`, writes why nodes are not claimed.
std::vector<std::vector<const Node*>> claim(const Graph& graph, const OrtLogger* log);

/// A run of a part.
struct PartRun {
  OrtKernelContext* context;
  CUstream stream;
  /// Set while the run is captured: owns what the captured graph uses.
  std::function<void(std::shared_ptr<void>)> keep;
};

/// A compiled part. Thread-safe.
class DevicePart {
 public:
  virtual ~DevicePart() = default;
  /// Submits the part's work to the stream.
  virtual void run(const PartRun& run) = 0;
};

/// Compiles a part. Throws Error that names the node that cannot be compiled.
std::unique_ptr<DevicePart> compile(const Compilation& what, Device& device, const Settings& settings);

}  // namespace providers::cuda
