#include "module.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "counts.h"
#include "image.h"

namespace software_cuda {
namespace {

struct sigaction before;  // what handled SIGSEGV before this library
const DeviceMemory* accessed[2] = {};

/// Says which kernel touched what, then lets the fault take its course.
void report_fault(int number, siginfo_t* info, void* context) {
  if (running()) {
    const auto place = reinterpret_cast<Address>(info->si_addr);
    const char* what = "memory that no kernel may touch, or there is a fault of its stack or of shared memory";
    for (const DeviceMemory* m : accessed)
      if (m && m->describe(place)) what = m->describe(place);
    std::fprintf(stderr, "software CUDA: %s, touched address %p: %s\n", running_thread().c_str(), info->si_addr, what);
    ::signal(SIGSEGV, SIG_DFL);
    return;
  }
  if ((before.sa_flags & SA_SIGINFO) && before.sa_sigaction) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {
    ::signal(SIGSEGV, SIG_DFL);
  }
}

void watch_faults(const DeviceMemory& memory, int device) {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = report_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before);
  });
  accessed[device % 2] = &memory;
  thread_local bool has_stack = false;
  if (has_stack) return;
  has_stack = true;
  stack_t stack{};
  stack.ss_size = size_t(64) << 10;
  static thread_local std::unique_ptr<char[]> room;
  room.reset(new char[stack.ss_size]);
  stack.ss_sp = room.get();
  sigaltstack(&stack, nullptr);
}

/// Copies of the arguments of a launch. Addresses in them become those of the bytes.
class Arguments {
 public:
  Arguments(const SoftwareKernel& kernel, void** parameters, const DeviceMemory& memory) {
    size_t bytes = 0;
    std::vector<size_t> offsets;
    for (int i = 0; i < kernel.parameter_count; ++i) {
      offsets.push_back(bytes);
      bytes += (kernel.parameters[i].size + 15) / 16 * 16;
    }
    room_.resize(bytes / 16 + 1);
    for (int i = 0; i < kernel.parameter_count; ++i) {
      char* const to = reinterpret_cast<char*>(room_.data()) + offsets[size_t(i)];
      const SoftwareParameter& p = kernel.parameters[i];
      std::memcpy(to, parameters[i], p.size);
      if (p.kind != 0) translate(to, p.size, memory);
      pointers_.push_back(to);
    }
  }
  void* const* pointers() const { return pointers_.data(); }

 private:
  struct alignas(16) Unit {
    char bytes[16];
  };
  static void translate(char* data, size_t bytes, const DeviceMemory& memory) {
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
      Address a = 0;
      std::memcpy(&a, data + i, 8);
      a = memory.behind(a);
      std::memcpy(data + i, &a, 8);
    }
  }
  std::vector<Unit> room_;
  std::vector<void*> pointers_;
};

CUresult wrong(const char* what, const std::string& name) {
  std::fprintf(stderr, "software CUDA: launch of kernel %s: %s\n", name.c_str(), what);
  return kInvalidValue;
}

CUresult check(const Function& f, SoftwareIndex grid, SoftwareIndex block, size_t shared) {
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (!grid.x || !grid.y || !grid.z || !threads) return wrong("a grid or block of no threads", f.name);
  if (grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) return wrong("too many blocks", f.name);
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024) return wrong("too many threads", f.name);
  if (shared > f.most_shared) return wrong("more shared memory than the function's attribute allows", f.name);
  if (f.kernel->most_threads && threads > uint64_t(f.kernel->most_threads)) {
    wrong("more threads than __launch_bounds__ allows", f.name);
    return kTooManyResources;
  }
  return kSuccess;
}

}  // namespace

Module::~Module() {
  if (handle) dlclose(handle);
}

std::shared_ptr<Module> load(const void* image, int device) {
  static std::atomic<int> number{0};
  ImageHeader header;
  std::memcpy(&header, image, sizeof header);
  const char* const bytes = static_cast<const char*>(image) + sizeof header;
  if (std::memcmp(header.magic, kImageMagic, sizeof header.magic) != 0) return nullptr;
  if (header.bytes > (uint64_t(1) << 30) || image_sum(bytes, header.bytes) != header.sum) return nullptr;
  // The loader takes files of one name as one library, so the name is never used again.
  const char* const folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder && *folder ? folder : "/tmp") + "/software_cuda." +
                           std::to_string(getpid()) + "." + std::to_string(++number) + ".so";
  std::FILE* const file = std::fopen(path.c_str(), "wbx");
  if (!file) die("the file %s cannot be written", path.c_str());
  const bool whole = std::fwrite(bytes, 1, header.bytes, file) == header.bytes;
  if (std::fclose(file) != 0 || !whole) die("the file %s cannot be written", path.c_str());
  auto module = std::make_shared<Module>();
  module->handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module->handle) std::fprintf(stderr, "software CUDA: a compiled kernel cannot be loaded: %s\n", dlerror());
  unlink(path.c_str());
  if (!module->handle) return nullptr;
  module->variables = static_cast<const SoftwareModule*>(dlsym(module->handle, "software_module"));
  if (!module->variables) return nullptr;
  *module->variables->runtime = runtime();
  module->device = device;
  return module;
}

Function* find(const std::shared_ptr<Module>& module, const char* name) {
  const auto* const kernel =
      static_cast<const SoftwareKernel*>(dlsym(module->handle, (std::string("software_kernel_") + name).c_str()));
  if (!kernel) return nullptr;
  const std::lock_guard lock(module->mutex);
  auto& function = module->functions[name];
  if (!function) function.reset(new Function{module.get(), name, kernel});
  return function.get();
}

Work make_launch(const Function& f, SoftwareIndex grid, SoftwareIndex block, size_t shared_bytes, void** parameters,
                 const DeviceMemory& memory, CUresult& result) {
  result = check(f, grid, block, shared_bytes);
  if (result != kSuccess) return {};
  const auto arguments = std::make_shared<Arguments>(*f.kernel, parameters, memory);
  Launch launch;
  launch.kernel = f.kernel;
  launch.module = f.module->variables;
  launch.name = f.name;
  launch.grid = grid;
  launch.block = block;
  launch.shared_bytes = shared_bytes;
  launch.arguments = arguments->pointers();
  return [launch, arguments, module = f.module->shared_from_this(), &memory] {
    watch_faults(memory, module->device);
    const std::lock_guard lock(module->running);
    run(launch);
    ++counts().kernels;
  };
}

}  // namespace software_cuda
