#include "ops/ml/common/key_table.h"

namespace retort::ops {

uint32_t& KeyTable::add(uint64_t key, uint32_t value) {
  grow();
  return fill(slots_[slot(key, AnyText{})], key, value);
}

uint32_t& KeyTable::add(std::string_view key, uint32_t value) {
  grow();
  const uint64_t number = hash(key);
  Slot& to = slots_[slot(number, SameText{*this, key})];
  if (to.value == kNone) {
    to.text = uint32_t(texts_.size());
    texts_.emplace_back(key);
  }
  return fill(to, number, value);
}

uint32_t& KeyTable::fill(Slot& to, uint64_t key, uint32_t value) {
  if (to.value == kNone) {
    to.key = key;
    to.value = value;
    ++size_;
  }
  return to.value;
}

// Keeps at least half of the slots free.
void KeyTable::grow() {
  if (2 * (size_ + 1) <= slots_.size()) return;
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  --shift_;
  for (const Slot& s : old) {
    if (s.value != kNone) slots_[slot(s.key, [](const Slot&) { return false; })] = s;
  }
}

}  // namespace retort::ops
