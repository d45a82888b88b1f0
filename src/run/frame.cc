#include "run/frame.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "memory/access.h"
#include "plan/in_step.h"
#include "run/bodies.h"

namespace retort {
namespace {

constexpr std::string_view kUnset = "call RunOptionsUnsetTerminate before another run with these options";

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return a_bytes && b_bytes && x < y + b_bytes && y < x + a_bytes;
}

void copy_elements(const void* from, Tensor& to) {
  if (to.dtype() == DType::string) {
    const auto* s = static_cast<const std::string*>(from);
    std::copy(s, s + to.count(), to.mutable_data<std::string>());
  } else if (to.bytes()) {
    std::memcpy(to.mutable_data(), from, to.bytes());
  }
}

// Whether a step may write `out` over `in`, both at the same place. A view of `in` is read where `in` is.
bool may_write_over(const Plan& plan, const Step& step, SlotIndex in, SlotIndex out) {
  if (step.op->has(kElementwise)) return true;
  const SlotIndex root = plan.values[in].root;
  const auto reads =
      std::ranges::count_if(step.inputs, [&](SlotIndex v) { return v != kNoSlot && plan.values[v].root == root; });
  return reads == 1 && std::ranges::any_of(step.op->info.in_place, [&](const InPlace& p) {
           return p.output >= 0 && size_t(p.input) < step.inputs.size() && step.inputs[size_t(p.input)] == in &&
                  step.outputs[size_t(p.output)] == out;
         });
}

// Two outputs in one place would hold what the later step wrote, and which that is no caller knows.
void check_outputs_apart(const Plan& plan, std::span<Value* const> outputs) {
  const auto given = [&](size_t i) { return outputs[i] ? outputs[i]->tensor() : nullptr; };
  for (size_t i = 1; i < outputs.size(); ++i) {
    const Tensor* a = given(i);
    for (size_t j = 0; a && j < i; ++j) {
      const Tensor* b = given(j);
      require(!b || !overlap(a->data(), a->bytes(), b->data(), b->bytes()), ErrorCode::invalid_argument,
              "outputs '{}' and '{}' are given memory that overlaps; give each its own",
              plan.values[plan.outputs[j]].name, plan.values[plan.outputs[i]].name);
    }
  }
}

}  // namespace

Frame::Frame(std::shared_ptr<const Plan> plan, MemoryBudget* budget) : plan_(std::move(plan)), budget_(budget) {
  const size_t values = plan_->values.size(), steps = plan_->steps.size();
  slots_.resize(values);
  members_.resize(values);
  producer_.assign(values, kNever);
  settled_.assign(values, false);
  request_of_.assign(values, kNever);
  for (size_t i = 0; i < values; ++i) {
    const PlanValue& v = plan_->values[i];
    members_[v.root].push_back(SlotIndex(i));
    slots_[i].present = true;
    if (!v.constant) continue;
    slots_[i].type = ValueType::tensor(v.constant.dtype(), v.constant.shape());
    slots_[i].data = const_cast<void*>(v.constant.data());
    slots_[i].count = v.constant.count();
    slots_[i].boxed = v.constant;
  }
  bodies_.resize(steps);
  for (uint32_t i = 0; i < steps; ++i) {
    const Step& step = plan_->steps[i];
    io_.push_back(uint32_t(pointers_.size()));
    for (SlotIndex v : step.inputs) pointers_.push_back(v == kNoSlot ? nullptr : &slots_[v]);
    for (SlotIndex v : step.outputs) {
      pointers_.push_back(v == kNoSlot ? nullptr : &slots_[v]);
      if (v != kNoSlot) producer_[v] = i;
    }
    if (!step.bodies.empty()) bodies_[i] = std::make_unique<BodyFrames>(*this, i);
  }
  input_buffer_.resize(plan_->inputs.size());
  made_.resize(plan_->outputs.size());
  bound_.resize(plan_->outputs.size());
}

Frame::~Frame() = default;

void Frame::drop_memory(Segment& segment) {
  segment.planned.clear();
  segment.layout = {};
  segment.memory = nullptr;
  segment.memory_bytes = 0;
  laid_out_ = false;
}

void Frame::drop_scratch() {
  scratch_ = nullptr;
  scratch_bytes_ = 0;
  laid_out_ = false;  // contexts hold the old pointer
}

std::shared_ptr<void> Frame::allocate(size_t bytes) {
  return budget_ ? budget_->allocate(bytes) : allocate_block(bytes);
}

