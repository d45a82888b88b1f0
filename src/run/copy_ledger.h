// Every byte that the engine copies on its own account, with the reason.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace retort {

enum class CopyCause : uint8_t {
  bind_input,  ///< an input bound in another memory space was copied when it was bound
  alias,       ///< an output overlaps an input in a way that is not provably safe: it was staged
  dynamic,     ///< an output whose size only the data tells was copied into the caller's buffer
  read_back,   ///< the caller asked for a value in host memory
};
inline constexpr int kCopyCauses = 4;

/// Thread-safe counters; one per session.
class CopyLedger {
 public:
  void add(CopyCause cause, size_t bytes) {
    bytes_[size_t(cause)].fetch_add(bytes, std::memory_order_relaxed);
    count_[size_t(cause)].fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t bytes(CopyCause cause) const { return bytes_[size_t(cause)].load(std::memory_order_relaxed); }
  uint64_t count(CopyCause cause) const { return count_[size_t(cause)].load(std::memory_order_relaxed); }
  uint64_t total_bytes() const {
    uint64_t sum = 0;
    for (const auto& b : bytes_) sum += b.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  std::atomic<uint64_t> bytes_[kCopyCauses] = {};
  std::atomic<uint64_t> count_[kCopyCauses] = {};
};

}  // namespace retort
