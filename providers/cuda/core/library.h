// NVIDIA's libraries, opened at run time from the system or from the wheels of PyPI.
#pragma once
#include <string>
#include <vector>

namespace providers::cuda {

/// Opens a library and finds its functions. The handle is never closed: the libraries keep state in the driver.
class Library {
 public:
  /// `what`: its name for messages, "cuBLASLt". `files`: sonames, newest first. Throws Error that lists where it was
  /// looked for and names the package to install.
  /// Looked for in this order: RETORT_CUDA_LIBRARIES (folders, separated by ':'), the loader's own search, the folder
  /// of this plug-in, `nvidia/*/lib` of each site-packages folder of this process, /usr/local/cuda/lib64.
  Library(std::string what, std::vector<std::string> files, std::string package);
  /// The address of a function; throws Error if the library has none of that name.
  void* function(const char* name) const;
  const std::string& path() const { return path_; }

 private:
  std::string what_, path_;
  void* handle_ = nullptr;
};

/// The folders in which libraries are looked for after the loader's own search.
std::vector<std::string> library_folders();
/// Opens libcuda.so.1 from RETORT_CUDA_LIBRARIES or the loader's search; null if there is none.
void* open_driver();
/// The folder for kernels of this user: $XDG_CACHE_HOME/retort/cuda or ~/.cache/retort/cuda; "" if neither is known.
std::string usual_kernel_folder();

}  // namespace providers::cuda