size_t Frame::workspace_bytes() const {
  size_t bytes = scratch_bytes_;
  for (const auto& s : segments_) bytes += s->memory_bytes;
  for (const auto& b : bodies_) bytes += b ? b->workspace_bytes() : 0;
  return bytes;
}

void Frame::run(const RunRequest& request) {
  ++runs_;
  request_ = &request;
  cancellations_ = request.cancellations ? request.cancellations->load() : 0;
  parallel_ = request.parallel;
  std::fill(bound_.begin(), bound_.end(), kUnbound);
  const auto steps = uint32_t(plan_->steps.size());
  if (!take_signature(request)) {
    laid_out_ = false;
    forget_content();
    for (SlotIndex in : plan_->inputs) {
      if (in != kNoSlot && plan_->values[in].home == Home::input) set_data(in, nullptr);
    }
    lay_out_segment(0, 0);
    laid_out_ = true;
  } else if (segments_[0]->end < steps) {
    forget_content();
    reset_from(segments_[0]->end);
  }
  bind_inputs(request);
  check_outputs_apart(*plan_, request.outputs);
  for (size_t index = 0;; ++index) {
    Segment& segment = index == 0 ? *segments_[0] : lay_out_segment(index, segments_[index - 1]->end);
    bind_outputs(request);
    run_segment(request, segment);
    if (segment.end == steps) break;
  }
  for (size_t i = 0; i < request.outputs.size(); ++i) finish_output(request, i);
}

void Frame::bind_inputs(const RunRequest& request) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    Slot& slot = slots_[plan_->inputs[i]];
    const Value* v = request.inputs[i];
    const Tensor* t = v ? v->tensor() : nullptr;
    void* data = t ? const_cast<void*>(t->data()) : nullptr;
    if (slot.data != data) set_data(plan_->inputs[i], data);
    if (!t) {
      slot.boxed = v ? *v : Value(Optional());
    } else if (t->dtype() == DType::string) {
      slot.boxed = *t;
    } else if (!slot.boxed.empty()) {
      slot.boxed = Value();  // of a run before
    }
  }
}

// Settles the memory of every output whose shape is known by now. An output may be a view whose shape only a later
// segment tells; what it views is written before, so its memory is settled as soon as that is laid out.
void Frame::bind_outputs(const RunRequest& request) {
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    if (bound_[i]) continue;
    const SlotIndex out = plan_->outputs[i], root = plan_->values[out].root;
    const Home home = plan_->values[out].home;
    if (is_laid_out(slots_[out].type)) {
      if (home == Home::output) bind_output(request, i, slots_[out]);
      if (home == Home::boxed) bind_boxed_output(request, i);
    } else if (home == Home::output && is_laid_out(slots_[root].type)) {
      bind_output(request, i, slots_[root]);
    }
  }
}

std::string Frame::shape_clash(size_t output, const Tensor& bound, const Slot& s) const {
  return cat(
      "output '{}': the given buffer is {}{}, the run produces {}{}; bind a buffer of that shape or let the run "
      "allocate it",
      plan_->values[plan_->outputs[output]].name, dtype_name(bound.dtype()), to_string(bound.shape()),
      dtype_name(s.type.dtype), to_string(s.type.shape));
}

void Frame::bind_output(const RunRequest& request, size_t i, const Slot& slot) {
  const SlotIndex out = plan_->outputs[i], root = plan_->values[out].root;
  // The first of several outputs that share this memory gets it; the others are copied at the end.
  if (slots_[root].data && std::any_of(bound_.begin(), bound_.end(), [](Bound b) { return b != kUnbound; })) {
    for (size_t j = 0; j < i; ++j) {
      if (bound_[j] && plan_->values[plan_->outputs[j]].root == root) return;
    }
  }
  Value* wanted = request.outputs[i];
  const Tensor* given = wanted ? wanted->tensor() : nullptr;
  const bool final_shape = &slot == &slots_[out];
  if (given && (given->dtype() != slot.type.dtype ||
                (final_shape ? !(given->shape() == slot.type.shape) : given->count() != slot.count))) {
    throw Error(ErrorCode::invalid_argument, shape_clash(i, *given, slot));
  }
  void* data = given ? const_cast<void*>(given->data()) : nullptr;
  // A buffer that may turn out to have the wrong shape stays untouched until that is known.
  const bool overlaps = given && overlaps_input(i, data, given->bytes());
  const bool staged = overlaps || (given && !final_shape);
  if (overlaps && request.disallow_copies) {
    fail(ErrorCode::invalid_argument,
         "output '{}' overlaps an input and would have to be copied, which session.disallow_implicit_copies forbids; "
         "bind it elsewhere",
         plan_->values[out].name);
  }
  if (!given || staged) {
    const bool reusable =
        made_[i] && made_[i].dtype() == slot.type.dtype && made_[i].shape() == slot.type.shape && (staged || !wanted);
    if (!reusable) made_[i] = make_output(request, i, slot);
    data = made_[i].mutable_data();
  }
  set_data(root, data);
  bound_[i] = final_shape ? kBound : kBoundEarly;
}

