#include "kernels.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "common/api.h"
#include "device.h"
#include "kernel_cache.h"
#include "kernel_texts.h"
#include "nvrtc.h"

namespace providers::cuda {
namespace {

// Up to this, a launch may ask for dynamic shared memory without telling the driver before.
constexpr size_t kUsualShared = 48 << 10;

/// The text in one piece: each included file is inserted once, "#pragma once" is left out.
void append(const std::string& source, std::set<std::string>& included, std::string& all) {
  size_t at = 0;
  while (at < source.size()) {
    size_t end = source.find('\n', at);
    if (end == std::string::npos) end = source.size();
    const std::string line = source.substr(at, end - at);
    at = end + 1;
    const size_t open = line.find("#include \"") == 0 ? sizeof "#include \"" - 1 : std::string::npos;
    if (open != std::string::npos) {
      const std::string file = line.substr(open, line.find('"', open) - open);
      if (included.insert(file).second) append(kernel_text(file), included, all);
    } else if (line.find("#pragma once") != 0) {
      all += line + "\n";
    }
  }
}

size_t occurrences(const std::string& of, const std::string& words) {
  size_t n = 0;
  for (size_t at = of.find(words); at != std::string::npos; at = of.find(words, at + 1)) ++n;
  return n;
}

std::string whole(const std::string& source) {
  std::string all;
  std::set<std::string> included{"prelude.cuh", "tensor_cores.cuh"};
  append(kernel_text("prelude.cuh"), included, all);
  if (kernel_texts().count("tensor_cores.cuh")) append(kernel_text("tensor_cores.cuh"), included, all);
  append(source, included, all);
  return all;
}

/// Whether code for the device has `begin_kernel` wait, all kernels of the text call it, and CUDA graphs can have
/// launches that overlap.
bool kernels_wait(const std::string& source, int architecture) {
  if (Nvrtc::get().code_for(architecture) < 90) return false;
  static const bool captured = [] {
    int version = 0;
    return driver().version(&version) == 0 && version >= 12030;
  }();
  return captured && occurrences(source, "__global__") == occurrences(source, "begin_kernel();");
}

std::string defines_text(const Defines& defines) {
  std::string all;
  for (const auto& [name, value] : defines) all += (all.empty() ? "" : ", ") + name + "=" + value;
  return all;
}

}  // namespace

struct Kernels::State {
  /// A compiled text. Threads that ask for it while another one compiles it wait.
  struct Module {
    bool done = false;
    CUmodule handle = nullptr;
    std::string error;
    std::map<std::string, std::pair<std::shared_ptr<CUfunction>, size_t>>
        functions;  // with their dynamic shared memory
  };
  using Key = std::pair<std::string, Defines>;  // the text comes first
  explicit State(const Device& d) : device(d) {}

  Module& module(const std::string& text, const std::string& who, const Defines& defines);
  CUmodule load(const std::string& text, const std::string& who, const Defines& defines);
  std::shared_ptr<const CUfunction> function(Module& module, const std::string& entry, const std::string& who,
                                             size_t shared_bytes);
  bool has(const Key& key);

  const Device& device;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Key, Module> modules;
  std::shared_ptr<KernelCache> cache = std::make_shared<KernelCache>("");
};

/// The kernels that a thread waits for. A text is compiled by one thread; who asks for another kernel of the same text gets
/// it at the end.
struct CompileAhead::Work {
  using Job = std::function<void()>;
  Work() : before(of_thread) { of_thread = this; }

  void add(const Kernels::State::Key& key, Job job);
  /// Does what is left, with the others. Idempotent.
  void finish();

  static thread_local Work* of_thread;
  std::exception_ptr error;

 private:
  void run(const Job& job);
  void run_all(bool waits);

