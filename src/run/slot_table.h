// Holds one slot for each value of the plan, as one run sees it. The table knows which step writes a value, which
// values share memory, and which slots a step reads and writes. The other classes of this room fill the slots.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/advice.h"
#include "plan/plan.h"

namespace retort {

/// Stands for no step, no request and no cache.
inline constexpr uint32_t kNever = ~0u;

/// A tensor whose extents are all numbers.
inline bool is_laid_out(const ValueType& t) { return t.is_tensor() && t.is_static(); }

/// Casts memory that is only read, for Slot::data: no step writes to constants and inputs.
inline void* read_only(const void* data) { return const_cast<void*>(data); }

/// Not thread-safe. The plan must outlive it.
class SlotTable {
 public:
  /// The slots of constants point to their elements; all others are empty.
  explicit SlotTable(const Plan& plan);
  SlotTable(const SlotTable&) = delete;

  const Plan& plan() const { return plan_; }
  Slot& operator[](SlotIndex value) { return slots_[value]; }
  const Slot& operator[](SlotIndex value) const { return slots_[value]; }
  std::span<Slot> all() { return slots_; }
  std::span<const Slot> all() const { return slots_; }

  /// An element is null where an input or output is omitted.
  std::span<Slot* const> inputs_of(uint32_t step) const {
    return {pointers_.data() + first_[step], plan_.steps[step].inputs.size()};
  }
  std::span<Slot* const> outputs_of(uint32_t step) const {
    return {pointers_.data() + first_[step] + plan_.steps[step].inputs.size(), plan_.steps[step].outputs.size()};
  }
  SlotIndex root_of(SlotIndex value) const { return plan_.values[value].root; }
  /// The values that lie in the memory of a root, including itself.
  std::span<const SlotIndex> sharers_of(SlotIndex root) const { return sharers_[root]; }
  /// The step that writes a value; kNever for a constant or a value that the caller gives.
  uint32_t producer_of(SlotIndex value) const { return producer_[value]; }
  /// The number of inputs of a step that lie in the memory of a root.
  size_t reads_of(const Step& step, SlotIndex root) const;

  /// Advice for error messages, such as "check its inputs 'x' float32[2,3], 'axes' int64[1]".
  std::string what_to_check(uint32_t step) const;
  /// Runs `f`; appends the inputs of the step to the message of an Error.
  template <typename F>
  decltype(auto) with_inputs(uint32_t step, F&& f) const {
    return advising([&] { return what_to_check(step); }, std::forward<F>(f));
  }

 private:
  const Plan& plan_;
  std::vector<Slot> slots_;
  std::vector<Slot*> pointers_;  ///< the inputs and outputs of all steps, in one array
  std::vector<uint32_t> first_;  ///< per step: the position of its first input in pointers_
  std::vector<std::vector<SlotIndex>> sharers_;
  std::vector<uint32_t> producer_;
};

}  // namespace retort
