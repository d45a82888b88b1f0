#include "cuda_wait.h"

#include <Python.h>
#include <dlfcn.h>

#include <map>
#include <mutex>

#include "gil_lock.h"

namespace retort::python {
namespace {

using Context = void*;

// The driver's functions that are used here. Each returns 0 for success.
struct Driver {
  int (*get_device)(int* device, int ordinal) = nullptr;
  int (*retain)(Context* context, int device) = nullptr;
  int (*set)(Context context) = nullptr;
  int (*get)(Context* context) = nullptr;
  int (*synchronize)() = nullptr;
};

// The one that a provider or another package has opened; none is opened here.
const Driver* open_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!library) {
    return nullptr;
  }
  auto* const driver = new Driver;
  driver->get_device = reinterpret_cast<decltype(driver->get_device)>(dlsym(library, "cuDeviceGet"));
  driver->retain = reinterpret_cast<decltype(driver->retain)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
  driver->set = reinterpret_cast<decltype(driver->set)>(dlsym(library, "cuCtxSetCurrent"));
  driver->get = reinterpret_cast<decltype(driver->get)>(dlsym(library, "cuCtxGetCurrent"));
  driver->synchronize = reinterpret_cast<decltype(driver->synchronize)>(dlsym(library, "cuCtxSynchronize"));
  if (driver->get_device && driver->retain && driver->set && driver->get && driver->synchronize) {
    return driver;
  }
  delete driver;
  return nullptr;
}

struct State {
  std::mutex lock;
  const Driver* driver = nullptr;
  std::map<int, Context> contexts;  // by device; held as long as the process
};

// Never destroyed: values may be released while the process ends.
State& state() {
  static State* const instance = new State;
  return *instance;
}

bool wait(int device) {
  State& all = state();
  const Driver* driver = nullptr;
  Context context = nullptr;
  {
    const std::lock_guard lock(all.lock);
    driver = all.driver ? all.driver : (all.driver = open_driver());
    if (!driver) {
      return true;
    }
    Context& kept = all.contexts[device];
    int handle = 0;
    if (!kept && (driver->get_device(&handle, device) || driver->retain(&kept, handle))) {
      kept = nullptr;
      return false;
    }
    context = kept;
  }
  Context before = nullptr;
  driver->get(&before);
  if (driver->set(context)) {
    return false;
  }
  const bool done = driver->synchronize() == 0;
  driver->set(before);
  return done;
}

}  // namespace

bool wait_for_cuda(int device) noexcept {
  const WithoutGil released;
  return wait(device);
}

}  // namespace retort::python