  static constexpr size_t kMostThreads = 8;
  Work* const before;
  std::mutex mutex;  // of what follows
  std::condition_variable changed;
  bool ends = false;
  std::deque<Job> jobs;
  std::set<Kernels::State::Key> begun;  // used by the asking thread only, like what follows
  std::vector<Job> last;
  std::vector<std::thread> threads;
};

thread_local CompileAhead::Work* CompileAhead::Work::of_thread = nullptr;

void CompileAhead::Work::add(const Kernels::State::Key& key, Job job) {
  if (!begun.insert(key).second) {
    last.push_back(std::move(job));
    return;
  }
  {
    const std::lock_guard lock(mutex);
    jobs.push_back(std::move(job));
  }
  changed.notify_one();
  const size_t most = std::min<size_t>(kMostThreads, std::max(1u, std::thread::hardware_concurrency()));
  if (threads.size() < most) threads.emplace_back([this] { run_all(true); });
}

void CompileAhead::Work::run(const Job& job) {
  try {
    job();
  } catch (...) {
    const std::lock_guard lock(mutex);
    if (!error) error = std::current_exception();
  }
}

void CompileAhead::Work::run_all(bool waits) {
  std::unique_lock lock(mutex);
  while (true) {
    if (waits) changed.wait(lock, [&] { return ends || !jobs.empty(); });
    if (jobs.empty()) return;
    const Job job = std::move(jobs.front());
    jobs.pop_front();
    lock.unlock();
    run(job);
    lock.lock();
  }
}

void CompileAhead::Work::finish() {
  if (of_thread == this) of_thread = before;
  {
    const std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_all();
  run_all(false);
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  for (const Job& job : last) run(job);
  last.clear();
}

CUmodule Kernels::State::load(const std::string& source, const std::string& who, const Defines& defines) {
  const Nvrtc& compiler = Nvrtc::get();
  std::vector<std::string> options{compiler.target(device.architecture()), "-std=c++17", "-default-device"};
  if (defines.count(kOwnCode)) options[0] += "a";
  // What is known to stay the same while a kernel runs may be read before it waits.
  if (kernels_wait(source, device.architecture())) options.push_back("-D__restrict__=");
  for (const auto& [name, value] : defines) options.push_back("-D" + name + "=" + value);
  const std::string all = whole(source);
  std::string key = "NVRTC " + compiler.version() + "\n";
  for (const std::string& option : options) key += option + "\n";
  key += all;
  std::shared_ptr<KernelCache> files;
  {
    const std::lock_guard lock(mutex);
    files = cache;
  }
  CUmodule made = nullptr;
  device.enter();
  const auto stored = files->find(key);
  if (stored && driver().module_load(&made, stored->c_str()) == 0) return made;
  const std::string image = compiler.compile(all, who, options);
  check(driver().module_load(&made, image.c_str()), ("loading " + who).c_str());
  files->store(key, image);
  return made;
}

Kernels::State::Module& Kernels::State::module(const std::string& source, const std::string& who,
                                               const Defines& defines) {
  std::unique_lock lock(mutex);
  const auto [at, is_new] = modules.try_emplace({source, defines});
  Module& module = at->second;
  // What failed is tried again: the device may have had no room.
  if (is_new || (module.done && !module.handle)) {
    module.done = false;
    lock.unlock();
    CUmodule made = nullptr;
    std::string error;
    try {
      made = load(source, who, defines);
    } catch (const std::exception& e) {
      error = e.what();
    }
    lock.lock();
    module.handle = made;
    module.error = error;
    module.done = true;
    changed.notify_all();
  } else {
    changed.wait(lock, [&] { return module.done; });
  }
  if (!module.handle) throw Error(module.error);
  return module;
}

bool Kernels::State::has(const Key& key) {
  const std::lock_guard lock(mutex);
  const auto at = modules.find(key);
  return at != modules.end() && at->second.handle;
}

std::shared_ptr<const CUfunction> Kernels::State::function(Module& module, const std::string& entry,
                                                           const std::string& who, size_t shared_bytes) {
  if (shared_bytes > device.shared_bytes())
    throw Error(text(who, " needs ", shared_bytes, " bytes of shared memory; CUDA device ", device.number(), " (",
                     device.name(), ") has ", device.shared_bytes()));
  device.enter();
  const std::lock_guard lock(mutex);
  auto& [function, shared] = module.functions[entry];
  if (!function) {
    CUfunction found = nullptr;
    check(driver().module_function(&found, module.handle, entry.c_str()), ("finding " + who).c_str());
    function = std::make_shared<CUfunction>(found);
  }
  if (shared_bytes > kUsualShared && shared_bytes > shared) {
    check(driver().function_attribute_set(*function, kFunctionMaxDynamicShared, int(shared_bytes)),
          ("asking for shared memory of " + who).c_str());
    shared = shared_bytes;
  }
  return function;
}

Kernels::Kernels(const Device& device) : state_(std::make_unique<State>(device)) {}

Kernels::~Kernels() = default;

Kernel Kernels::get(const std::string& file, const std::string& entry, const Defines& defines, size_t shared_bytes) {
  const std::string who = text("kernel ", entry, " of ", file, " (", defines_text(defines), ")");
  return load({kernel_text(file), defines}, {entry, who, shared_bytes});
}

Kernel Kernels::compile(const std::string& source, const std::string& entry, const Defines& defines,
                        size_t shared_bytes) {
  return load({source, defines},
              {entry, text("generated kernel ", entry, " (", defines_text(defines), ")"), shared_bytes});
}

Kernel Kernels::load(const std::pair<std::string, Defines>& key, const Asked& asked) {
  State& state = *state_;
  const auto now = [&state, key, asked] {
    return state.function(state.module(key.first, asked.who, key.second), asked.entry, asked.who, asked.shared_bytes);
  };
  CompileAhead::Work* const ahead = CompileAhead::Work::of_thread;
  const bool waits = kernels_wait(key.first, state.device.architecture());
  if (!ahead || state.has(key)) return {now(), asked.entry, waits};
  const auto later = std::make_shared<CUfunction>(nullptr);
  ahead->add(key, [later, now] { *later = *now(); });
  return {later, asked.entry, waits};
}

std::string Kernels::keep_in(const std::string& folder) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->cache->folder() == folder) return state_->cache->problem();
  }
  auto made = std::make_shared<KernelCache>(folder);
  const std::lock_guard lock(state_->mutex);
  state_->cache = std::move(made);
  return state_->cache->problem();
}

CompileAhead::CompileAhead() : work_(std::make_unique<Work>()) {}

CompileAhead::~CompileAhead() { work_->finish(); }

void CompileAhead::wait() {
  work_->finish();
  if (work_->error) std::rethrow_exception(work_->error);
}

std::string kernel_text(const std::string& file) {
  const auto& texts = kernel_texts();
  const auto at = texts.find(file);
  if (at == texts.end()) throw Error(text("this library has no kernels in a file named ", file));
  return at->second;
}

}  // namespace providers::cuda
