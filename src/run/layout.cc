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

// Stores the types of the inputs; true when they equal those of the last layout.
bool Frame::take_signature(const RunRequest& request) {
  bool same = laid_out_;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    Slot& slot = table_[plan_->inputs[i]];
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
    for (const SlotIndex out : plan_->steps[i].outputs) {
      if (out == kNoSlot) continue;
      Slot* const s = &table_[out];
      // Content that followed from the shapes of the last run need not follow from those of this one.
      if (plan_->steps[i].late || settled_[out]) s->boxed = Value();
      settled_[out] = false;
      s->type.kind = ValueType::Kind::unknown;
      s->type.ranked = false;
      s->data = nullptr;
      s->count = 0;
      s->has_known = false;
    }
  }
}

// Content that inference read from memory holds for one run only.
void Frame::forget_content() {
  for (size_t i = 0; i < table_.all().size(); ++i) {
    if (!settled_[i] && plan_->values[i].home != Home::constant) table_[i].has_known = false;
  }
}

bool Frame::inputs_known(const Step& step) const {
  return std::all_of(step.inputs.begin(), step.inputs.end(), [&](SlotIndex v) {
    if (v == kNoSlot) return true;
    const Slot& s = table_[v];
    return is_laid_out(s.type) || (!s.boxed.empty() && !s.boxed.tensor());
  });
}

// False when the step needs content that has not been computed yet.
bool Frame::infer_step(uint32_t index) {
  const Step& step = plan_->steps[index];
  InferContext context(dims_, nullptr, table_.inputs_of(index), table_.outputs_of(index));
  try {
    step.op->infer(step.params.get(), context);
  } catch (NotYetKnown) {
    return false;
  }
  for (Slot* s : table_.outputs_of(index)) {
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
    const Slot& s = table_[step.outputs[i]];
    if (!s.has_known || plan_->values[step.outputs[i]].home != Home::arena || s.known.size() != s.count) return false;
    if (!std::all_of(s.known.begin(), s.known.end(), is_known)) return false;
  }
  for (SlotIndex out : step.outputs) {
    if (out == kNoSlot) continue;
    if (!materialise(table_[out])) return false;
    settled_[out] = true;
  }
  return true;
}

// What a laid-out step's outputs share or own; arena memory comes later, for the whole segment.
void Frame::settle_memory(uint32_t index) {
  const Step& step = plan_->steps[index];
  if (step.view) {
    const SlotIndex in = step.inputs[0], out = step.outputs[0];
    table_[out].data = table_[in].data;
    settled_[out] = settled_[in];
    return;
  }
  if (settle_content(index)) return;
  for (SlotIndex out : step.outputs) {
    if (out == kNoSlot || plan_->values[out].home != Home::boxed) continue;
    Tensor t(table_[out].type.dtype, table_[out].type.shape);
    table_[out].data = t.mutable_data();
    table_[out].boxed = std::move(t);
  }
}

void Frame::reserve_scratch(Segment& segment) {
  const Step* largest = nullptr;
  size_t most = 0;  // of one step
  const auto bytes_of = [&](uint32_t i) -> size_t {
    const Step& step = plan_->steps[i];
    if (!step.op->scratch || step.view || step.late) return 0;
    const RunContext probe(table_.inputs_of(i), table_.outputs_of(i), step.state.get(), nullptr,
                           seat(i).branch == 0 ? parallel_ : alone_);
    const size_t bytes = in_step(
        step, [&] { return table_.with_inputs(i, [&] { return step.op->scratch(step.params.get(), probe); }); });
    if (bytes > most) largest = &step;
    most = std::max(most, bytes);
    return bytes;
  };
  segment.scratch = seat_scratch(segment, bytes_of);
  const auto ask = [&](uint32_t i) { segment.scratch = std::max(segment.scratch, bytes_of(i)); };
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    if (seat(i).branch == 0) ask(i);
  }
  for (Stretch& s : segment.stretches) {
    StretchView view(s, table_.all());
    for (const int64_t images : {s.images, s.batch % s.images}) {
      if (images > 0) view.show(0, images);
      for (uint32_t i = s.begin; i < s.end; ++i) ask(i);
    }
  }
  segment.most_scratch = std::max(segment.most_scratch, segment.scratch);
  if (segment.scratch <= scratch_bytes_) return;
  drop_scratch();  // first give back, then take
  scratch_ = in_step(*largest, [&] { return allocate(segment.scratch); });
  scratch_bytes_ = segment.scratch;
}

// Whether nothing of a step is left to run.
bool Frame::is_settled(uint32_t index) const {
  const Step& step = plan_->steps[index];
  return step.view || (!step.late && std::all_of(step.outputs.begin(), step.outputs.end(),
                                                 [&](SlotIndex o) { return o == kNoSlot || settled_[o]; }));
}

void Frame::activate(Segment& segment) {
  reserve_scratch(segment);
  segment.active.clear();
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    const Step& step = plan_->steps[i];
    if (is_settled(i) || joins_.is_in_place(i)) continue;
    const Seat& s = seat(i);
    void* const scratch = scratch_ ? static_cast<std::byte*>(scratch_.get()) + s.scratch : nullptr;
    if (s.branch != 0) seats_[i].active = uint32_t(segment.active.size());
    segment.active.push_back({step.kernel.fn, i,
                              RunContext(table_.inputs_of(i), table_.outputs_of(i), step.state.get(), scratch,
                                         s.branch == 0 ? parallel_ : alone_, bodies_[i].get())});
    segment.active.back().context.set_devices(&device_run_);
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
    if (in_step(step, [&] { return table_.with_inputs(i, [&] { return lay_out_step(i); }); })) continue;
    for (Slot* out : table_.outputs_of(i)) {
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
  const std::vector<char> runs = running(segment);
  mark_stretches(segment, runs);
  mark_forks(segment);
  const auto settle = [&] {
    find_joins(segment, runs);
    place_segment(segment);
    activate(segment);
  };
  try {
    settle();
  } catch (const Error&) {
    if (segment.forks.empty()) throw;
    segment.forks.clear();  // the steps one after the other need less memory
    forget_seats(segment);
    settle();
  }
  return segment;
}

}  // namespace retort
