// What tests read: how much was done, and what is alive.
#pragma once
#include <atomic>
#include <cstdint>

/// Filled by `SoftwareCudaCounts`. All members are int64_t, so that a script can read it as an array.
struct SoftwareCudaCounted {
  int64_t allocations;                           ///< calls that made a block of device memory
  int64_t blocks;                                ///< of device memory that are alive
  int64_t bytes;                                 ///< in them
  int64_t pinned;                                ///< blocks of pinned host memory that are alive
  int64_t streams, events;                       ///< alive
  int64_t modules;                               ///< alive
  int64_t graphs, execs;                         ///< alive
  int64_t to_device, to_host, on_device, fills;  ///< copies and fills that were asked for
  int64_t launches;                              ///< kernels that were launched or captured
  int64_t kernels;                               ///< kernels that ran
  int64_t graph_launches;
};

namespace software_cuda {

struct Counts {
  std::atomic<int64_t> allocations{0}, modules{0}, graphs{0}, execs{0}, to_device{0}, to_host{0}, on_device{0},
      fills{0}, launches{0}, kernels{0}, graph_launches{0};
};
Counts& counts();

}  // namespace software_cuda
