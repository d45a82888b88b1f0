// Host memory that is counted and may be limited: the workspaces and results of a session, or of several sessions that
// share it, and what callers allocate beside them.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "memory/allocator.h"

namespace retort {

/// Thread-safe. Blocks keep it alive. Make it by std::make_shared.
class CountedMemory : public Allocator, public std::enable_shared_from_this<CountedMemory> {
 public:
  /// Memory of one session.
  CountedMemory() = default;
  /// Memory that sessions share, also for their results. `limit`: bytes that may be in use at the same time; 0: any
  /// number. `source`: where memory comes from; null: the system.
  explicit CountedMemory(size_t limit, std::shared_ptr<Allocator> source = nullptr);

  const MemorySpace& space() const override { return space_; }
  /// For callers. 64-byte aligned; null for 0 bytes. Throws ErrorCode::fail if the limit is exceeded or the source has
  /// no memory.
  void* allocate(size_t bytes) override;
  void* reserve(size_t bytes) override;
  void release(void* memory) noexcept override;
  /// The ten names that ONNX Runtime uses. Extensions and shrinkages count the blocks of workspaces that were allocated
  /// and freed. InUse contains the workspaces that a session keeps for its next run, and the bytes for alignment.
  std::map<std::string, std::string> statistics() const override;

  /// A block for the workspace of runs, and one for a result; they throw like allocate().
  std::shared_ptr<void> workspace(size_t bytes);
  std::shared_ptr<void> result(size_t bytes);
  /// Counts a result that lies elsewhere, until its last owner releases what this returns.
  std::shared_ptr<void> count(std::shared_ptr<void> result, size_t bytes);

  /// `free_idle` frees blocks that are not in use. It is called when a block does not fit in the limit, by any thread
  /// that allocates, until the result is destroyed; it must not allocate here.
  [[nodiscard]] std::shared_ptr<void> offer_room(std::function<void()> free_idle);

  size_t limit() const { return limit_; }
  /// Whether results must come from here: it is shared.
  bool serves_results() const { return serves_results_; }
  /// Whether results that lie elsewhere are to be counted, which takes some time in each run; from count_results() on.
  bool counts_results() const { return counts_results_.load(std::memory_order_relaxed); }
  void count_results() { counts_results_.store(true, std::memory_order_relaxed); }

 private:
  struct Block {
    std::shared_ptr<void> memory;
    size_t requested = 0, held = 0;
  };
  struct Counts {
    size_t in_use = 0, requested = 0, most = 0, largest = 0;
    uint64_t allocations = 0, reserves = 0, extensions = 0, shrinkages = 0;
  };
  bool reserve_room(size_t held);
  void make_room();
  size_t in_use() const;
  Block take(size_t bytes);
  void add(const Block& block);
  std::shared_ptr<void> owned(Block block, bool is_workspace);
  void* keep(size_t bytes, bool reserves);
  void forget(const Block& block, bool is_workspace) noexcept;

  const size_t limit_ = 0;
  const std::shared_ptr<Allocator> source_;
  const bool serves_results_ = false;
  const MemorySpace space_;
  std::atomic<bool> counts_results_{false};
  mutable std::mutex mutex_;
  Counts counts_;                             ///< guarded by mutex_, like the next
  std::unordered_map<void*, Block> callers_;  ///< blocks of allocate() and reserve()
  std::mutex rooms_mutex_;                    ///< guards the next
  std::list<std::function<void()>> rooms_;    ///< of offer_room()
};

}  // namespace retort
