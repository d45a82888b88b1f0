// Counts every byte that the engine copies by itself, with the tensor and the reason.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/memory_space.h"

namespace retort {

enum class CopyCause : uint8_t {
  bind_input,  ///< an input was bound in a memory other than the one that the plan reads it from
  run_input,   ///< an input was given to a run in another memory
  border,      ///< a step wrote a value in one memory, and another step reads it in another
  output,      ///< an output was requested in a memory other than the one that the plan writes it in
  alias,       ///< an output overlaps an input in a way that is not provably safe, so it was staged
  dynamic,     ///< an output whose size depends on data was copied to the caller's buffer
};
std::string_view copy_cause_name(CopyCause cause);

/// Copies of one tensor for one reason in one direction.
struct CopyRecord {
  std::string tensor;
  CopyCause cause = CopyCause::border;
  MemorySpace from, to;
  uint64_t bytes = 0, count = 0;  ///< of all these copies
};

/// Thread-safe counters; one per session.
class CopyLedger {
 public:
  /// The counts are also added to `session`, if it is not null.
  explicit CopyLedger(CopyLedger* session = nullptr) : session_(session) {}
  void add(CopyCause cause, std::string_view tensor, const MemorySpace& from, const MemorySpace& to, size_t bytes);
  uint64_t total_bytes() const { return total_.load(std::memory_order_relaxed); }
  /// In the order of the first copies.
  std::vector<CopyRecord> records() const;
  /// {"total_bytes", "copies": [{"tensor", "cause", "direction", "from", "to", "bytes", "count"}]}
  std::string json() const;
  /// Replaces the file; throws fail if that is not possible.
  void write(const std::string& path) const;

 private:
  CopyLedger* const session_;
  std::atomic<uint64_t> total_{0};
  mutable std::mutex mutex_;
  std::vector<CopyRecord> records_;
};

}  // namespace retort