Tensor Frame::make_output(const RunRequest& request, size_t i, const Slot& slot) {
  const SlotIndex out = plan_->outputs[i];
  const bool for_caller = request.outputs[i] && !request.outputs[i]->tensor();
  try {
    return for_caller ? take_spare(request, i, slot) : Tensor(slot.type.dtype, slot.type.shape);
  } catch (Error& e) {
    e.add_context(cat("output '{}'", plan_->values[out].name));
    if (producer_[out] != kNever) e.add_context(plan_->steps[producer_[out]].name);
    throw;
  }
}

// Memory for a result: what the binding kept from the last one if nobody holds that any more, else new.
Tensor Frame::take_spare(const RunRequest& request, size_t i, const Slot& slot) {
  if (request.spares.empty()) return Tensor(slot.type.dtype, slot.type.shape);
  Spare& spare = request.spares[i];
  const size_t bytes = dtype_bytes(slot.type.dtype, slot.count);
  spare.most = std::max(spare.most, bytes);
  if (++spare.runs == kRunsPerTrim) {
    if (spare.capacity >= kWorthTrimming && spare.capacity > 2 * spare.most) spare = Spare();
    spare.most = spare.runs = 0;
  }
  if (!spare.memory || spare.memory.use_count() > 1 || spare.capacity < bytes) {
    // Room to grow, so that a growing result is not moved at every run.
    const bool grows = spare.memory && spare.capacity < bytes;
    const size_t capacity = grows ? checked_add(bytes, bytes / 4, "tensor size in bytes") : bytes;
    spare.memory = allocate_host(capacity);
    spare.capacity = capacity;
  }
  return Tensor(slot.type.dtype, slot.type.shape, spare.memory.get(), spare.memory);
}

// Strings: the kernel writes std::string objects, into the caller's tensor when there is one.
void Frame::bind_boxed_output(const RunRequest& request, size_t i) {
  Slot& slot = slots_[plan_->outputs[i]];
  const uint32_t step = producer_[plan_->outputs[i]];
  if (step == kNever || plan_->steps[step].late || plan_->steps[step].view) return;
  Value* wanted = request.outputs[i];
  const Tensor* given = wanted ? wanted->tensor() : nullptr;
  if (given && (given->dtype() != slot.type.dtype || !(given->shape() == slot.type.shape))) {
    throw Error(ErrorCode::invalid_argument, shape_clash(i, *given, slot));
  }
  Tensor t = given ? *given : Tensor(slot.type.dtype, slot.type.shape);
  slot.data = t.mutable_data();
  slot.boxed = std::move(t);
  bound_[i] = kBound;
}

// Whether writing the output would destroy an input that is still needed. It would not when one step that can work in
// place reads that input last, writes the output, and both lie at the same place.
bool Frame::overlaps_input(size_t output, const void* data, size_t bytes) const {
  const SlotIndex out = plan_->outputs[output], root = plan_->values[out].root;
  const uint32_t writer = producer_[root];
  for (SlotIndex in : plan_->inputs) {
    const PlanValue& v = plan_->values[in];
    const Slot& s = slots_[in];
    if (v.home != Home::input || !s.data || s.type.dtype == DType::string) continue;
    const size_t in_bytes = dtype_bytes(s.type.dtype, s.count);
    if (!overlap(s.data, in_bytes, data, bytes)) continue;
    const bool safe = writer != kNever && may_write_over(*plan_, plan_->steps[writer], in, root) &&
                      plan_->values[v.root].last_use == writer && s.data == data && in_bytes == bytes;
    if (!safe) return true;
  }
  return false;
}

