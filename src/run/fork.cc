#include "run/fork.h"

#include <algorithm>
#include <array>

namespace retort {
namespace {

constexpr double kLeastNs = 20000;    // with less work, a second thread does not pay
constexpr double kForkNs = 5000;      // time to wake threads and to wait for the last
constexpr double kStepNs = 50;        // overhead per step in a branch
constexpr double kDoubt = 1.15;       // estimates of work are rough: a fork must promise this factor more
constexpr uint32_t kMostSteps = 256;  // limit for one fork
// up to this many branches are distributed to learn the longest sum; more are assumed to be even
constexpr size_t kMostDealt = 16;
constexpr double kUneven = 1.05;
constexpr size_t kTasksPerWorker = 2;  // more branches than this are merged, and the merged ones share memory

struct Part {
  double work = 0;
  std::vector<uint32_t> tops;
};

/// Distributes parts over `bins`: the longest part first, each to the bin with the least work so far. Returns the
/// content of each bin.
std::vector<Part> deal(std::vector<Part> parts, size_t bins) {
  std::ranges::stable_sort(parts, std::greater(), &Part::work);
  std::vector<Part> dealt(std::min(bins, parts.size()));
  for (const Part& p : parts) {
    Part& least = *std::ranges::min_element(dealt, {}, &Part::work);
    least.work += p.work;
    least.tops.insert(least.tops.end(), p.tops.begin(), p.tops.end());
  }
  std::ranges::stable_sort(dealt, std::greater(), &Part::work);
  return dealt;
}

class ForkFinder {
 public:
  ForkFinder(std::span<const ForkStep> steps, int workers)
      : steps_(steps),
        bins_(size_t(workers)),
        above_(steps.size()),
        place_(steps.size()),
        readers_(steps.size()),
        work_(steps.size()),
        in_row_(steps.size() + 1),
        sooner_(steps.size() + 1, 1e300),
        begin_(steps.size() + 1) {
    for (size_t i = 0; i < steps.size(); ++i) {
      in_row_[i + 1] = in_row_[i] + steps[i].all;
      for (const uint32_t n : steps[i].needs) ++readers_[n];
    }
  }

  std::vector<Fork> find() {
    const auto n = uint32_t(steps_.size());
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
    if (i == 0 || !steps_[i - 1].fits || gains_inside(i - 1)) return true;
    const ForkStep& before = steps_[i - 1];
    return before.needs.size() > 1 || readers_[i - 1] > 1 || (steps_[i].needs.empty() && !before.needs.empty());
  }

  // Records the time in which all steps before j can finish, if the range [i, j) takes `ns` and follows the steps
  // before i.
  void offer(uint32_t i, uint32_t j, double ns) {
    if (sooner_[i] + ns >= sooner_[j]) return;
    sooner_[j] = sooner_[i] + ns;
    begin_[j] = i;
  }

  uint32_t top(uint32_t i) {
    while (above_[i] != i) i = above_[i] = above_[above_[i]];
    return i;
  }

  void start() {
    tops_.clear();
    longest_ = 0;
  }

  /// Adds a step to the range that begins at `begin`, and merges the branches that it reads from into one.
  void add(uint32_t begin, uint32_t i) {
    above_[i] = i;
    work_[i] = steps_[i].alone;
    for (const uint32_t n : steps_[i].needs) {
      if (n < begin) continue;
      const uint32_t t = top(n);
      if (t == i) continue;
      above_[t] = i;
      work_[i] += work_[t];
      place_[tops_.back()] = place_[t];
      tops_[place_[t]] = tops_.back();
      tops_.pop_back();
    }
    place_[i] = uint32_t(tops_.size());
    tops_.push_back(i);
    longest_ = std::max(longest_, work_[i]);
  }

  bool joins(uint32_t begin, uint32_t i) {
    uint32_t first = ~0u;
    for (const uint32_t n : steps_[i].needs) {
      if (n < begin) continue;
      const uint32_t t = top(n);
      if (first != ~0u && t != first) return true;
      first = t;
    }
    return false;
  }

  // Extends the range from `begin`. A range may end where branches join, or before a step that gains from threads
  // inside it. The search ends when a single branch remains.
  void grow(uint32_t begin) {
    start();
    double total = 0;
    const auto end = uint32_t(std::min<size_t>(steps_.size(), size_t(begin) + kMostSteps));
    uint32_t j = begin;
    for (; j < end && steps_[j].fits; ++j) {
      const bool parted = tops_.size() > 1;
      if (parted && (gains_inside(j) || joins(begin, j))) weigh(begin, j, total);
      add(begin, j);
      total += steps_[j].alone;
      if (parted && tops_.size() == 1) return;
    }
    if (tops_.size() > 1) weigh(begin, j, total);
  }

  void weigh(uint32_t begin, uint32_t end, double total) {
    const auto price = [&](double longest) { return kForkNs + kDoubt * longest + kStepNs * (end - begin); };
    const double at_least = std::max(longest_, total / double(bins_.size()));
    const double best = std::min(sooner_[end] - sooner_[begin], in_row_[end] - in_row_[begin]);
    if (total < kLeastNs || price(at_least) >= best) return;
    offer(begin, end, price(tops_.size() > kMostDealt ? kUneven * at_least : longest_bin()));
  }

  /// The work of the thread that has the most.
  double longest_bin() {
    std::array<double, kMostDealt> works;
    std::ranges::transform(tops_, works.begin(), [&](uint32_t t) { return work_[t]; });
    std::sort(works.begin(), works.begin() + tops_.size(), std::greater());
    std::ranges::fill(bins_, 0);
    for (size_t i = 0; i < tops_.size(); ++i) *std::ranges::min_element(bins_) += works[i];
    return *std::ranges::max_element(bins_);
  }

  Fork make(uint32_t begin, uint32_t end) {
    start();
    for (uint32_t i = begin; i < end; ++i) add(begin, i);
    std::vector<Part> parts;
    for (const uint32_t t : tops_) parts.push_back({work_[t], {t}});
    Fork fork{.begin = steps_[begin].step, .end = steps_[end - 1].step + 1, .size = end - begin};
    for (const Part& p : deal(std::move(parts), bins_.size() * kTasksPerWorker)) {
      std::vector<uint32_t>& branch = fork.branches.emplace_back();
      for (uint32_t i = begin; i < end; ++i) {
        if (std::ranges::find(p.tops, top(i)) != p.tops.end()) branch.push_back(steps_[i].step);
      }
    }
    return fork;
  }

  std::span<const ForkStep> steps_;
  std::vector<double> bins_;     ///< one per thread
  std::vector<uint32_t> above_;  ///< union-find: the parent of each step in its branch
  /// The roots of the branches in the range; the position of each root in that list.
  std::vector<uint32_t> tops_, place_;
  std::vector<uint32_t> readers_;
  std::vector<double> work_;    ///< of the branch, at its root
  std::vector<double> in_row_;  ///< time that all earlier steps take one after the other
  std::vector<double> sooner_;  ///< the same with the best forks
  /// Per step: the beginning of the range that ends before it; a range of one step is not a fork.
  std::vector<uint32_t> begin_;
  double longest_ = 0;  ///< work of the longest branch
};

}  // namespace

std::vector<Fork> find_forks(std::span<const ForkStep> steps, int workers) { return ForkFinder(steps, workers).find(); }

}  // namespace retort
