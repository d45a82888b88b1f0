// Memory that the host cannot read, and the copies to and from it.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace loopback {

/// A device. Its memory is a file without a name that is mapped twice: once with no access, whose addresses are what hosts
/// get, and once for the device itself. A host that touches an address crashes, at any time, whatever kernels run
/// meanwhile; kernels and copies turn an address into the device's own by `behind`.
class Device {
 public:
  static Device& get(int number);

  /// An address for the host; null where the memory is full. Zero bytes have an address of their own as well.
  void* allocate(size_t bytes);
  void release(void* address);
  /// Memory of the host that the device can reach, too.
  void* allocate_pinned(size_t bytes);
  void release_pinned(void* address);
  /// The device's own view of a range. Throws where no living block holds all of it.
  std::byte* behind(const void* address, size_t bytes) const;

 private:
  Device();
  char* shown_ = nullptr;  // to hosts: nobody may touch it
  char* own_ = nullptr;
  mutable std::mutex mutex_;
  std::map<size_t, size_t> free_, used_;  // offset to size
  std::map<const char*, size_t> pinned_;
  int file_ = -1;
};

/// Memory of a device for a kernel's own use, given back with the last owner.
std::shared_ptr<void> scratch(Device& device, size_t bytes);

/// One end of a copy: an address on a device, or on the host for null.
struct Place {
  Device* device;
  void* address;
};
/// Counted when it is ordered, which is before it is done.
void count_copy(const Place& from, const Place& to, size_t bytes);
/// Takes as long as the options say.
void copy(const Place& from, const Place& to, size_t bytes, int stream);

}  // namespace loopback
