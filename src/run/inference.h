// Computes what follows from the types of the inputs: the concrete type of every value, as far as it does not depend on
// content, and content that follows from shapes. Writes types, counts, known content and settled data of slots.
// Allocates memory only for values that own their memory (strings, settled content).
#pragma once
#include <span>
#include <vector>

#include "run/slot_table.h"

namespace retort {

/// Not thread-safe. The table must outlive it.
class Inference {
 public:
  explicit Inference(SlotTable& table);

  /// Stores the types of the inputs; returns whether they equal those that were stored before.
  bool take_types(std::span<const Value* const> inputs);
  /// Forgets the outputs of step `step` and of all later steps.
  void forget_from(uint32_t step);
  /// Forgets content that was read from memory, which is valid for one run only.
  void forget_content();
  /// Infers from step `begin` on. Returns the first step that needs content which has not been computed yet, or the
  /// number of steps. An Error names the step.
  uint32_t infer_from(uint32_t begin);
  /// Whether a step that was inferred has nothing left to run.
  bool is_settled(uint32_t step) const;

 private:
  bool inputs_known(const Step& step) const;
  bool infer(uint32_t step);
  bool settle_content(const Step& step);
  void settle_memory(const Step& step);

  SlotTable& table_;
  std::vector<char> settled_;  ///< per value: whether its content follows from shapes and has been written
  DimTable dims_;
};

}  // namespace retort
