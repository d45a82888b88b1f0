// NVRTC, NVIDIA's compiler of kernels, opened at run time.
#pragma once
#include <string>
#include <vector>

namespace providers::cuda {

/// The compiler. Thread-safe.
class Nvrtc {
 public:
  /// Opened at the first call; throws Error if there is none.
  static const Nvrtc& get();
  /// "", or why there is none. Asked again, it is looked for again.
  static std::string missing();

  /// For keys of compiled kernels: "13.0".
  const std::string& version() const { return version_; }
  /// The newest architecture whose code a device runs and which the compiler knows. Throws Error for devices that are
  /// too old for the compiler.
  int code_for(int architecture) const;
  /// The option that chooses the code for a device: "-arch=sm_90", or "-arch=compute_80" if the compiler does not know
  /// the device: then the driver translates the code.
  std::string target(int architecture) const;
  /// An image for cuModuleLoadData. `who` names the kernel in errors, which have the compiler's log.
  std::string compile(const std::string& text, const std::string& who, const std::vector<std::string>& options) const;

 private:
  struct Functions;
  Nvrtc();
  const Functions* functions_;
  std::string version_;
  std::vector<int> architectures_;  // rising
};

}  // namespace providers::cuda
