// Forks of a run: which steps, in which memory, and running them.
#include <algorithm>
#include <exception>
#include <mutex>

#include "base/checked.h"
#include "memory/access.h"
#include "run/frame.h"
#include "run/work.h"

namespace retort {
namespace {

constexpr size_t kLine = 64;    // branches do not share one in scratch
constexpr double kAlike = 1.5;  // times so much

bool is_flat(const PlanValue& v, const Slot& s) {
  return v.home != Home::boxed && v.home != Home::none && s.type.is_tensor() && s.type.dtype != DType::string;
}

}  // namespace

// Bodies use the frame; kernels that allocate their outputs, and strings, the heap.
bool Frame::fits_branch(const Segment& segment, uint32_t index) const {
  const Step& step = plan_->steps[index];
  const auto flat = [&](SlotIndex v) { return v == kNoSlot || is_flat(plan_->values[v], table_[v]); };
  return !step.late && step.bodies.empty() && std::ranges::all_of(step.inputs, flat) &&
         std::ranges::all_of(step.outputs, flat) &&
         std::ranges::none_of(segment.stretches, [&](const Stretch& s) { return s.contains(index); });
}

void Frame::list_steps(const Segment& segment, std::vector<ForkStep>& list) const {
  list.clear();
  for (uint32_t i = segment.begin; i < segment.end; ++i) {
    if (is_settled(i)) continue;
    const bool fits = fits_branch(segment, i);
    const Work work = fits ? guess_work(*plan_, table_.all(), plan_->steps[i], parallel_.workers()) : Work();
    list.push_back({.step = i, .fits = fits, .alone = work.alone, .all = work.all});
  }
}

void Frame::find_needs(std::vector<ForkStep>& list) const {
  std::vector<uint32_t> at(plan_->steps.size(), kNever);  // in the list
  for (uint32_t i = 0; i < list.size(); ++i) {
    at[list[i].step] = i;
    for (const SlotIndex v : plan_->steps[list[i].step].inputs) {
      const uint32_t from = v == kNoSlot ? kNever : table_.producer_of(plan_->values[v].root);
      if (from != kNever && at[from] != kNever) list[i].needs.push_back(at[from]);
    }
  }
}

// Which steps are run in branches. They stay while the steps take about as long as when that was found: some segments are
// laid out in every run.
void Frame::mark_forks(Segment& segment) {
  const int workers = request_->forks.workers();
  if (workers < 2) return;
  seats_.resize(plan_->steps.size());
  forget_seats(segment);
  list_steps(segment, listed_);
  const auto alike = [](const ForkStep& a, const ForkStep& b) {
    return a.step == b.step && a.fits == b.fits && a.alone <= kAlike * b.alone && b.alone <= kAlike * a.alone;
  };
  if (!std::ranges::equal(listed_, segment.weighed, alike)) {
    find_needs(listed_);
    segment.forks = find_forks(listed_, workers);
    segment.weighed.swap(listed_);
  }
  for (uint32_t f = 0, branch = 0; f < segment.forks.size(); ++f) {
    const Fork& fork = segment.forks[f];
    for (uint32_t i = fork.begin; i < fork.end; ++i) seats_[i].fork = f;
    for (const std::vector<uint32_t>& b : fork.branches) {
      ++branch;
      for (const uint32_t i : b) seats_[i].branch = branch;
    }
  }
}

void Frame::forget_seats(const Segment& segment) {
  for (size_t i = segment.begin; i < seats_.size(); ++i) seats_[i] = {};
}

const Frame::Seat& Frame::seat(uint32_t step) const {
  static constexpr Seat kNone;
  return step < seats_.size() ? seats_[step] : kNone;
}

// Values of a fork are kept from its first step to its last, since nobody knows how far the other branches are. Those of
// one branch may share memory as ever.
void Frame::keep_branches(Segment& segment) {
  if (segment.forks.empty()) return;
  for (ArenaRequest& r : segment.requests) {
    r.own_first = r.first;
    r.own_last = r.last;
    r.branch = seat(r.first).branch;
    if (const uint32_t f = seat(r.first).fork; f != kNever) r.first = segment.forks[f].begin;
    if (const uint32_t f = seat(r.last).fork; f != kNever) r.last = segment.forks[f].end - 1;
  }
}

// Whether another branch may still read what a step could write over.
bool Frame::is_read_beside(const Segment& segment, uint32_t step, SlotIndex root) const {
  if (step < segment.begin || seat(step).branch == 0) return false;
  const auto reads = [&](uint32_t other) {
    return std::ranges::any_of(plan_->steps[other].inputs,
                               [&](SlotIndex v) { return v != kNoSlot && plan_->values[v].root == root; });
  };
  return std::ranges::any_of(segment.forks[seat(step).fork].branches, [&](const std::vector<uint32_t>& b) {
    return seat(b[0]).branch != seat(step).branch && std::ranges::any_of(b, reads);
  });
}

// Each branch has scratch of its own: bytes for those of the fork that needs most.
size_t Frame::seat_scratch(const Segment& segment, FunctionRef<size_t(uint32_t)> bytes_of) {
  size_t most = 0;
  for (const Fork& fork : segment.forks) {
    size_t bytes = 0;
    for (const std::vector<uint32_t>& b : fork.branches) {
      size_t largest = 0;
      for (const uint32_t i : b) {
        largest = std::max(largest, bytes_of(i));
        seats_[i].scratch = bytes;
      }
      bytes = checked_add(bytes, round_up(largest, kLine), "scratch size");
    }
    most = std::max(most, bytes);
  }
  return most;
}

// Ends with the error that the steps one after the other would end with: a branch stops at the first step that comes
// behind one that failed.
void Frame::run_fork(const RunRequest& request, const Segment& segment, const Fork& fork) {
  std::atomic<uint32_t> failed{kNever};
  std::mutex mutex;
  std::exception_ptr error;
  if (kAccessIsChecked) guard_fork(segment, fork);
  request.forks.for_each(fork.branches.size(), [&](size_t branch, int) {
    for (const uint32_t step : fork.branches[branch]) {
      if (step > failed.load(std::memory_order_relaxed)) return;
      try {
        run_active(request, segment, segment.active[seats_[step].active]);
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

// While branches run, all that they share or own may be touched.
void Frame::guard_fork(const Segment& segment, const Fork& fork) const {
  guard_memory(segment, segment.active[seats_[fork.branches[0][0]].active]);
  allow_access(scratch_.get(), scratch_bytes_);
}

}  // namespace retort
