// Laying out a run: concrete shapes by inference, shape arithmetic done away with, offsets for what remains.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "memory/host.h"
#include "plan/in_step.h"
#include "run/bodies.h"
#include "run/frame.h"

namespace retort {
namespace {

constexpr size_t kMostElements = SIZE_MAX / 64;  // bytes of that many elements, and of some copies, can be counted

size_t total_bytes(const std::vector<ArenaRequest>& requests) {
  size_t sum = 0;
  for (const ArenaRequest& r : requests) sum += r.bytes;
  return sum;
}

// Content as the element type of the tensor wants it.
template <typename T>
void write_content(const Slot& slot, void* to) {
  for (size_t i = 0; i < slot.known.size(); ++i) static_cast<T*>(to)[i] = T(slot.known[i]);
}

bool materialise(Slot& slot) {
  switch (slot.type.dtype) {
    case DType::i64:
      slot.data = slot.known.data();
      return true;
    case DType::i32:
    case DType::boolean:
      break;
    default:
      return false;
  }
  Tensor t(slot.type.dtype, slot.type.shape);
  slot.type.dtype == DType::i32 ? write_content<int32_t>(slot, t.mutable_data())
                                : write_content<bool>(slot, t.mutable_data());
  slot.data = t.mutable_data();
  slot.boxed = std::move(t);
  return true;
}

}  // namespace

std::span<Slot* const> Frame::inputs_of(uint32_t step) const {
  return {pointers_.data() + io_[step], plan_->steps[step].inputs.size()};
}

std::span<Slot* const> Frame::outputs_of(uint32_t step) const {
  return {pointers_.data() + io_[step] + plan_->steps[step].inputs.size(), plan_->steps[step].outputs.size()};
}

// Stores the types of the inputs; true when they equal those of the last layout.
bool Frame::take_signature(const RunRequest& request) {
  bool same = laid_out_;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    Slot& slot = slots_[plan_->inputs[i]];
    const Value* v = request.inputs[i];
    const Tensor* t = v ? v->tensor() : nullptr;
    if (!t) {  // a boxed value, or an optional that was left out
      if (!slot.type.is_tensor()) continue;
      same = false;
      slot.type = plan_->values[plan_->inputs[i]].type;
      slot.count = 0;
      continue;
    }
    if (slot.type.dtype == t->dtype() && slot.type.ranked && slot.type.shape == t->shape()) continue;
    same = false;
    slot.type.kind = ValueType::Kind::tensor;
    slot.type.dtype = t->dtype();
    slot.type.ranked = true;
    slot.type.shape.assign(t->shape());
    slot.count = t->count();
  }
  return same;
}

// Forgets what steps from `step` on produced.
void Frame::reset_from(uint32_t step) {
  for (uint32_t i = step; i < plan_->steps.size(); ++i) {
    for (Slot* s : outputs_of(i)) {
      if (!s) continue;
      s->type.kind = ValueType::Kind::unknown;
      s->type.ranked = false;
      s->data = nullptr;
      s->count = 0;
      s->has_known = false;
      if (plan_->steps[i].late) s->boxed = Value();
    }
    for (SlotIndex out : plan_->steps[i].outputs) {
      if (out != kNoSlot) settled_[out] = false;
    }
  }
}

// Content that inference read from memory holds for one run only.
void Frame::forget_content() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!settled_[i] && plan_->values[i].home != Home::constant) slots_[i].has_known = false;
  }
}

bool Frame::inputs_known(const Step& step) const {
  return std::all_of(step.inputs.begin(), step.inputs.end(), [&](SlotIndex v) {
    if (v == kNoSlot) return true;
    const Slot& s = slots_[v];
    return is_laid_out(s.type) || (!s.boxed.empty() && !s.boxed.tensor());
  });
}

