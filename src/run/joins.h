// Finds values that can lie inside others: the inputs of a Concat are written directly into its output, and the outputs
// of a Split are read directly in its input (docs/adr/0015-joined-values.md). The smaller value is a guest, and its
// host is the value whose memory it lies in. A host may itself be a guest.
#pragma once
#include <vector>

#include "base/function_ref.h"
#include "run/slot_table.h"

namespace retort {

/// Not thread-safe. The arguments of the constructor must outlive it.
class Joins {
 public:
  explicit Joins(SlotTable& table);

  /// Steps [begin, end), all of them laid out.
  struct Steps {
    uint32_t begin = 0, end = 0;
    const std::vector<char>& runs;
    const std::vector<uint32_t>& images_of;  ///< per value: 0, or the number of images for which it has memory
    FunctionRef<RunContext(uint32_t step)> context;
  };
  /// Finds the guests among the values that the steps make, and sets the row strides of their slots. Guests of earlier
  /// steps are kept.
  void find(const Steps& steps);

  /// The outermost host of a root; the root itself if it is not a guest.
  SlotIndex owner(SlotIndex root) const;
  bool is_guest(SlotIndex root) const { return guests_[root].host != kNoSlot; }
  /// The last step that uses a guest of a root, or a guest of a guest; 0 if there is none.
  uint32_t last_use_of_guests(SlotIndex root) const;
  bool has_guests(SlotIndex root) const { return guests_[root].first != kNoSlot; }
  uint32_t last_use(SlotIndex root) const;
  /// Whether everything that the step would copy is already in its place.
  bool is_in_place(uint32_t step) const { return in_place_[step]; }
  /// Sets the memory of a root (null: none), of all values that share it, and of its guests and theirs.
  void put(SlotIndex root, void* data);
  /// Calls f(guest, offset in bytes from the host's first byte).
  template <typename F>
  void for_guests(SlotIndex root, const F& f) const {
    for (SlotIndex g = guests_[root].first; g != kNoSlot; g = guests_[g].next) f(g, guests_[g].offset);
  }

 private:
  struct Guest {
    SlotIndex host = kNoSlot;
    SlotIndex next = kNoSlot;   ///< the next guest of the same host
    SlotIndex first = kNoSlot;  ///< the first of its own guests
    size_t offset = 0;          ///< in bytes
    uint32_t depth = 0;         ///< number of hosts around it, one inside the other
  };

  void forget(uint32_t begin);
  void link(SlotIndex root, SlotIndex host);
  void join_inputs(const Steps& steps, uint32_t step);
  void cut_input(const Steps& steps, uint32_t step);
  bool adopt(const Steps& steps, uint32_t step, size_t input);
  bool make_guest(const Steps& steps, SlotIndex part, SlotIndex whole, const Piece& piece, bool is_cut);
  bool may_move(const Steps& steps, SlotIndex root) const;
  bool may_have_rows(const Steps& steps, SlotIndex root, bool is_cut) const;
  std::optional<Piece> as_a_whole(const Steps& steps, uint32_t step, size_t input) const;
  SlotIndex cut_from(SlotIndex root) const;

  const Plan& plan_;
  SlotTable& table_;
  std::vector<Guest> guests_;   ///< per root
  std::vector<char> in_place_;  ///< per step
};

}  // namespace retort
