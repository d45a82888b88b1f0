#include "ops/text/common/regex_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ops/text/common/regex_reach.h"

namespace retort::ops {
namespace {

constexpr size_t kMostStates = 256;
constexpr size_t kMostSteps = 200'000;  // limit for building: takes about two milliseconds
constexpr size_t kMostLooks = 4;        // at each character of a search, on average
constexpr size_t kLooksPerStep = 4, kClearedPerStep = 16;

bool asks_for_places(std::span<const Regex::Instruction> program) {
  using enum Regex::Kind;
  return std::ranges::any_of(program, [](const auto& i) { return i.kind != set && i.kind != jump && i.kind != split; });
}

}  // namespace

/// Subset construction: a state of the table is a set of states of the nondeterministic automaton. Source: Rabin,
/// Scott, "Finite Automata and Their Decision Problems", 1959.
class RegexTable::Builder {
 public:
  Builder(std::span<const Regex::Instruction> program, std::span<const Regex::Set> sets)
      : program_(program), sets_(sets), seen_(program.size() + 1) {}

  std::optional<RegexTable> build() {
    if (!find_classes()) return std::nullopt;
    intern({});
    begin({});
    follow(0);
    intern(std::move(open_));
    for (size_t s = 0; s < states_.size(); ++s) {
      for (size_t k = 0; k < table_.classes_; ++k) {
        begin(*states_[s]);
        for (const uint32_t at : *states_[s]) {
          if (at < program_.size() && allowed_[k][program_[at].set]) follow(at + 1);
        }
        table_.next_.push_back(intern(std::move(open_)));
        if (states_.size() > kMostStates || steps_ > kMostSteps) return std::nullopt;
      }
    }
    return std::move(table_);
  }

 private:
  using States = std::vector<uint32_t>;

  // Returns false if the sets are too many or too long to search.
  bool find_classes() {
    for (const Regex::Set& set : sets_) steps_ += 128 * (1 + set.ranges.size()) / kLooksPerStep;
    if (steps_ > kMostSteps) return false;
    for (uint32_t code = 0; code < 128; ++code) {
      std::vector<bool> allowed;
      for (const Regex::Set& set : sets_) allowed.push_back(set.contains(code));
      const auto found = std::ranges::find(allowed_, allowed);
      table_.class_[code] = uint8_t(found - allowed_.begin());
      if (found == allowed_.end()) allowed_.push_back(std::move(allowed));
    }
    table_.classes_ = allowed_.size();
    return true;
  }

  // To be called before the states of `from` are visited.
  void begin(const States& from) {
    open_.clear();
    std::ranges::fill(seen_, char(0));
    steps_ += 1 + seen_.size() / kClearedPerStep + from.size() / kLooksPerStep;
  }
  void follow(uint32_t state) {
    // Patterns with position assertions have no table.
    steps_ += reach(program_, state, seen_, open_, [](Regex::Kind) { return false; });
  }

  uint16_t intern(States states) {
    steps_ += 4 * states.size();
    std::ranges::sort(states);
    const bool accepts = !states.empty() && states.back() == program_.size();
    const auto [found, is_new] = index_.emplace(std::move(states), uint16_t(states_.size()));
    if (is_new) {
      states_.push_back(&found->first);
      table_.accepts_.push_back(accepts);
    }
    return found->second;
  }

  std::span<const Regex::Instruction> program_;
  std::span<const Regex::Set> sets_;
  std::vector<std::vector<bool>> allowed_;  // [class, set]
  std::map<States, uint16_t> index_;
  std::vector<const States*> states_;
  States open_;
  std::vector<char> seen_;
  size_t steps_ = 0;
  RegexTable table_;
};

std::optional<RegexTable> RegexTable::build(std::span<const Regex::Instruction> program,
                                            std::span<const Regex::Set> sets) {
  if (asks_for_places(program) || program.size() * 128 > kMostSteps) return std::nullopt;
  return Builder(program, sets).build();
}

std::optional<bool> RegexTable::matches(std::string_view text) const noexcept {
  size_t state = 1;
  for (const char c : text) {
    if (uint8_t(c) >= 128) return std::nullopt;
    state = next_[state * classes_ + class_[uint8_t(c)]];
    if (state == 0) return false;
  }
  return accepts_[state] != 0;
}

std::optional<std::optional<Regex::Part>> RegexTable::find(std::string_view text, size_t from) const noexcept {
  size_t looks = kMostLooks * (text.size() - from + 1);
  for (size_t begin = from; begin <= text.size(); ++begin) {
    size_t end = accepts_[1] ? begin : text.npos, state = 1;
    for (size_t at = begin; at < text.size() && state != 0; ++at) {
      if (uint8_t(text[at]) >= 128 || looks-- == 0) return std::nullopt;
      state = next_[state * classes_ + class_[uint8_t(text[at])]];
      if (accepts_[state]) end = at + 1;
    }
    if (end != text.npos) return Regex::Part{begin, end};
  }
  return std::optional<Regex::Part>{};
}

}  // namespace retort::ops