// False when the step needs content that has not been computed yet.
bool Frame::infer_step(uint32_t index) {
  const Step& step = plan_->steps[index];
  InferContext context(dims_, nullptr, inputs_of(index), outputs_of(index));
  try {
    step.op->infer(step.params.get(), context);
  } catch (NotYetKnown) {
    return false;
  }
  for (Slot* s : outputs_of(index)) {
    if (!s) continue;
    if (!is_laid_out(s->type)) return false;
    s->count = element_count(s->type.shape);
    if (s->count > kMostElements) {
      fail(ErrorCode::invalid_argument, "an output {}{} is more than any memory holds; make its inputs smaller",
           dtype_name(s->type.dtype), to_string(s->type.shape));
    }
  }
  return true;
}

bool Frame::lay_out_step(uint32_t index) {
  if (!inputs_known(plan_->steps[index]) || !infer_step(index)) return false;
  settle_memory(index);
  return true;
}

// True when every output's content follows from shapes: the step has nothing to run.
bool Frame::settle_content(uint32_t index) {
  const Step& step = plan_->steps[index];
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] == kNoSlot) continue;
    const Slot& s = slots_[step.outputs[i]];
    if (!s.has_known || plan_->values[step.outputs[i]].home != Home::arena || s.known.size() != s.count) return false;
    if (!std::all_of(s.known.begin(), s.known.end(), is_known)) return false;
  }
  for (SlotIndex out : step.outputs) {
    if (out == kNoSlot) continue;
    if (!materialise(slots_[out])) return false;
    settled_[out] = true;
  }
  return true;
}

// What a laid-out step's outputs share or own; arena memory comes later, for the whole segment.
void Frame::settle_memory(uint32_t index) {
  const Step& step = plan_->steps[index];
  if (step.view) {
    const SlotIndex in = step.inputs[0], out = step.outputs[0];
    slots_[out].data = slots_[in].data;
    settled_[out] = settled_[in];
    return;
  }
  if (settle_content(index)) return;
  for (SlotIndex out : step.outputs) {
    if (out == kNoSlot || plan_->values[out].home != Home::boxed) continue;
    Tensor t(slots_[out].type.dtype, slots_[out].type.shape);
    slots_[out].data = t.mutable_data();
    slots_[out].boxed = std::move(t);
  }
}

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
  if (v.home != Home::arena || v.last_use != index || place == kNever || segment.requests[place].bytes != bytes)
    return false;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (i != input && step.inputs[i] != kNoSlot && plan_->values[step.inputs[i]].root == root) return false;
  }
  const uint32_t last = plan_->values[out].last_use;
  segment.requests[place].last = last < segment.end ? last : kNever;
  segment.placed.push_back({out, place});
  request_of_[out] = place;
  return true;
}

void Frame::request_memory(Segment& segment) {
  segment.placed.clear();
  segment.requests.clear();
  std::fill(request_of_.begin(), request_of_.end(), kNever);
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    const Step& step = plan_->steps[i];
    if (step.view || step.late) continue;
    for (SlotIndex out : step.outputs) {
      if (out == kNoSlot || plan_->values[out].home != Home::arena || slots_[out].data) continue;
      const size_t bytes = dtype_bytes(slots_[out].type.dtype, slots_[out].count);
      if (reuse_input(segment, i, out, bytes)) continue;
      const uint32_t last = plan_->values[out].last_use;
      request_of_[out] = uint32_t(segment.requests.size());
      segment.placed.push_back({out, request_of_[out]});
      segment.requests.push_back({bytes, i, last < segment.end ? last : kNever});
    }
  }
}

std::string Frame::what_to_check(uint32_t index) const {
  constexpr size_t kMostShown = 6;
  std::string text;
  for (size_t i = 0, shown = 0; i < plan_->steps[index].inputs.size() && shown < kMostShown; ++i) {
    const SlotIndex in = plan_->steps[index].inputs[i];
    if (in == kNoSlot) continue;
    const ValueType& type = slots_[in].type;
    text += cat("{}'{}'", shown++ ? ", " : "its inputs ", plan_->values[in].name);
    if (is_laid_out(type)) text += cat(" {}{}", dtype_name(type.dtype), to_string(type.shape));
  }
  return text.empty() ? "check its attributes" : "check " + text;
}

