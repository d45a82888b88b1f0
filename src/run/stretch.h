// Stretches: steps in a row that treat every image of a batch alone and whose values do not fit the caches together. They
// are run a few images at a time from the first to the last step: what lies between them needs the memory of those images
// only, and stays in the caches.
#pragma once
#include <span>
#include <vector>

#include "plan/plan.h"

namespace retort {

struct Stretch {
  struct Batched {
    SlotIndex slot;
    bool inside = false;   ///< made and used up inside: it has memory for the images at hand only
    void* data = nullptr;  ///< of all images, while a StretchView shows some
    size_t image_elements = 0, image_bytes = 0;
  };
  uint32_t begin = 0, end = 0;    ///< steps [begin, end)
  int64_t batch = 0, images = 0;  ///< all, and those that are run together
  std::vector<Batched> values;

  bool contains(uint32_t step) const { return begin <= step && step < end; }
};

/// The stretches among steps [begin, end), all of which are laid out. `runs`: per step whether it does anything.
std::vector<Stretch> find_stretches(const Plan& plan, std::span<const Slot> slots, uint32_t begin, uint32_t end,
                                    const std::vector<char>& runs);

/// The slots of a stretch have some of the images while it lives, all of them before and after. Allocates nothing.
class StretchView {
 public:
  StretchView(Stretch& stretch, std::span<Slot> slots);
  ~StretchView() { show(0, stretch_.batch); }
  StretchView(const StretchView&) = delete;
  /// Images [first, first + count).
  void show(int64_t first, int64_t count);

 private:
  Stretch& stretch_;
  std::span<Slot> slots_;
};

}  // namespace retort
