// What the values of a segment ask of its block of memory: how many bytes, from which step to which. Values that share
// memory share a request: an output may take over that of an input, a guest lies in that of its host. Reads slots, joins
// and branches, and changes none of them.
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

/// Not thread-safe. What it is made from must outlive it.
class MemoryRequests {
 public:
  struct Occupant {
    SlotIndex root;
    uint32_t request;
  };
  struct List {
    std::vector<ArenaRequest> requests;
    std::vector<Occupant> occupants;  ///< who is to lie where
  };
  /// Steps [begin, end), all laid out.
  struct Steps {
    uint32_t begin = 0, end = 0;
    std::span<const Stretch> stretches;
    const Branches& branches;
    const std::vector<uint32_t>& images_of;  ///< per value: not 0: it has memory for so many images of its batch only
  };

  MemoryRequests(const SlotTable& table, const Joins& joins);
  /// Keeps the memory of `list`.
  void collect(const Steps& steps, List& list);
  /// "node 'x' (Add), whose output 'y' is float32[9,9]": who asks for most. Empty: nobody asks.
  std::string largest(const List& list) const;

 private:
  void request(const Steps& steps, List& list, uint32_t step, SlotIndex out);
  bool reuse_input(const Steps& steps, List& list, uint32_t step, SlotIndex out, size_t bytes);
  bool take_over_input(const Steps& steps, List& list, uint32_t step, size_t input, SlotIndex out, size_t bytes);
  void keep_batches(const Steps& steps, List& list) const;

  const SlotTable& table_;
  const Joins& joins_;
  std::vector<uint32_t> request_of_;  ///< per root: its request in the list at hand
};

}  // namespace retort
