// Memory that the host cannot read, and copies to and from it.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace loopback {

/// A device. Its memory is an unnamed file that is mapped twice: once without access, which gives the addresses for
/// hosts, and once for the device itself. A host that accesses such an address always crashes, whatever kernels run at
/// that time; kernels and copies convert an address to the device's own by `behind`.
class Device {
 public:
  static Device& get(int number);

  /// An address for the host; null if the memory is full. Zero bytes have an address of their own, too.
  void* allocate(size_t bytes);
  void release(void* address);
  /// Host memory that the device can access as well.
  void* allocate_pinned(size_t bytes);
  void release_pinned(void* address);
  /// The device's own address of a range. Throws if no allocated block contains the whole range.
  std::byte* behind(const void* address, size_t bytes) const;

 private:
  Device();
  char* shown_ = nullptr;  // for hosts; any access crashes
  char* own_ = nullptr;
  mutable std::mutex mutex_;
  std::map<size_t, size_t> free_, used_;  // offset to size
  std::map<const char*, size_t> pinned_;
  int file_ = -1;
};

/// Device memory for a kernel's own use, freed by the last owner.
std::shared_ptr<void> scratch(Device& device, size_t bytes);

/// One end of a copy: an address on a device, or on the host if `device` is null.
struct Place {
  Device* device;
  void* address;
};
/// Counts a copy when it is submitted, which is before it is done.
void count_copy(const Place& from, const Place& to, size_t bytes);
/// Copies in the time that the options set.
void copy(const Place& from, const Place& to, size_t bytes, int stream);

}  // namespace loopback
