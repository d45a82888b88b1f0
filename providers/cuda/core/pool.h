// Blocks of memory that are cut from segments of the driver, and kept for their next use. Used by memory.cc only, which
// locks around every call.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "driver.h"
#include "memory.h"

namespace providers::cuda {

/// Events of one device, used again: making one costs more than recording it.
class Events {
 public:
  /// An event that was recorded on the stream; null if the driver cannot record it.
  std::shared_ptr<CUevent> record(CUstream stream);

 private:
  // Shared with the events that are out.
  std::shared_ptr<std::vector<CUevent>> idle_ = std::make_shared<std::vector<CUevent>>();
};

/// Work that may still use a block: all that was ordered on `stream` before the event.
struct Mark {
  CUstream stream;  ///< null: a stream that is gone
  std::shared_ptr<CUevent> event;
};

class Pool {
 public:
  /// `take` returns 0 if the driver has no room. Both are called with the device's context current.
  struct Source {
    std::function<Address(size_t bytes)> take;
    std::function<void(Address)> give;
  };
  explicit Pool(Source source) : source_(std::move(source)) {}

  /// See Memory::allocate. `orders`: whether work on `stream` may be told to wait.
  Address allocate(size_t bytes, CUstream stream, bool orders);
  /// Whether the address is a block in use.
  bool owns(Address address) const;
  void release(Address address, const std::vector<Mark>& marks);
  /// The stream's handle may be used again by another stream from now on.
  void forget(CUstream stream);
  void limit(size_t bytes) { statistics_.limit = bytes; }
  /// Returns segments without a block in use to the driver. `waits`: also those that work may still use.
  void trim(bool waits);
  const MemoryStatistics& statistics() const { return statistics_; }

 private:
  struct Chunk {
    size_t bytes = 0;
    Address segment = 0;
    bool used = false;
    std::vector<Mark> marks;  // of a free chunk
  };
  /// Small and larger requests are cut from segments of their own, so that little ones do not break up large ones.
  struct Segment {
    size_t bytes;
    bool large;
  };
  using Chunks = std::map<Address, Chunk>;
  using Fit = std::set<std::pair<size_t, Address>>;

  static bool is_done(Chunk& chunk, CUstream stream);
  Fit& fit(const Chunk& chunk) { return free_[segments_.at(chunk.segment).large]; }
  Chunks::iterator find(size_t bytes, CUstream stream);
  Chunks::iterator find_by_waiting(size_t bytes, CUstream stream, bool orders);
  bool grow(size_t bytes);
  bool add_segment(size_t bytes, bool large);
  Address use(Chunks::iterator at, size_t bytes);
  Chunks::iterator merge(Chunks::iterator at);

  static constexpr size_t kSmall = size_t(1) << 20;
  const Source source_;
  Chunks chunks_;
  std::map<Address, Segment> segments_;
  Fit free_[2];  // of segments for small requests, for larger ones
  MemoryStatistics statistics_;
};

}  // namespace providers::cuda
