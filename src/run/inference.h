// What the types of the inputs settle: the concrete type of every value, as far as it follows from them, and content that
// follows from shapes. Writes types, counts, known content and settled data of slots; asks for no memory but that of
// values that have memory of their own (strings, settled content).
#pragma once
#include <span>
#include <vector>

#include "run/slot_table.h"

namespace retort {

/// Not thread-safe. The table must outlive it.
class Inference {
 public:
  explicit Inference(SlotTable& table);

  /// Stores the types of the inputs; true when they equal those that were stored before.
  bool take_types(std::span<const Value* const> inputs);
  /// Forgets what steps from `step` on produced.
  void forget_from(uint32_t step);
  /// Content that was read from memory holds for one run only: forgets it.
  void forget_content();
  /// Infers from step `begin` on; returns the first step that needs content which has not been computed yet, or the number
  /// of steps. An Error names the step.
  uint32_t infer_from(uint32_t begin);
  /// Whether nothing of a step that was inferred is left to run.
  bool is_settled(uint32_t step) const;

 private:
  bool inputs_known(const Step& step) const;
  bool infer(uint32_t step);
  bool settle_content(const Step& step);
  void settle_memory(const Step& step);

  SlotTable& table_;
  std::vector<char> settled_;  ///< per value: its content follows from shapes and is in place
  DimTable dims_;
};

}  // namespace retort
