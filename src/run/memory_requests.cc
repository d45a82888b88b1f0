#include "run/memory_requests.h"

#include <algorithm>

#include "base/error.h"

namespace retort {

MemoryRequests::MemoryRequests(const SlotTable& table, const Joins& joins)
    : table_(table), joins_(joins), request_of_(table.plan().values.size(), kNever) {}

void MemoryRequests::collect(const Steps& steps, List& list) {
  const Plan& plan = table_.plan();
  list.occupants.clear();
  list.requests.clear();
  std::ranges::fill(request_of_, kNever);
  for (uint32_t i = steps.begin; i < steps.end; ++i) {
    const Step& step = plan.steps[i];
    if (step.view || step.late) continue;
    for (const SlotIndex out : step.outputs) {
      if (out == kNoSlot || plan.values[out].home != Home::arena) continue;
      // the owner's memory is in use from the step that writes its first guest
      const SlotIndex owner = joins_.owner(out);
      if (plan.values[owner].home == Home::arena && !table_[owner].data && request_of_[owner] == kNever)
        request(steps, list, i, owner);
      request_of_[out] = request_of_[owner];
    }
  }
  keep_batches(steps, list);
  steps.branches.keep(list.requests);
  if (plan.reuses_memory) return;
  for (ArenaRequest& r : list.requests) r = {r.bytes, steps.begin, kNever};
}

// Makes the request of a value that this step is the first in the segment to write.
void MemoryRequests::request(const Steps& steps, List& list, uint32_t step, SlotIndex out) {
  const Slot& slot = table_[out];
  size_t bytes = dtype_bytes(slot.type.dtype, slot.count);
  if (steps.images_of[out] > 0) bytes = bytes / size_t(slot.type.shape[0]) * steps.images_of[out];
  if (table_.producer_of(out) == step && reuse_input(steps, list, step, out, bytes)) return;
  const uint32_t last = joins_.last_use(out);
  request_of_[out] = uint32_t(list.requests.size());
  list.occupants.push_back({out, request_of_[out]});
  list.requests.push_back({bytes, step, last < steps.end ? last : kNever});
}

// A step may write its output over an input that no later step needs, if its operator allows that.
bool MemoryRequests::reuse_input(const Steps& steps, List& list, uint32_t index, SlotIndex out, size_t bytes) {
  if (!table_.plan().reuses_memory) return false;
  const Step& step = table_.plan().steps[index];
  const auto take_over = [&](int from, int to) {
    return to >= 0 && size_t(to) < step.outputs.size() && out == step.outputs[size_t(to)] &&
           take_over_input(steps, list, index, size_t(from), out, bytes);
  };
  return (step.op->has(kMayAliasInput0) && take_over(0, 0)) ||
         std::ranges::any_of(step.op->info.in_place,
                             [&](auto& p) { return p.same_bits && take_over(p.input, p.output); });
}

bool MemoryRequests::take_over_input(const Steps& steps, List& list, uint32_t index, size_t input, SlotIndex out,
                                     size_t bytes) {
  const Step& step = table_.plan().steps[index];
  if (input >= step.inputs.size() || step.inputs[input] == kNoSlot) return false;
  const SlotIndex root = table_.root_of(step.inputs[input]);
  const PlanValue& v = table_.plan().values[root];
  const uint32_t place = request_of_[root];
  // only one of them has memory for all images of the stretch
  if (steps.images_of[root] != steps.images_of[out]) return false;
  if (v.home != Home::arena || v.last_use != index || place == kNever || list.requests[place].bytes != bytes)
    return false;
  if (joins_.is_guest(root) || joins_.last_use_of_guests(root) >= index) return false;
  if (steps.branches.is_read_beside(table_, index, root) || table_.reads_of(step, root) != 1) return false;
  const uint32_t last = joins_.last_use(out);
  list.requests[place].last = last < steps.end ? last : kNever;
  list.occupants.push_back({out, place});
  request_of_[out] = place;
  return true;
}

// Keeps what a stretch reads and produces alive from its first step to its last: all steps run for the first images
// before any step runs for the next images.
void MemoryRequests::keep_batches(const Steps& steps, List& list) const {
  for (const Stretch& s : steps.stretches) {
    for (const Stretch::Batched& b : s.values) {
      const uint32_t place = request_of_[table_.root_of(b.slot)];
      if (b.inside || place == kNever) continue;
      ArenaRequest& r = list.requests[place];
      r.first = std::min(r.first, s.begin);
      if (r.last != kNever) r.last = std::max(r.last, s.end - 1);
    }
  }
}

std::string MemoryRequests::largest(const List& list) const {
  const auto bytes = [&](const Occupant& o) { return list.requests[o.request].bytes; };
  const auto most = std::ranges::max_element(list.occupants, {}, bytes);
  if (most == list.occupants.end()) return "";
  const ValueType& type = table_[most->root].type;
  return cat("{}, whose output '{}' is {}{}", table_.plan().steps[table_.producer_of(most->root)].name,
             table_.plan().values[most->root].name, dtype_name(type.dtype), to_string(type.shape));
}

}  // namespace retort
