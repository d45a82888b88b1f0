// The options of a session.
#pragma once
#include <map>
#include <string>

#include "common/api.h"
#include "program.h"

namespace providers::cuda {

struct SessionOptions {
  int device = -1;             ///< device_id; -1: not given
  CUstream stream = nullptr;   ///< user_compute_stream, which belongs to the application
  size_t memory_limit = 0;     ///< gpu_mem_limit; 0: none
  bool captures_runs = false;  ///< enable_cuda_graph
  std::string kernel_folder;   ///< kernel_cache_dir; "" for none
  Settings settings;           ///< what compiled parts ask for, with defaults filled in
};

/// Reads the options of this provider among the entries of the session's configuration. Throws Error for unknown ones
/// and for bad values, listing what is allowed. Writes to the log which of them change nothing here.
SessionOptions read_options(const OrtSessionOptions* session, const OrtLogger* log);

}  // namespace providers::cuda
