#include "run/frame.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "base/checked.h"
#include "memory/access.h"
#include "ops/external.h"
#include "plan/in_step.h"

namespace retort {
namespace {

constexpr std::string_view kUnset = "call RunOptionsUnsetTerminate before another run with these options";

}  // namespace

Frame::Frame(std::shared_ptr<const Plan> plan, MemoryBudget* budget)
    : plan_(std::move(plan)),
      table_(*plan_),
      joins_(table_),
      layout_({table_, joins_, bodies_, device_run_, threads_, budget}),
      bodies_({table_, device_run_, budget}) {
  input_buffer_.resize(plan_->inputs.size());
  made_.resize(plan_->outputs.size());
  bound_.resize(plan_->outputs.size());
  is_given_.resize(plan_->outputs.size());
  growing_.resize(plan_->caches.size());
  input_cache_.assign(plan_->inputs.size(), kNever);
  output_cache_.assign(plan_->outputs.size(), kNever);
  for (uint32_t i = 0; i < plan_->caches.size(); ++i) {
    input_cache_[plan_->caches[i].input] = i;
    output_cache_[plan_->caches[i].output] = i;
  }
}

Frame::~Frame() = default;

size_t Frame::workspace_bytes() const {
  size_t bytes = layout_.bytes() + bodies_.workspace_bytes();
  for (const Slot& slot : table_.all()) bytes += slot.kept.capacity;
  for (const Brought& b : brought_) bytes += b.memory.capacity;
  for (const Spare& s : spares_) bytes += s.capacity;
  return bytes;
}

void Frame::trim() {
  layout_.trim();
  bodies_.trim();
}

void Frame::give_back() {
  layout_.give_back();
  for (Slot& slot : table_.all()) slot.kept = Spare();
  device_run_.settle();
  brought_.clear();
  spares_.clear();
  bodies_.give_back();
}

void Frame::run_segments(const RunRequest& request) {
  ++runs_;
  cancellations_ = request.cancellations ? request.cancellations->load() : 0;
  threads_ = {request.parallel, Parallel(nullptr, request.cancel), request.forks};
  std::fill(bound_.begin(), bound_.end(), kUnbound);
  layout_.begin(request.inputs);
  bind_inputs(request);
  check_outputs_apart(request.outputs);
  offer_outputs(request);
  for (size_t index = 0;; ++index) {
    Segment& segment = layout_.segment(index);
    bind_outputs(request, segment);
    run_segment(request, segment);
    if (layout_.is_last(segment)) break;
  }
  for (size_t i = 0; i < request.outputs.size(); ++i) finish_output(request, i);
  let_go();
}

void Frame::run(const RunRequest& request) {
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    is_given_[i] = request.outputs[i] && !request.outputs[i]->empty();
  }
  try {
    if (request.within)
      device_run_.begin_within(*request.within);
    else
      device_run_.begin(request.devices, {request.ledger, request.profiler}, request.streams);
    run_segments(request);
    device_run_.end(false);
  } catch (...) {
    device_run_.end(true);
    let_go();
    for (size_t i = 0; i < request.outputs.size(); ++i) {
      if (request.outputs[i] && !is_given_[i]) *request.outputs[i] = Value();
    }
    throw;
  }
}

// The caller's memory for outputs is no business of ours any more.
void Frame::let_go() {
  for (const SlotIndex out : plan_->outputs) {
    if (out == kNoSlot || !table_[out].offered) continue;
    table_[out].offered = nullptr;
    table_[out].boxed = Value();
  }
}

