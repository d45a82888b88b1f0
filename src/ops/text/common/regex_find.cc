// The search for a match anywhere in a text, where the table cannot do it. All beginnings are tried at once, and each
// state keeps the first beginning that leads to it.
#include <algorithm>

#include "ops/text/common/regex.h"
#include "ops/text/common/regex_place.h"
#include "ops/text/common/regex_reach.h"
#include "ops/text/common/regex_table.h"

namespace retort::ops {
namespace {

struct Thread {
  uint32_t state;
  size_t begin;
};

/// The states at one position of the text. They are visited in the order of their beginnings, so the first visit of a
/// state has the first beginning.
class Threads {
 public:
  explicit Threads(std::span<const Regex::Instruction> program) : program_(program), seen_(program.size() + 1) {}

  void add(uint32_t state, size_t begin, const RegexPlace& place) {
    reached_.clear();
    reach(program_, state, seen_, reached_, place);
    for (const uint32_t s : reached_) list_.push_back({s, begin});
  }
  void clear() {
    list_.clear();
    std::ranges::fill(seen_, char(0));
  }
  std::span<const Thread> list() const { return list_; }

 private:
  std::span<const Regex::Instruction> program_;
  std::vector<char> seen_;
  std::vector<uint32_t> reached_;
  std::vector<Thread> list_;
};

}  // namespace

std::optional<Regex::Part> Regex::find(std::string_view text, size_t from) const {
  if (const auto known = table_ ? table_->find(text, from) : std::nullopt) return *known;
  const auto decode = [&](size_t at) {
    return at < text.size() ? first_code_point(text.substr(at)) : CodePoint{kNoCode, 0};
  };
  std::optional<Part> found;
  Threads here(program_), next(program_);
  CodePoint c = decode(from);
  RegexPlace place{code_before(text, from), c.code, from == 0, from >= text.size()};
  for (size_t at = from; at <= text.size();) {
    if (!found) here.add(0, at, place);
    for (const Thread& t : here.list()) {
      if (t.state == program_.size() && (!found || t.begin <= found->begin)) found = Part{t.begin, at};
    }
    if (at == text.size() || (found && here.list().empty())) break;
    at += c.length;
    const CodePoint after = decode(at);
    place = {c.code, after.code, false, at == text.size()};
    next.clear();
    for (const Thread& t : here.list()) {
      if (found && t.begin > found->begin) continue;
      if (t.state < program_.size() && sets_[program_[t.state].set].contains(c.code))
        next.add(t.state + 1, t.begin, place);
    }
    std::swap(here, next);
    c = after;
  }
  return found;
}

}  // namespace retort::ops