void Frame::run_step(const Active& active) {
  const Step& step = plan_->steps[active.step];
  RunContext& context = const_cast<RunContext&>(active.context);
  in_step(step, [&] {
    with_inputs(active.step, [&] {
      try {
        active.fn ? active.fn(step.params.get(), context)
                  : run_reference(*step.op, step.params.get(), context, step.dtype);
      } catch (NotYetKnown) {
        fail(ErrorCode::fail, "a shape is not known");
      }
    });
    if (step.late) check_late(step);
  });
}

// Later steps were planned for these types; what a body or a sequence holds shows only now.
void Frame::check_late(const Step& step) const {
  for (const SlotIndex out : step.outputs) {
    if (out == kNoSlot || slots_[out].boxed.empty() || admits(plan_->values[out].type, slots_[out].boxed)) continue;
    fail(ErrorCode::invalid_graph, "output '{}' is {}, but the model says {}; make its types agree",
         plan_->values[out].name, kind_text(slots_[out].boxed), kind_text(plan_->values[out].type));
  }
}

// Only the values that live at this step, and as much scratch as it asked for, may be touched while it runs.
void Frame::guard_memory(const Segment& segment, const Active& active) const {
  auto* const arena = static_cast<std::byte*>(segment.memory.get());
  forbid_access(arena, segment.memory_bytes);
  for (size_t i = 0; i < segment.planned.size(); ++i) {
    const ArenaRequest& r = segment.planned[i];
    if (r.first <= active.step && active.step <= r.last) allow_access(arena + segment.layout.offsets[i], r.bytes);
  }
  const Step& step = plan_->steps[active.step];
  forbid_access(scratch_.get(), scratch_bytes_);
  if (step.op->scratch && !step.late) allow_access(scratch_.get(), step.op->scratch(step.params.get(), active.context));
}

void Frame::run_segment(const RunRequest& request, Segment& segment) {
  for (const Active& active : segment.active) {
    if (request.cancel && request.cancel->load(std::memory_order_relaxed)) {
      fail(ErrorCode::fail, "the run was terminated at {}; {}", plan_->steps[active.step].name, kUnset);
    }
    if (kAccessIsChecked) guard_memory(segment, active);
    if (!request.profiler) {
      run_step(active);
      continue;
    }
    const auto begin = Profiler::Clock::now();
    run_step(active);
    const Step& step = plan_->steps[active.step];
    request.profiler->add(step.label.empty() ? std::string(step.op->info.name) : step.label, "Node", begin,
                          Profiler::Clock::now(),
                          cat("{{\"op_name\":\"{}\",\"provider\":\"CPUExecutionProvider\"}}", step.op->info.name));
  }
  // A kernel that noticed the flag has left its output unfinished, also when the flag is down again by now.
  const bool cancelled_since = request.cancellations && request.cancellations->load() != cancellations_;
  if (cancelled_since || (request.cancel && request.cancel->load()))
    fail(ErrorCode::fail, "the run was terminated; {}", kUnset);
}

void Frame::finish_output(const RunRequest& request, size_t i) {
  Value* wanted = request.outputs[i];
  if (!wanted) return;
  const SlotIndex out = plan_->outputs[i];
  Slot& slot = slots_[out];
  Tensor* given = const_cast<Tensor*>(wanted->tensor());
  if (!slot.type.is_tensor() || (slot.boxed.tensor() == nullptr && !slot.boxed.empty())) {
    *wanted = slot.boxed;
    return;
  }
  if (!given) {
    if (bound_[i] && made_[i]) {
      *wanted = made_[i].shape() == slot.type.shape ? std::move(made_[i]) : made_[i].reshaped(slot.type.shape);
      made_[i] = Tensor();
    } else if (plan_->values[out].home == Home::boxed && slot.boxed.tensor()) {
      *wanted = slot.boxed;
    } else {
      Tensor copy(slot.type.dtype, slot.type.shape);
      copy_elements(slot.data, copy);
      *wanted = std::move(copy);
    }
    return;
  }
  if (given->dtype() != slot.type.dtype || !(given->shape() == slot.type.shape))
    throw Error(ErrorCode::invalid_argument, shape_clash(i, *given, slot));
  if (given->data() == slot.data) return;
  if (request.disallow_copies) {
    fail(ErrorCode::invalid_argument,
         "output '{}' would have to be copied, which session.disallow_implicit_copies forbids; let the run allocate it",
         plan_->values[out].name);
  }
  copy_elements(slot.data, *given);
  if (request.ledger) request.ledger->add(bound_[i] == kBound ? CopyCause::alias : CopyCause::dynamic, given->bytes());
}

}  // namespace retort