void Frame::run_step(const RunRequest& request, Active& active) {
  const Step& step = plan_->steps[active.step];
  if (BodyFrames* bodies = bodies_.of(active.step)) bodies->begin(request);
  in_step(step, [&] {
    table_.with_inputs(active.step, [&] {
      try {
        active.fn ? active.fn(step.params.get(), active.context)
                  : run_reference(*step.op, step.params.get(), active.context, step.dtype);
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
    if (out == kNoSlot || table_[out].boxed.empty() || admits(plan_->values[out].type, table_[out].boxed)) continue;
    fail(ErrorCode::invalid_graph, "output '{}' is {}, but the model says {}; make its types agree",
         plan_->values[out].name, kind_text(table_[out].boxed), kind_text(plan_->values[out].type));
  }
}

void Frame::run_active(const RunRequest& request, const Segment& segment, Active& active) {
  if (request.cancel && request.cancel->load(std::memory_order_relaxed)) {
    fail(ErrorCode::fail, "the run was terminated at {}; {}", plan_->steps[active.step].name, kUnset);
  }
  if (kAccessIsChecked && segment.branches.seat(active.step).branch == 0) layout_.guard(segment, active);
  if (!request.profiler) return run_step(request, active);
  const Profiler::Span span = request.profiler->begin();
  run_step(request, active);
  const Step& step = plan_->steps[active.step];
  request.profiler->end(span, step.label.empty() ? std::string(step.op->info.name) : step.label, "Node",
                        {{"op_name", std::string(step.op->info.name)}, {"provider", std::string(step.provider)}});
}

void Frame::run_stretch(const RunRequest& request, const Segment& segment, Stretch& stretch, std::span<Active> active) {
  StretchView view(stretch, table_.all());
  for (int64_t first = 0; first < stretch.batch; first += stretch.images) {
    const int64_t count = std::min(stretch.images, stretch.batch - first);
    view.show(first, count);
    try {
      for (Active& a : active) run_active(request, segment, a);
    } catch (Error& e) {
      e.add_context(cat("images {} to {} of a batch of {}", first, first + count - 1, stretch.batch));
      throw;
    }
  }
}

// Ends with the error that the steps one after the other would end with: a branch stops at the first step that comes
// behind one that failed.
void Frame::run_fork(const RunRequest& request, Segment& segment, const Fork& fork) {
  std::atomic<uint32_t> failed{kNever};
  std::mutex mutex;
  std::exception_ptr error;
  if (kAccessIsChecked) layout_.guard(segment, fork);
  request.forks.for_each(fork.branches.size(), [&](size_t branch, int) {
    for (const uint32_t step : fork.branches[branch]) {
      if (step > failed.load(std::memory_order_relaxed)) return;
      try {
        run_active(request, segment, segment.active[segment.branches.seat(step).active]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (step < failed.load()) {
          failed = step;
          error = std::current_exception();
        }
        return;
      }
    }
  });
  if (error) std::rethrow_exception(error);
}

void Frame::run_segment(const RunRequest& request, Segment& segment) {
  std::vector<Active>& active = segment.active;
  const std::span<const Fork> forks = segment.branches.forks();
  auto stretch = segment.stretches.begin();
  auto fork = forks.begin();
  for (size_t i = 0; i < active.size();) {
    if (fork != forks.end() && active[i].step >= fork->begin) {
      run_fork(request, segment, *fork);
      i += fork->size;
      ++fork;
      continue;
    }
    if (stretch == segment.stretches.end() || !stretch->contains(active[i].step)) {
      run_active(request, segment, active[i++]);
      continue;
    }
    size_t end = i;
    while (end < active.size() && stretch->contains(active[end].step)) ++end;
    run_stretch(request, segment, *stretch, {active.data() + i, end - i});
    i = end;
    ++stretch;
  }
  // A kernel that noticed the flag has left its output unfinished, also when the flag is down again by now.
  const bool cancelled_since = request.cancellations && request.cancellations->load() != cancellations_;
  if (cancelled_since || (request.cancel && request.cancel->load()))
    fail(ErrorCode::fail, "the run was terminated; {}", kUnset);
}

// An output that is an input, as it lies in `space` already: given there, or brought there for this run or when it was
// bound. Empty where it is not, and for what is no input.
Tensor Frame::given_in(const RunRequest& request, SlotIndex out, const MemorySpace& space) const {
  if (plan_->values[out].home != Home::input || table_[out].type.dtype == DType::string) return {};
  for (size_t i = 0; i < plan_->inputs.size(); ++i) {
    const SlotIndex in = plan_->inputs[i];
    // One that is read in several memories is several inputs of one name.
    if (in == kNoSlot || plan_->values[in].name != plan_->values[out].name) continue;
    const Tensor* given = request.inputs[i] ? request.inputs[i]->tensor() : nullptr;
    const bool is_for_device = in == out && !space_of_input(i).host_readable();
    if (given && (is_for_device ? given->space().readable_as(space) : given->space().serves(space))) return *given;
    const Tensor* brought = i < brought_.size() ? &brought_[i].tensor : nullptr;
    if (brought && *brought && brought->data() == table_[in].data && brought->space().serves(space)) return *brought;
  }
  return {};
}

// A value as a step has copied it to `space` for those who read it there; empty where none has.
Tensor Frame::copied_to(SlotIndex value, const MemorySpace& space) const {
  for (const Step& step : plan_->steps) {
    const ExternalOp* op = external_op(*step.op, step.params.get());
    const Tensor* copy =
        op && op->is_copy() && step.inputs[0] == value ? table_[step.outputs[0]].boxed.tensor() : nullptr;
    if (copy && copy->space().serves(space)) return *copy;
  }
  return {};
}

// What the run made of output i, where it made it; where it has it in `space` as well, that.
Tensor Frame::result(const RunRequest& request, size_t i, const MemorySpace& space) const {
  const SlotIndex out = plan_->outputs[i];
  const Slot& slot = table_[out];
  const MemorySpace made = slot.boxed.tensor() ? slot.boxed.tensor()->space() : MemorySpace();
  if (!space.host_readable() || !made.serves(space)) {
    if (Tensor given = given_in(request, out, space)) return given;
    if (Tensor copy = made.serves(space) ? Tensor() : copied_to(out, space)) return copy;
    for (const PlacedOutput& placed : plan_->placed_outputs) {
      if (placed.output == i && placed.constant.space().serves(space)) return placed.constant;
    }
  }
  if (const Tensor* boxed = slot.boxed.tensor(); boxed && boxed->data() == slot.data) return *boxed;
  return Tensor(slot.type.dtype, slot.type.shape, slot.data, nullptr);
}

// Whether memory that the run made of output i belongs to another output, too, or to the caller.
bool Frame::is_taken(const RunRequest& request, size_t i) const {
  const SlotIndex out = plan_->outputs[i];
  for (size_t j = 0; j < request.outputs.size(); ++j) {
    if (j != i && plan_->outputs[j] == out && request.outputs[j] && !request.outputs[j]->empty()) return true;
  }
  return false;
}

void Frame::finish_output(const RunRequest& request, size_t i) {
  Value* wanted = request.outputs[i];
  if (!wanted) return;
  const SlotIndex out = plan_->outputs[i];
  Slot& slot = table_[out];
  if (!slot.type.is_tensor() || (slot.boxed.tensor() == nullptr && !slot.boxed.empty())) {
    *wanted = slot.boxed;
    return;
  }
  if (Tensor* given = wanted->get<Tensor>()) return finish_given(request, i, *given);
  const MemorySpace& space = request.output_space(i);
  // What lies on a device goes out as it came in; memory of the host may be the caller's own, for as long as he likes.
  const bool passes = plan_->values[out].home == Home::input && !space.host_readable();
  const bool moves = passes || plan_->values[out].home == Home::boxed || (bound_[i] && made_[i]);
  if (bound_[i] && made_[i] && space.host_readable()) {
    if (output_cache_[i] != kNever) growing_[output_cache_[i]].remember(made_[i]);
    *wanted = made_[i].shape() == slot.type.shape ? std::move(made_[i]) : made_[i].reshaped(slot.type.shape);
    made_[i] = Tensor();
    return;
  }
  const Tensor made = result(request, i, space);
  if (moves && made.owner() && made.space().readable_as(space) && !is_taken(request, i)) {
    *wanted = made;
    return;
  }
  Tensor copy =
      made.dtype() == DType::string ? Tensor(made.dtype(), made.shape()) : take_spare(request, i, slot, space);
  if (made.space().serves(space)) {
    device_run_.move_bytes(made, copy, false);  // an input, a constant or another output that is this one as well
  } else {
    require(!request.disallow_copies, ErrorCode::invalid_argument,
            "output '{}' is made in {} and wanted in {}: it would have to be copied, which "
            "session.disallow_implicit_copies forbids; bind it to {}",
            plan_->values[out].name, to_string(made.space()), to_string(space), to_string(made.space()));
    device_run_.copy(CopyCause::output, plan_->values[out].name, made, copy, !made.space().host_readable());
  }
  *wanted = std::move(copy);
}

// The caller's own memory: what does not lie there yet is copied.
void Frame::finish_given(const RunRequest& request, size_t i, Tensor& given) {
  const SlotIndex out = plan_->outputs[i];
  const Slot& slot = table_[out];
  if (given.dtype() != slot.type.dtype || !(given.shape() == slot.type.shape))
    throw Error(ErrorCode::invalid_argument, shape_clash(i, given, slot));
  if (given.data() == slot.data) return;
  const Tensor made = result(request, i, given.space());
  if (made.data() == given.data()) return;
  const bool elsewhere = !made.space().serves(given.space());
  if (request.disallow_copies) {
    fail(ErrorCode::invalid_argument,
         "output '{}' would have to be copied{}, which session.disallow_implicit_copies forbids; {}",
         plan_->values[out].name,
         elsewhere ? cat(" from {} to {}", to_string(made.space()), to_string(given.space())) : "",
         elsewhere ? "bind it where it is made" : "let the run allocate it");
  }
  // Devices read pinned inputs where they lie, and may not be done with one that this overwrites.
  const auto overwrites = [&](SlotIndex in) { return lies_in_input(given, in); };
  if (given.space().host_readable() && request.devices && std::ranges::any_of(plan_->inputs, overwrites))
    device_run_.wait();
  const CopyCause cause = elsewhere ? CopyCause::output : bound_[i] == kBound ? CopyCause::alias : CopyCause::dynamic;
  device_run_.copy(cause, plan_->values[out].name, made, given, !made.space().host_readable());
}

}  // namespace retort
