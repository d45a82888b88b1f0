// The memory of large results, which is kept for the next results after its owners have released it: fresh pages take
// several times as long to write as pages that are in use already.
#pragma once
#include <cstddef>
#include <memory>

namespace retort {

class CountedMemory;

/// The blocks that one session keeps. It keeps at most as many bytes as the results of runs that were under way at the
/// same time needed, and frees what no run used since the trim before the last; every 32nd run trims (kRunsPerTrim).
/// The system may take pages of those beyond 16 MiB when it is short of memory. Thread-safe. Blocks that are in use may
/// outlive it; they are then freed with their last owner.
class KeptBlocks {
 public:
  /// Smaller results come from malloc, which keeps their pages itself.
  static constexpr size_t kLeast = size_t(1) << 20;

  /// `keeps`: whether blocks are kept at all; otherwise every result comes from malloc.
  explicit KeptBlocks(bool keeps = true);
  ~KeptBlocks();
  KeptBlocks(const KeptBlocks&) = delete;

  /// Frees all kept blocks. What runs need from now on counts anew.
  void give_back();
  /// Bytes of the kept blocks.
  size_t bytes() const;

 private:
  friend class ResultMemory;
  struct Block;
  struct State;
  struct Keep;
  std::shared_ptr<State> state_;
};

/// Memory for the results of one run. Not thread-safe; `blocks` must outlive it.
class ResultMemory {
 public:
  /// `shrinks`: nothing is kept of this run and of earlier ones. `counted`: counts all results, and has them
  /// if it serves results; null: they are not counted.
  explicit ResultMemory(KeptBlocks& blocks, bool shrinks = false, CountedMemory* counted = nullptr);
  /// The run has ended; the memory of its results stays valid.
  ~ResultMemory();
  ResultMemory(const ResultMemory&) = delete;

  bool counts() const { return counted_ != nullptr; }
  /// Whether all results must lie in the counted memory.
  bool is_elsewhere() const;
  /// The same memory, counted for a result that was made elsewhere.
  std::shared_ptr<void> count(std::shared_ptr<void> result, size_t bytes) const;
  /// 64-byte aligned memory, uninitialised; from kept blocks if one fits. Throws ErrorCode::fail if there is none.
  std::shared_ptr<void> allocate(size_t bytes);

 private:
  std::shared_ptr<void> take(size_t bytes);

  KeptBlocks& blocks_;
  const bool shrinks_;
  CountedMemory* const counted_;
  size_t taken_ = 0;  ///< bytes of the large blocks of this run
};

}  // namespace retort
