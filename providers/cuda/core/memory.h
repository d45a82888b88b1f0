// Device memory from a cache of blocks that were freed, and pinned host memory. Allocation and release are ordered with
// the work of streams: a block that is freed is used again only by work that follows the work that still uses it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "driver.h"

namespace providers::cuda {

class Device;

struct MemoryStatistics {
  int64_t allocations = 0;                                      ///< calls that returned memory
  int64_t from_driver = 0;                                      ///< blocks that the driver made
  size_t in_use = 0, most_in_use = 0, reserved = 0, limit = 0;  ///< bytes; reserved: taken from the driver
};

/// The memory of one device. Thread-safe.
class Memory {
 public:
  explicit Memory(const Device& device);

  /// At least `bytes` (256 for 0), aligned to 256 bytes. `stream`: the work that first uses the memory is ordered
  /// there; null: it may be used anywhere at once. 0 if the device or the limit has no room, after idle blocks were
  /// returned to the driver.
  Address allocate(size_t bytes, CUstream stream);
  /// Work that was ordered on any stream of this process until now may still use the memory. Null is ignored.
  void release(Address address);
  void* allocate_pinned(size_t bytes);
  void release_pinned(void* memory);

  /// Streams whose work may use this memory: `release` waits for them. Streams of the application count as well.
  void add_stream(CUstream stream);
  void remove_stream(CUstream stream);
  void drop_stream(CUstream stream);  ///< for all who have added it, before it is destroyed

  /// Begins a capture on the stream. Unlike a call of the driver, no other thread asks the stream about its work then.
  CUresult begin_capture(CUstream stream, int mode);

  /// Registers what gives up memory that is kept for later: it is called before an allocation fails. It may release
  /// memory, but not allocate. Returns its number.
  int add_spare(std::function<void()> give_up);
  /// Waits for a call in progress.
  void remove_spare(int number);

  void limit(size_t bytes);                    ///< of all blocks together; 0: none
  void trim();                                 ///< returns idle blocks to the driver
  MemoryStatistics statistics() const;         ///< of device memory
  MemoryStatistics pinned_statistics() const;  ///< of pinned host memory; it has no limit

 private:
  struct State;
  const Device& device_;
  std::shared_ptr<State> state_;
};

/// A block of device memory that is released with its last owner. Throws Error if there is no room, naming the bytes.
class Block {
 public:
  Block() = default;
  Block(Device& device, size_t bytes, CUstream stream = nullptr);
  Block(Block&& other) noexcept : device_(other.device_), address_(other.address_), bytes_(other.bytes_) {
    other.address_ = 0;
  }
  Block& operator=(Block&& other) noexcept;
  ~Block();
  Address address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  Address address_ = 0;
  size_t bytes_ = 0;
};

}  // namespace providers::cuda
