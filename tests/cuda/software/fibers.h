// Runs the blocks of a launch. The threads of a block are fibers: each has a stack as soon as it waits for others.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernel_abi.h"

namespace software_cuda {

struct Launch {
  const SoftwareKernel* kernel = nullptr;
  const SoftwareModule* module = nullptr;
  std::string name;
  SoftwareIndex grid{1, 1, 1}, block{1, 1, 1};
  size_t shared_bytes = 0;
  void* const* arguments = nullptr;  // with addresses that can be read
};

/// Runs all blocks, one after the other, on this thread. Ends the process with a message if threads wait for each other
/// forever.
void run(const Launch& launch);

/// The functions that kernels call.
const SoftwareRuntime* runtime();

/// The launch that this thread runs, or null.
const Launch* running();
/// The block and thread that run, for messages.
std::string running_thread();

/// Meets the lanes of a warp; see SoftwareRuntime::meet.
void meet(unsigned mask, void* request, void (*complete)(void** requests, unsigned mask));
/// Number of the running thread in its warp.
unsigned lane();

// warp.cc: products of matrices and loads that a warp does together
void multiply(int kind, float* d, const unsigned* a, const unsigned* b);
void load_matrices(unsigned* r, const void* row, int transposed);

}  // namespace software_cuda
