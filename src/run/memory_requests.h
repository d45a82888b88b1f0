// Computes what the values of a segment need of its block of memory: how many bytes, from which step to which. Values
// that share memory share a request: an output may take over the request of an input, and a guest uses that of its
// host. The class reads slots, joins and branches, and changes none of them.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "run/arena.h"
#include "run/branches.h"
#include "run/joins.h"
#include "run/slot_table.h"
#include "run/stretch.h"

namespace retort {

/// Not thread-safe. The arguments of the constructor must outlive it.
class MemoryRequests {
 public:
  struct Occupant {
    SlotIndex root;
    uint32_t request;
  };
  struct List {
    std::vector<ArenaRequest> requests;
    std::vector<Occupant> occupants;  ///< which root uses which request
  };
  /// Steps [begin, end), all of them laid out.
  struct Steps {
    uint32_t begin = 0, end = 0;
    std::span<const Stretch> stretches;
    const Branches& branches;
    const std::vector<uint32_t>& images_of;  ///< per value: 0, or the number of images for which it has memory
  };

  MemoryRequests(const SlotTable& table, const Joins& joins);
  /// Fills `list`, and reuses the memory of its vectors.
  void collect(const Steps& steps, List& list);
  /// Names the value that needs most memory, as "node 'x' (Add), whose output 'y' is float32[9,9]". Empty if the list
  /// has no requests.
  std::string largest(const List& list) const;

 private:
  void request(const Steps& steps, List& list, uint32_t step, SlotIndex out);
  bool reuse_input(const Steps& steps, List& list, uint32_t step, SlotIndex out, size_t bytes);
  bool take_over_input(const Steps& steps, List& list, uint32_t step, size_t input, SlotIndex out, size_t bytes);
  void keep_batches(const Steps& steps, List& list) const;

  const SlotTable& table_;
  const Joins& joins_;
  std::vector<uint32_t> request_of_;  ///< per root: its request in the list being filled
};

}  // namespace retort
