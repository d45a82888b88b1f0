// The workspace: which values share memory, where each lies, and when memory goes back.
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "run/bodies.h"
#include "run/frame.h"

namespace retort {
namespace {

size_t total_bytes(const std::vector<ArenaRequest>& requests) {
  size_t sum = 0;
  for (const ArenaRequest& r : requests) sum += r.bytes;
  return sum;
}

}  // namespace

// A step may write over an input that is not needed any more, where its operator allows that.
bool Frame::reuse_input(Segment& segment, uint32_t index, SlotIndex out, size_t bytes) {
  const Step& step = plan_->steps[index];
  const auto take_over = [&](int from, int to) {
    return to >= 0 && size_t(to) < step.outputs.size() && out == step.outputs[size_t(to)] &&
           take_over_input(segment, index, size_t(from), out, bytes);
  };
  return (step.op->has(kMayAliasInput0) && take_over(0, 0)) ||
         std::ranges::any_of(step.op->info.in_place,
                             [&](auto& p) { return p.same_bits && take_over(p.input, p.output); });
}

bool Frame::take_over_input(Segment& segment, uint32_t index, size_t input, SlotIndex out, size_t bytes) {
  const Step& step = plan_->steps[index];
  if (input >= step.inputs.size() || step.inputs[input] == kNoSlot) return false;
  const SlotIndex root = plan_->values[step.inputs[input]].root;
  const PlanValue& v = plan_->values[root];
  const uint32_t place = request_of_[root];
  if (images_of_[root] != images_of_[out]) return false;  // only one of them is kept for all images of a stretch
  if (v.home != Home::arena || v.last_use != index || place == kNever || segment.requests[place].bytes != bytes)
    return false;
  if (joins_.is_guest(root) || joins_.last_use_of_guests(root) >= index) return false;
  if (is_read_beside(segment, index, root)) return false;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (i != input && step.inputs[i] != kNoSlot && plan_->values[step.inputs[i]].root == root) return false;
  }
  const uint32_t last = joins_.last_use(out);
  segment.requests[place].last = last < segment.end ? last : kNever;
  segment.placed.push_back({out, place});
  request_of_[out] = place;
  return true;
}

// For a value of the segment that step `index` is the first to write to.
void Frame::request_block(Segment& segment, uint32_t index, SlotIndex out) {
  size_t bytes = dtype_bytes(table_[out].type.dtype, table_[out].count);
  if (images_of_[out] > 0) bytes = bytes / size_t(table_[out].type.shape[0]) * images_of_[out];
  if (table_.producer_of(out) == index && reuse_input(segment, index, out, bytes)) return;
  const uint32_t last = joins_.last_use(out);
  request_of_[out] = uint32_t(segment.requests.size());
  segment.placed.push_back({out, request_of_[out]});
  segment.requests.push_back({bytes, index, last < segment.end ? last : kNever});
}

void Frame::request_memory(Segment& segment) {
  segment.placed.clear();
  segment.requests.clear();
  std::fill(request_of_.begin(), request_of_.end(), kNever);
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    const Step& step = plan_->steps[i];
    if (step.view || step.late) continue;
    for (SlotIndex out : step.outputs) {
      if (out == kNoSlot || plan_->values[out].home != Home::arena) continue;
      const SlotIndex owner = joins_.owner(out);  // it has the memory from its first guest on
      if (plan_->values[owner].home == Home::arena && !table_[owner].data && request_of_[owner] == kNever)
        request_block(segment, i, owner);
      request_of_[out] = request_of_[owner];
    }
  }
  keep_batches(segment);
  keep_branches(segment);
}

// Per step: whether it does anything.
std::vector<char> Frame::running(const Segment& segment) const {
  std::vector<char> runs(plan_->steps.size());
  for (uint32_t i = segment.begin; i < segment.end; ++i) runs[i] = !is_settled(i);
  return runs;
}

// Which steps are run a few images at a time.
void Frame::mark_stretches(Segment& segment, const std::vector<char>& runs) {
  segment.stretches = find_stretches(*plan_, table_.all(), segment.begin, segment.end, runs);
  std::fill(images_of_.begin(), images_of_.end(), 0);
  for (const Stretch& s : segment.stretches) {
    for (const Stretch::Batched& b : s.values) images_of_[b.slot] = b.inside ? uint32_t(s.images) : 0;
  }
}

// Which values lie inside others.
// Branches that run at the same time may not write into one value's memory: where there are forks, none lies in another.
void Frame::find_joins(const Segment& segment, const std::vector<char>& runs) {
  const std::vector<char> none(segment.forks.empty() ? 0 : runs.size());
  const auto context = [&](uint32_t i) {
    return RunContext(table_.inputs_of(i), table_.outputs_of(i), plan_->steps[i].state.get(), nullptr, parallel_);
  };
  joins_.find({segment.begin, segment.end, segment.forks.empty() ? runs : none, images_of_, context});
}

