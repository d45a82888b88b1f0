#include "run/frame.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "base/error.h"
#include "memory/access.h"
#include "ops/carried.h"
#include "plan/in_step.h"
#include "run/overlaps.h"

namespace retort {
namespace {

constexpr std::string_view kUnset = "clear the terminate flag of these options before another run with them";

}  // namespace

Frame::Frame(std::shared_ptr<const Plan> plan, MemoryBudget* budget)
    : plan_(std::move(plan)),
      table_(*plan_),
      joins_(table_),
      caches_(*plan_),
      layout_({table_, joins_, bodies_, device_run_, threads_, budget}),
      inputs_(table_, joins_, caches_, device_run_),
      outputs_(table_, joins_, inputs_, caches_, device_run_),
      bodies_({table_, device_run_, budget}),
      input_buffer_(plan_->inputs.size()) {}

size_t Frame::workspace_bytes() const {
  size_t bytes = layout_.bytes() + inputs_.bytes() + outputs_.bytes() + bodies_.workspace_bytes();
  for (const Slot& slot : table_.all()) bytes += slot.kept.capacity;
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
  inputs_.give_back();
  outputs_.give_back();
  bodies_.give_back();
}

void Frame::run_segments(const RunRequest& request) {
  ++runs_;
  cancellations_ = request.cancellations ? request.cancellations->load() : 0;
  threads_ = {request.parallel, Parallel(nullptr, request.cancel), request.forks};
  layout_.begin(request.inputs);
  inputs_.bind(request);
  check_outputs_apart(*plan_, request.outputs);
  outputs_.offer(request);
  for (size_t index = 0;; ++index) {
    Segment& segment = layout_.segment(index);
    outputs_.bind(request, segment.branches);
    run_segment(request, segment);
    if (layout_.is_last(segment)) break;
  }
  outputs_.finish(request);
}

void Frame::run(const RunRequest& request) {
  const Profiler::Span span = request.profiler ? request.profiler->begin() : Profiler::Span();
  peak_ = 0;
  outputs_.begin(request);
  try {
    if (request.within)
      device_run_.begin_within(*request.within);
    else
      device_run_.begin(request.devices, {request.ledger, request.profiler}, request.streams);
    run_segments(request);
    device_run_.end(false);
  } catch (...) {
    device_run_.end(true);
    outputs_.abandon(request);
    throw;
  }
  // Scripts that measure what a run costs beside its nodes look for this name.
  if (request.profiler) request.profiler->end(span, "SequentialExecutor::Execute", "Session");
}

void Frame::run_step(const RunRequest& request, Active& active) {
  const Step& step = plan_->steps[active.step];
  if (BodyFrames* bodies = bodies_.of(active.step)) bodies->begin(request);
  in_step(step, [&] {
    table_.with_inputs(active.step, [&] {
      try {
        active.fn ? active.fn(step.params.get(), active.context)
                  : run_carried(*step.op, step.params.get(), active.context, step.dtype);
      } catch (NotYetKnown) {
        fail(ErrorCode::fail, "a shape is not known");
      }
    });
    if (step.late) check_late(step);
  });
}

// Later steps were planned for these types. The types that a body or a sequence produces are known only now.
void Frame::check_late(const Step& step) const {
  for (const SlotIndex out : step.outputs) {
    if (out == kNoSlot || table_[out].boxed.empty() || admits(plan_->values[out].type, table_[out].boxed)) continue;
    fail(ErrorCode::invalid_graph, "output '{}' is {}, but the model declares {}; make the types agree",
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
  const Profiler::Clock::time_point end = Profiler::Clock::now();
  end_step_event(*request.profiler, span, end, table_, active.step, memory_at(segment, active.step));
}

// Steps of branches ask at the same time.
StepMemory Frame::memory_at(const Segment& segment, uint32_t step) {
  const size_t in_use = segment.block.in_use(step);
  size_t peak = peak_.load();
  while (peak < in_use && !peak_.compare_exchange_weak(peak, in_use)) {
  }
  return {.held = layout_.bytes(),
          .in_use = in_use,
          .before = step > 0 ? segment.block.in_use(step - 1) : 0,
          .peak = std::max(peak, in_use)};
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

// Reports the error that the steps would report one after the other: every branch stops at the first step that comes
// after one that failed.
void Frame::run_fork(const RunRequest& request, Segment& segment, const Fork& fork) {
  std::atomic<uint32_t> failed{kNever};
  std::mutex mutex;
  std::exception_ptr error;
  if (kAccessIsChecked) layout_.guard(segment, fork);
  request.forks.for_each_in_order(fork.branches.size(), [&](size_t branch, int) {
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

// Runs steps of which some run at the same time, or a few images at a time.
void Frame::run_ranges(const RunRequest& request, Segment& segment) {
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
}

void Frame::run_segment(const RunRequest& request, Segment& segment) {
  if (segment.branches.empty() && segment.stretches.empty()) {
    for (Active& a : segment.active) run_active(request, segment, a);
  } else {
    run_ranges(request, segment);
  }
  // A kernel that noticed the flag has left its output unfinished, even if the flag has been cleared since.
  const bool cancelled_since = request.cancellations && request.cancellations->load() != cancellations_;
  if (cancelled_since || (request.cancel && request.cancel->load()))
    fail(ErrorCode::fail, "the run was terminated; {}", kUnset);
}

}  // namespace retort
