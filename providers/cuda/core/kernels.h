// Kernels: source text, compiled by NVRTC for the current device when it is first needed, and kept.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver.h"

namespace providers::cuda {

class Device;

/// Macros for one compilation: {"TYPE", "f16"}. Sorted, so that equal ones give equal keys. NVRTC has templates of its own
/// before the text, whose parameters have names of one letter: a macro of such a name breaks them.
using Defines = std::map<std::string, std::string>;
/// A macro that asks for the instructions that only the device's own architecture has ("sm_90a").
constexpr const char* kOwnCode = "OWN_CODE";

/// A kernel of a loaded module; valid as long as the process.
struct Kernel {
  std::shared_ptr<const CUfunction> loaded;
  std::string name;
  /// It waits for the kernels before it, as do all of its text: it may be launched while they run.
  bool waits = false;
  /// Null while a CompileAhead works on it.
  CUfunction function() const { return loaded ? *loaded : nullptr; }
};

/// The compiled kernels of a device. Thread-safe; a kernel that several threads ask for is compiled once.
class Kernels {
 public:
  explicit Kernels(const Device& device);
  ~Kernels();
  /// `file`: a file of providers/cuda/kernels ("softmax.cu"), which is part of this library. `entry`: an
  /// `extern "C" __global__` function of it. Throws Error with NVRTC's log if it does not compile.
  /// `shared_bytes`: the most dynamic shared memory that a launch will ask for.
  Kernel get(const std::string& file, const std::string& entry, const Defines& defines = {}, size_t shared_bytes = 0);
  /// A kernel whose text was generated. The text follows kernels/prelude.cuh, like that of files.
  Kernel compile(const std::string& text, const std::string& entry, const Defines& defines = {},
                 size_t shared_bytes = 0);
  /// Folder in which compiled kernels are kept between processes; "" for none. Wrong or damaged files are compiled
  /// again. Its files are written whole under another name first. Returns "", or why nothing can be written there.
  std::string keep_in(const std::string& folder);

 private:
  friend class CompileAhead;
  struct State;
  struct Asked {
    std::string entry, who;
    size_t shared_bytes;
  };
  Kernel load(const std::pair<std::string, Defines>& key, const Asked& asked);
  std::unique_ptr<State> state_;
};

/// While it lives, other threads compile the kernels that this thread asks for, several at once. They may be used after
/// `wait`.
class CompileAhead {
 public:
  CompileAhead();
  /// Waits, too.
  ~CompileAhead();
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;
  /// Throws the first Error of a kernel. Kernels that are asked for later are compiled at once.
  void wait();

 private:
  friend class Kernels;
  struct Work;
  std::unique_ptr<Work> work_;
};

/// The text of a file of providers/cuda/kernels; throws Error for a name that it does not have. Made by the build.
std::string kernel_text(const std::string& file);

}  // namespace providers::cuda