// What a stretch reads and leaves behind is kept from its first step to its last: all of them run for the first images
// before any runs for the next.
void Frame::keep_batches(Segment& segment) {
  for (const Stretch& s : segment.stretches) {
    for (const Stretch::Batched& b : s.values) {
      const uint32_t place = request_of_[plan_->values[b.slot].root];
      if (b.inside || place == kNever) continue;
      ArenaRequest& r = segment.requests[place];
      r.first = std::min(r.first, s.begin);
      if (r.last != kNever) r.last = std::max(r.last, s.end - 1);
    }
  }
}

// What needs most of a workspace that cannot be had: "node 'x' (Add), whose output 'y' is float[9,9]".
std::string Frame::largest_output(const Segment& segment) const {
  const auto bytes = [&](const Placed& p) { return segment.requests[p.request].bytes; };
  const auto largest = std::max_element(segment.placed.begin(), segment.placed.end(),
                                        [&](const Placed& a, const Placed& b) { return bytes(a) < bytes(b); });
  if (largest == segment.placed.end()) return "";
  const ValueType& type = table_[largest->root].type;
  return cat("{}, whose output '{}' is {}{}", plan_->steps[table_.producer_of(largest->root)].name,
             plan_->values[largest->root].name, dtype_name(type.dtype), to_string(type.shape));
}

void Frame::allocate_workspace(Segment& segment) {
  segment.memory = nullptr;  // first give back, then take
  segment.memory_bytes = 0;
  try {
    segment.memory = allocate(segment.layout.bytes);
  } catch (Error& e) {
    segment.planned.clear();
    e.add_context(
        cat("a workspace for {} outputs, the largest that of {}", segment.requests.size(), largest_output(segment)));
    throw;
  }
  segment.memory_bytes = segment.layout.bytes;
}

// What to plan for: the requests, larger where they outgrew the last plan.
void Frame::leave_room(Segment& segment) {
  const bool grows = segment.planned.size() == segment.requests.size();
  std::vector<ArenaRequest> last = std::exchange(segment.planned, segment.requests);
  for (size_t i = 0; grows && i < last.size(); ++i) {
    size_t& bytes = segment.planned[i].bytes;
    bytes = bytes > last[i].bytes ? round_up(checked_add(bytes, bytes / 4 + 255, "workspace size") - 255, 256)
                                  : last[i].bytes;
  }
}

// Offsets are kept while every request fits what they were planned for. A second plan leaves room to grow, so that a
// cache that grows by one row a run is planned anew only once in a while.
void Frame::place_segment(Segment& segment) {
  request_memory(segment);
  segment.asked = total_bytes(segment.requests);
  segment.most_asked = std::max(segment.most_asked, segment.asked);
  const auto fits = [](const ArenaRequest& r, const ArenaRequest& p) {
    return r.bytes <= p.bytes && r.first == p.first && r.last == p.last && r.branch == p.branch &&
           r.own_first == p.own_first && r.own_last == p.own_last;
  };
  if (!std::equal(segment.requests.begin(), segment.requests.end(), segment.planned.begin(), segment.planned.end(),
                  fits)) {
    leave_room(segment);
    plan_arena(segment.planned, segment.layout);
    if (budget_ && segment.layout.bytes > budget_->limit()) {
      segment.planned = segment.requests;
      plan_arena(segment.planned, segment.layout);
    }
    if (segment.layout.bytes > segment.memory_bytes) allocate_workspace(segment);
  }
  for (const Placed& p : segment.placed)
    joins_.put(p.root, static_cast<std::byte*>(segment.memory.get()) + segment.layout.offsets[p.request]);
}

void Frame::trim() {
  size_t scratch = 0;
  for (const auto& s : segments_) {
    scratch = std::max(scratch, std::exchange(s->most_scratch, s->scratch));
    const bool roomy = total_bytes(s->planned) > 2 * s->most_asked || s->memory_bytes > 2 * s->layout.bytes;
    s->most_asked = s->asked;
    if (roomy && s->memory_bytes >= kWorthTrimming) drop_memory(*s);
  }
  if (scratch_bytes_ >= kWorthTrimming && scratch_bytes_ > 2 * scratch) drop_scratch();
  for (const auto& b : bodies_) {
    if (b) b->trim();
  }
}

void Frame::give_back() {
  for (const auto& s : segments_) drop_memory(*s);
  drop_scratch();
  for (Slot& slot : table_.all()) slot.kept = Spare();
  device_run_.settle();
  brought_.clear();
  spares_.clear();
  for (const auto& b : bodies_) {
    if (b) b->give_back();
  }
}

}  // namespace retort
