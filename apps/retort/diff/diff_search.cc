#include "diff/diff_search.h"

#include <algorithm>

namespace retort::cli {
namespace {

using ValueSet = std::set<size_t>;

class Search {
 public:
  Search(const ValueGraph& graph, size_t suspect, size_t at_once, const DiffSearch::Look& look)
      : graph_(graph), suspect_(suspect), at_once_(at_once), room_(at_once), look_(look) {}

  DiffSearch::Result run() {
    for (std::vector<size_t> open = candidates(); !open.empty(); open = candidates()) step(choose(open));
    DiffSearch::Result result{.value = suspect_, .looks = looks_};
    collect(suspect_, result);
    return result;
  }

 private:
  /// Values before the suspect of which nothing is known yet.
  std::vector<size_t> candidates() const {
    ValueSet seen;
    std::vector<size_t> todo{suspect_};
    while (!todo.empty()) {
      const size_t v = todo.back();
      todo.pop_back();
      for (const size_t from : graph_.made_from[v]) {
        if (!agreeing_.contains(from) && seen.insert(from).second) todo.push_back(from);
      }
    }
    std::vector<size_t> open;
    std::set_difference(seen.begin(), seen.end(), hiding_.begin(), hiding_.end(), std::back_inserter(open));
    return open;
  }

  /// Some of them, evenly spread.
  std::vector<size_t> choose(const std::vector<size_t>& open) const {
    const size_t n = std::min(room_, open.size());
    std::vector<size_t> marks;
    for (size_t i = 1; i <= n; ++i) marks.push_back(open[i * (open.size() + 1) / (n + 1) - 1]);
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    return marks;
  }

  void step(const std::vector<size_t>& marks) {
    std::vector<size_t> shown = marks;
    shown.push_back(suspect_);
    ++looks_;
    const ValueSet bad = look_(shown);
    const auto first = std::find_if(marks.begin(), marks.end(), [&](size_t v) { return bad.contains(v); });
    if (first == marks.end() && !bad.contains(suspect_)) {  // looking made the difference go away
      if (marks.size() == 1) hiding_.insert(marks[0]);
      room_ = std::max<size_t>(marks.size() / 2, 1);
      return;
    }
    for (const size_t v : marks) {
      if (!bad.contains(v)) agreeing_.insert(v);
    }
    if (first != marks.end()) {
      suspect_ = *first;
      hiding_.clear();
    }
    room_ = at_once_;
  }

  void collect(size_t value, DiffSearch::Result& result) const {
    for (const size_t from : graph_.made_from[value]) {
      const bool hidden = hiding_.contains(from) && !agreeing_.contains(from);
      auto& list = hidden ? result.hidden : result.agreeing;
      if (std::find(list.begin(), list.end(), from) != list.end()) continue;
      list.push_back(from);
      if (hidden) collect(from, result);
    }
  }

  const ValueGraph& graph_;
  size_t suspect_, at_once_, room_, looks_ = 0;
  const DiffSearch::Look& look_;
  ValueSet agreeing_, hiding_;
};

}  // namespace

DiffSearch::Result DiffSearch::run(const ValueGraph& graph, size_t suspect, size_t at_once, const Look& look) {
  return Search(graph, suspect, at_once, look).run();
}

}  // namespace retort::cli
