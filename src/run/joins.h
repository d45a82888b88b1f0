// Values that lie inside others: what a Concat joins is written where it will lie, and what a Split cuts is read where it
// lies (docs/adr/0015-joined-values.md). A guest is such a value, its host the one whose memory it lies in; a host may be a
// guest in turn.
#pragma once
#include <vector>

#include "base/function_ref.h"
#include "run/slot_table.h"

namespace retort {

/// Not thread-safe. What it is made from must outlive it.
class Joins {
 public:
  explicit Joins(SlotTable& table);

  /// Steps [begin, end), all laid out, of which `runs` tells those that do anything.
  struct Steps {
    uint32_t begin = 0, end = 0;
    const std::vector<char>& runs;
    const std::vector<uint32_t>& images_of;  ///< per value: not 0: it has memory for so many images of its batch only
    FunctionRef<RunContext(uint32_t step)> context;
  };
  /// Finds the guests among the values that the steps make, and sets the row strides of their slots. Guests of earlier
  /// steps stay.
  void find(const Steps& steps);

  /// The value in whose memory a root lies at the end; the root itself when it is no guest.
  SlotIndex owner(SlotIndex root) const;
  bool is_guest(SlotIndex root) const { return guests_[root].host != kNoSlot; }
  /// The last step that touches a guest of a root, or a guest of one; 0: there is none.
  uint32_t last_use_of_guests(SlotIndex root) const;
  bool has_guests(SlotIndex root) const { return guests_[root].first != kNoSlot; }
  uint32_t last_use(SlotIndex root) const;
  /// Whether all that a step would move is where it should be.
  bool is_in_place(uint32_t step) const { return in_place_[step]; }
  /// Gives a root its memory (null: none): all that share it and its guests, guests of those included.
  void put(SlotIndex root, void* data);
  /// f(guest, bytes from the host's first)
  template <typename F>
  void for_guests(SlotIndex root, const F& f) const {
    for (SlotIndex g = guests_[root].first; g != kNoSlot; g = guests_[g].next) f(g, guests_[g].offset);
  }

 private:
  struct Guest {
    SlotIndex host = kNoSlot;
    SlotIndex next = kNoSlot;   ///< guest of the same host
    SlotIndex first = kNoSlot;  ///< of its own guests
    size_t offset = 0;          ///< bytes
    uint32_t depth = 0;         ///< so many hosts, one inside the other
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
  std::vector<Guest> guests_;   ///< by root
  std::vector<char> in_place_;  ///< by step
};

}  // namespace retort
