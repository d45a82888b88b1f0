#include "run/branches.h"

#include <algorithm>

#include "base/checked.h"
#include "run/work.h"

namespace retort {
namespace {

constexpr size_t kLine = 64;    // branches do not share a cache line in scratch
constexpr double kAlike = 1.5;  // times that differ by less than this factor count as equal

bool is_flat(const PlanValue& v, const Slot& s) {
  return v.home != Home::boxed && v.home != Home::none && s.type.is_tensor() && s.type.dtype != DType::string;
}

// A step with bodies uses the frame; a kernel that allocates its outputs, or strings, uses the heap. Neither may be in
// a branch.
bool fits_branch(const SlotTable& table, std::span<const Stretch> stretches, uint32_t index) {
  const Plan& plan = table.plan();
  const Step& step = plan.steps[index];
  const auto flat = [&](SlotIndex v) { return v == kNoSlot || is_flat(plan.values[v], table[v]); };
  return !step.late && step.bodies.empty() && std::ranges::all_of(step.inputs, flat) &&
         std::ranges::all_of(step.outputs, flat) &&
         std::ranges::none_of(stretches, [&](const Stretch& s) { return s.contains(index); });
}

}  // namespace

void Branches::list_steps(const SlotTable& table, const Steps& steps) {
  const Plan& plan = table.plan();
  listed_.clear();
  for (uint32_t i = steps.begin; i < steps.end; ++i) {
    if (!steps.runs[i]) continue;
    const bool fits = fits_branch(table, steps.stretches, i);
    const Work work = fits ? guess_work(plan, table.all(), plan.steps[i], steps.inside) : Work();
    listed_.push_back({.step = i, .fits = fits, .alone = work.alone, .all = work.all});
  }
}

void Branches::find_needs(const SlotTable& table) {
  const Plan& plan = table.plan();
  std::vector<uint32_t> at(plan.steps.size(), kNever);  // position of each step in listed_
  for (uint32_t i = 0; i < listed_.size(); ++i) {
    at[listed_[i].step] = i;
    for (const SlotIndex v : plan.steps[listed_[i].step].inputs) {
      const uint32_t from = v == kNoSlot ? kNever : table.producer_of(table.root_of(v));
      if (from != kNever && at[from] != kNever) listed_[i].needs.push_back(at[from]);
    }
  }
}

void Branches::find(const SlotTable& table, const Steps& steps) {
  if (steps.between < 2) return;
  begin_ = steps.begin;
  seats_.assign(steps.end - steps.begin, {});
  list_steps(table, steps);
  const auto alike = [](const ForkStep& a, const ForkStep& b) {
    return a.step == b.step && a.fits == b.fits && a.alone <= kAlike * b.alone && b.alone <= kAlike * a.alone;
  };
  if (!std::ranges::equal(listed_, weighed_, alike)) {
    find_needs(table);
    forks_ = find_forks(listed_, steps.between);
    weighed_.swap(listed_);
  }
  take_seats();
}

void Branches::take_seats() {
  for (uint32_t f = 0, branch = 0; f < forks_.size(); ++f) {
    for (uint32_t i = forks_[f].begin; i < forks_[f].end; ++i) seats_[i - begin_].fork = f;
    for (const std::vector<uint32_t>& b : forks_[f].branches) {
      ++branch;
      for (const uint32_t i : b) seats_[i - begin_].branch = branch;
    }
  }
}

void Branches::clear() {
  forks_.clear();
  std::ranges::fill(seats_, Seat());
}

const Branches::Seat& Branches::seat(uint32_t step) const {
  static constexpr Seat kNone;
  const uint32_t at = step - begin_;  // wraps to a large number for steps before the segment
  return at < seats_.size() ? seats_[at] : kNone;
}

void Branches::keep(std::vector<ArenaRequest>& requests) const {
  if (forks_.empty()) return;
  for (ArenaRequest& r : requests) {
    r.own_first = r.first;
    r.own_last = r.last;
    r.branch = seat(r.first).branch;
    if (const uint32_t f = seat(r.first).fork; f != kNever) r.first = forks_[f].begin;
    if (const uint32_t f = seat(r.last).fork; f != kNever) r.last = forks_[f].end - 1;
  }
}

bool Branches::is_read_beside(const SlotTable& table, uint32_t step, SlotIndex root) const {
  const Seat& own = seat(step);
  if (own.branch == 0) return false;
  const auto reads = [&](uint32_t other) { return table.reads_of(table.plan().steps[other], root) > 0; };
  return std::ranges::any_of(forks_[own.fork].branches, [&](const std::vector<uint32_t>& b) {
    return seat(b[0]).branch != own.branch && std::ranges::any_of(b, reads);
  });
}

size_t Branches::seat_scratch(FunctionRef<size_t(uint32_t)> bytes_of) {
  size_t most = 0;
  for (const Fork& fork : forks_) {
    size_t bytes = 0;
    for (const std::vector<uint32_t>& b : fork.branches) {
      size_t largest = 0;
      for (const uint32_t i : b) {
        largest = std::max(largest, bytes_of(i));
        seats_[i - begin_].scratch = bytes;
      }
      bytes = checked_add(bytes, round_up(largest, kLine), "scratch size");
    }
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace retort
