// A stretch is a series of steps that treat every image of a batch alone and whose values do not fit the caches
// together. It runs for a few images at a time, from the first step to the last: values inside it need memory for those
// images only, and stay in the caches.
#pragma once
#include <span>
#include <vector>

#include "plan/plan.h"

namespace retort {

struct Stretch {
  struct Batched {
    SlotIndex slot;
    bool inside = false;   ///< only steps of the stretch use it, so it has memory for the current images only
    void* data = nullptr;  ///< the address for all images, while a StretchView shows some of them
    size_t image_elements = 0, image_bytes = 0;
  };
  uint32_t begin = 0, end = 0;    ///< steps [begin, end)
  int64_t batch = 0, images = 0;  ///< number of images in all, and of images that run together
  std::vector<Batched> values;

  bool contains(uint32_t step) const { return begin <= step && step < end; }
};

/// Finds the stretches among steps [begin, end), all of which are laid out. `runs` says per step whether it is active.
std::vector<Stretch> find_stretches(const Plan& plan, std::span<const Slot> slots, uint32_t begin, uint32_t end,
                                    const std::vector<char>& runs);

/// During its lifetime, the slots of a stretch show some of the images; before and after, they show all of them.
/// Allocates nothing.
class StretchView {
 public:
  StretchView(Stretch& stretch, std::span<Slot> slots);
  ~StretchView() { show(0, stretch_.batch); }
  StretchView(const StretchView&) = delete;
  /// Shows images [first, first + count).
  void show(int64_t first, int64_t count);

 private:
  Stretch& stretch_;
  std::span<Slot> slots_;
};

}  // namespace retort