// What needs most of a workspace that cannot be had: "node 'x' (Add), whose output 'y' is float[9,9]".
std::string Frame::largest_output(const Segment& segment) const {
  const auto bytes = [&](const Placed& p) { return segment.requests[p.request].bytes; };
  const auto largest = std::max_element(segment.placed.begin(), segment.placed.end(),
                                        [&](const Placed& a, const Placed& b) { return bytes(a) < bytes(b); });
  if (largest == segment.placed.end()) return "";
  const ValueType& type = slots_[largest->root].type;
  return cat("{}, whose output '{}' is {}{}", plan_->steps[producer_[largest->root]].name,
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
    return r.bytes <= p.bytes && r.first == p.first && r.last == p.last;
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
    set_data(p.root, static_cast<std::byte*>(segment.memory.get()) + segment.layout.offsets[p.request]);
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
  for (const auto& b : bodies_) {
    if (b) b->give_back();
  }
}

void Frame::set_data(SlotIndex root, void* data) {
  for (SlotIndex m : members_[root]) slots_[m].data = data;
}

void Frame::reserve_scratch(Segment& segment) {
  const Step* largest = nullptr;
  segment.scratch = 0;
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    const Step& step = plan_->steps[i];
    if (!step.op->scratch || step.view || step.late) continue;
    const RunContext probe(inputs_of(i), outputs_of(i), step.state.get(), nullptr, parallel_);
    const size_t bytes =
        in_step(step, [&] { return with_inputs(i, [&] { return step.op->scratch(step.params.get(), probe); }); });
    if (bytes > segment.scratch) largest = &step;
    segment.scratch = std::max(segment.scratch, bytes);
  }
  segment.most_scratch = std::max(segment.most_scratch, segment.scratch);
  if (segment.scratch <= scratch_bytes_) return;
  drop_scratch();  // first give back, then take
  scratch_ = in_step(*largest, [&] { return allocate(segment.scratch); });
  scratch_bytes_ = segment.scratch;
}

void Frame::activate(Segment& segment) {
  reserve_scratch(segment);
  segment.active.clear();
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    const Step& step = plan_->steps[i];
    if (step.view) continue;
    const bool settled = !step.late && std::all_of(step.outputs.begin(), step.outputs.end(),
                                                   [&](SlotIndex o) { return o == kNoSlot || settled_[o]; });
    if (settled) continue;
    segment.active.push_back(
        {step.kernel.fn, i,
         RunContext(inputs_of(i), outputs_of(i), step.state.get(), scratch_.get(), parallel_, bodies_[i].get())});
  }
}

// Lays out as many steps as possible from `begin` on.
Frame::Segment& Frame::lay_out_segment(size_t index, uint32_t begin) {
  if (index == segments_.size()) segments_.push_back(std::make_unique<Segment>());
  Segment& segment = *segments_[index];
  reset_from(begin);
  uint32_t i = begin;
  for (; i < plan_->steps.size(); ++i) {
    const Step& step = plan_->steps[i];
    if (step.late) continue;
    if (in_step(step, [&] { return with_inputs(i, [&] { return lay_out_step(i); }); })) continue;
    for (Slot* out : outputs_of(i)) {
      if (out) out->type.ranked = false;  // what inference said before it gave up does not count yet
    }
    break;
  }
  // The first segment is laid out before the content of the inputs may be looked at, and may be empty.
  if (i == begin && index > 0 && begin < plan_->steps.size()) {
    fail(ErrorCode::fail, "{}: the shape of its output cannot be told from its inputs", plan_->steps[i].name);
  }
  segment.begin = begin;
  segment.end = i;
  place_segment(segment);
  activate(segment);
  return segment;
}

}  // namespace retort
