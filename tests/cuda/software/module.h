// Compiled kernels, and their launches.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fibers.h"
#include "memory.h"
#include "queue.h"

namespace software_cuda {

struct Module;

struct Function {
  Module* module = nullptr;
  std::string name;
  const SoftwareKernel* kernel = nullptr;
  size_t most_shared = 49152;
};

struct Module : std::enable_shared_from_this<Module> {
  ~Module();
  void* handle = nullptr;
  const SoftwareModule* variables = nullptr;
  int device = 0;
  std::mutex running;  // shared memory and indices are variables of the module: one launch at a time
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

/// null if the image is not one of NVRTC's stand-in or is damaged.
std::shared_ptr<Module> load(const void* image, int device);
/// null if there is no kernel of this name.
Function* find(const std::shared_ptr<Module>& module, const char* name);
/// The work of a launch, with copies of the arguments; `result` says what is wrong with it.
Work make_launch(const Function& function, SoftwareIndex grid, SoftwareIndex block, size_t shared_bytes,
                 void** parameters, const DeviceMemory& memory, CUresult& result);

}  // namespace software_cuda
