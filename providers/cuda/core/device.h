// A CUDA device with what this process keeps on it: its context, memory and compiled kernels.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "common/api.h"
#include "driver.h"

namespace providers::cuda {

class Memory;
class Kernels;
class Products;
class Convolutions;
class Attentions;
namespace dnn {
class Handles;
}

/// One per device of this process, made at its first use, never destroyed (the driver may be gone at exit).
/// Thread-safe.
class Device {
 public:
  /// Number of devices; 0 without a driver.
  static int count();
  /// Throws Error for a number that no device has.
  static Device& get(int number);

  int number() const { return number_; }
  const std::string& name() const { return name_; }
  const std::string& bus_id() const { return bus_id_; }  ///< "0000:01:00.0", lower case
  int architecture() const { return architecture_; }     ///< 90 for compute capability 9.0
  int multiprocessors() const { return multiprocessors_; }
  size_t shared_bytes() const { return shared_bytes_; }  ///< the most dynamic shared memory of a block
  size_t total_bytes() const { return total_bytes_; }
  size_t available_bytes() const;

  /// Makes the device's primary context current on this thread. Every entry point of the library that calls the driver
  /// begins with it.
  void enter() const;
  /// The same for destructors: at the exit of the process the driver may be gone already. Whether it is there.
  bool try_enter() const noexcept;

  Memory& memory() { return *memory_; }     ///< memory.h
  Kernels& kernels() { return *kernels_; }  ///< kernels.h
  Products& products();                     ///< products.h: cuBLASLt, opened at the first use
  Convolutions& convolutions();             ///< convolutions.h: cuDNN, opened at the first use
  Attentions& attentions();                 ///< attentions.h: cuDNN, opened at the first use

 private:
  explicit Device(int number);
  ~Device();

  const int number_;
  CUdevice handle_ = 0;
  mutable std::once_flag entered_;
  mutable CUcontext context_ = nullptr;  // made by the first `enter`
  std::string name_, bus_id_;
  int architecture_ = 0, multiprocessors_ = 0;
  size_t shared_bytes_ = 0, total_bytes_ = 0;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Kernels> kernels_;
  std::mutex mutex_;  // of what is made at its first use
  std::unique_ptr<Products> products_;
  std::unique_ptr<dnn::Handles> handles_;  // of cuDNN; before those who use them
  std::unique_ptr<Convolutions> convolutions_;
  std::unique_ptr<Attentions> attentions_;
};

}  // namespace providers::cuda
