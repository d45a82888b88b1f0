#include "run/fork.h"

#include <algorithm>
#include <numeric>

namespace retort {
namespace {

constexpr double kLeastNs = 20000;  // less work than this is no matter for a second thread
constexpr double kForkNs = 5000;    // waking threads and waiting for the last
constexpr double kStepNs = 50;      // of each step in a branch
constexpr double kDoubt = 1.15;     // guesses of work are rough: a fork has to promise so much more
constexpr uint32_t kMostSteps = 512;
constexpr size_t kTasksPerWorker = 2;  // branches beyond that are put together: they share memory

struct Part {
  double work = 0;
  std::vector<uint32_t> roots;
};

/// Longest first, each to where least was given so far: what each of `bins` gets.
std::vector<Part> deal(std::vector<Part> parts, size_t bins) {
  std::ranges::stable_sort(parts, std::greater(), &Part::work);
  std::vector<Part> dealt(std::min(bins, parts.size()));
  for (const Part& p : parts) {
    Part& least = *std::ranges::min_element(dealt, {}, &Part::work);
    least.work += p.work;
    least.roots.insert(least.roots.end(), p.roots.begin(), p.roots.end());
  }
  std::ranges::stable_sort(dealt, std::greater(), &Part::work);
  return dealt;
}

class ForkFinder {
 public:
  ForkFinder(std::span<const ForkStep> steps, int workers)
      : steps_(steps), workers_(size_t(workers)), above_(steps.size()), work_(steps.size()), readers_(steps.size()) {
    for (const ForkStep& s : steps) {
      for (const uint32_t n : s.needs) ++readers_[n];
    }
  }

  std::vector<Fork> find() {
    const auto n = uint32_t(steps_.size());
    sooner_.assign(n + 1, 1e300);
    begin_.assign(n + 1, 0);
    sooner_[0] = 0;
    for (uint32_t i = 0; i < n; ++i) {
      offer(i, i + 1, steps_[i].all);
      if (may_begin(i)) grow(i);
    }
    std::vector<Fork> found;
    for (uint32_t j = n; j > 0; j = begin_[j]) {
      if (j - begin_[j] > 1) found.push_back(make(begin_[j], j));
    }
    std::ranges::reverse(found);
    return found;
  }

 private:
  bool gains_inside(uint32_t i) const { return steps_[i].all < steps_[i].alone; }

  bool may_begin(uint32_t i) const {
    return i == 0 || steps_[i].needs.empty() || !steps_[i - 1].fits || gains_inside(i - 1) ||
           steps_[i - 1].needs.size() > 1 || readers_[i - 1] > 1;
  }

  // What comes before j takes so long when a range [i, j) follows what comes before i.
  void offer(uint32_t i, uint32_t j, double ns) {
    if (sooner_[i] + ns >= sooner_[j]) return;
    sooner_[j] = sooner_[i] + ns;
    begin_[j] = i;
  }

  uint32_t top(uint32_t i) {
    while (above_[i] != i) i = above_[i] = above_[above_[i]];
    return i;
  }

  /// Adds a step to the range that begins at `begin`; how many branches it joins.
  uint32_t add(uint32_t begin, uint32_t i) {
    above_[i] = i;
    work_[i] = steps_[i].alone;
    uint32_t joined = 0;
    for (const uint32_t n : steps_[i].needs) {
      if (n < begin) continue;
      const uint32_t t = top(n);
      if (t == i) continue;
      above_[t] = i;
      work_[i] += work_[t];
      ++joined;
    }
    return joined;
  }

  uint32_t branches_of(uint32_t begin, uint32_t i) {
    std::vector<uint32_t>& tops = tops_;
    tops.clear();
    for (const uint32_t n : steps_[i].needs) {
      if (n >= begin) tops.push_back(top(n));
    }
    std::ranges::sort(tops);
    return uint32_t(std::unique(tops.begin(), tops.end()) - tops.begin());
  }

  void grow(uint32_t begin) {
    uint32_t branches = 0, j = begin;
    double total = 0;
    bool parted = false;
    const auto end = uint32_t(std::min<size_t>(steps_.size(), size_t(begin) + kMostSteps));
    for (; j < end && steps_[j].fits; ++j) {
      if (branches > 1 && (gains_inside(j) || branches_of(begin, j) > 1)) weigh(begin, j, total);
      branches += 1 - add(begin, j);
      total += steps_[j].alone;
      if (branches == 1 && parted) return;
      parted = branches > 1;
    }
    if (branches > 1) weigh(begin, j, total);
  }

  std::vector<Part> parts(uint32_t begin, uint32_t end) {
    std::vector<Part> all;
    for (uint32_t i = begin; i < end; ++i) {
      if (top(i) == i) all.push_back({work_[i], {i}});
    }
    return all;
  }

  void weigh(uint32_t begin, uint32_t end, double total) {
    const double steps = kStepNs * (end - begin);
    if (total < kLeastNs || kDoubt * total / double(workers_) >= together(begin, end)) return;
    const double longest = deal(parts(begin, end), workers_)[0].work;
    offer(begin, end, kForkNs + kDoubt * longest + steps);
  }

  double together(uint32_t begin, uint32_t end) const {
    return std::accumulate(steps_.begin() + begin, steps_.begin() + end, 0.0,
                           [](double sum, const ForkStep& s) { return sum + s.all; });
  }

  Fork make(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) add(begin, i);
    Fork fork{.begin = steps_[begin].step, .end = steps_[end - 1].step + 1, .size = end - begin};
    const std::vector<Part> dealt = deal(parts(begin, end), workers_ * kTasksPerWorker);
    for (const Part& p : dealt) {
      std::vector<uint32_t>& branch = fork.branches.emplace_back();
      for (uint32_t i = begin; i < end; ++i) {
        if (std::ranges::find(p.roots, top(i)) != p.roots.end()) branch.push_back(steps_[i].step);
      }
    }
    return fork;
  }

  std::span<const ForkStep> steps_;
  size_t workers_;
  std::vector<uint32_t> above_;  ///< trees of the steps of a branch
  std::vector<double> work_;     ///< of the branch, at the top of its tree
  std::vector<uint32_t> readers_;
  std::vector<double> sooner_;   ///< by step: how long those before it take, as well as is known
  std::vector<uint32_t> begin_;  ///< by step: where the range that ends before it begins; a range of one is no fork
  std::vector<uint32_t> tops_;
};

}  // namespace

std::vector<Fork> find_forks(std::span<const ForkStep> steps, int workers) { return ForkFinder(steps, workers).find(); }

}  // namespace retort
