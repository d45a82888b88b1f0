#include "ops/text/common/regex.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/c_locale.h"
#include "base/error.h"
#include "ops/text/common/regex_place.h"
#include "ops/text/common/regex_reach.h"
#include "ops/text/common/regex_table.h"

namespace retort::ops {
namespace {

using Set = Regex::Set;
using Kind = Regex::Kind;
using Program = std::vector<Regex::Instruction>;

constexpr size_t kMostInstructions = 100'000;
constexpr int kDeepest = 200;       // nesting of groups, since the parser is recursive
constexpr int kMostRepeats = 1000;  // RE2's limit
constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

struct NamedClass {
  std::string_view name;
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
};
const std::vector<NamedClass>& named_classes() {
  static const std::vector<NamedClass> list = {{"d", {{'0', '9'}}},
                                               {"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}},
                                               {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
                                               {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
                                               {"ascii", {{0, 127}}},
                                               {"blank", {{'\t', '\t'}, {' ', ' '}}},
                                               {"cntrl", {{0, 31}, {127, 127}}},
                                               {"digit", {{'0', '9'}}},
                                               {"graph", {{'!', '~'}}},
                                               {"lower", {{'a', 'z'}}},
                                               {"print", {{' ', '~'}}},
                                               {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
                                               {"space", {{'\t', '\r'}, {' ', ' '}}},
                                               {"upper", {{'A', 'Z'}}},
                                               {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
                                               {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
  return list;
}

int digit(char c, int base) {
  const int value = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
  return value < base ? value : -1;
}

/// Adds a class of ASCII characters, or its complement.
bool add_class(Set& set, std::string_view name, bool others) {
  const auto found = std::ranges::find(named_classes(), name, &NamedClass::name);
  if (found == named_classes().end()) return false;
  uint32_t next = 0;
  for (const auto& [first, last] : found->ranges) {
    if (!others) set.add(first, last);
    if (others && first > next) set.add(next, first - 1);
    next = last + 1;
  }
  if (others) set.add(next, kLastCode);
  return true;
}

/// Recursive descent; every part becomes a piece of program that continues after its end.
class Parser {
 public:
  Parser(std::string_view pattern, std::vector<Set>& sets) : pattern_(pattern), sets_(sets) {}

  Program parse() {
    Program p = alternatives();
    if (!at_end()) wrong("unexpected )");
    return p;
  }

 private:
  struct Flags {
    bool any_case = false, dot_newline = false, lines = false;
  };

  [[noreturn]] void wrong(std::string_view what) const {
    fail(ErrorCode::invalid_argument, "pattern \"{}\": {} at byte {}", pattern_, what, at_);
  }
  bool at_end() const { return at_ >= pattern_.size(); }
  std::string_view rest() const { return pattern_.substr(at_); }
  bool take(std::string_view text) {
    if (!rest().starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  uint32_t take_code() {
    if (at_end()) wrong("unexpected end");
    const CodePoint c = first_code_point(rest());
    if (c.code == kNoCode) wrong("invalid UTF-8");
    at_ += c.length;
    return c.code;
  }

  void append(Program& to, const Program& more) const {
    if (to.size() + more.size() > kMostInstructions) wrong("too large");
    to.insert(to.end(), more.begin(), more.end());
  }
  Program of_set(Set set) {
    set.any_case = set.any_case || flags_.any_case;
    sets_.push_back(std::move(set));
    return {{.kind = Kind::set, .set = uint32_t(sets_.size() - 1)}};
  }
  Program of_code(uint32_t code) {
    Set s;
    s.add(code, code);
    return of_set(std::move(s));
  }

  Program alternatives() {
    if (++depth_ > kDeepest) wrong("groups nested too deeply");
    Program all = sequence();
    while (take("|")) {
      const Program other = sequence();
      Program both = {{.kind = Kind::split, .to = 1, .or_to = int32_t(all.size()) + 2}};
      append(both, all);
      both.push_back({.kind = Kind::jump, .to = int32_t(other.size()) + 1});
      append(both, other);
      all = std::move(both);
    }
    --depth_;
    return all;
  }

  Program sequence() {
    Program all;
    while (!at_end() && rest()[0] != '|' && rest()[0] != ')') {
      if (take("\\Q")) {
        while (!at_end() && !take("\\E")) {
          Program one = of_code(take_code());
          const bool last = take("\\E");
          append(all, last ? repeated(std::move(one)) : one);
          if (last) break;
        }
        continue;
      }
      if (!flags_only()) append(all, repeated(atom()));
    }
    return all;
  }

  Program repeated(Program one) {
    while (flags_only()) continue;
    int least = 0, most = 0;
    if (!repetition(least, most)) return one;
    Program all;
    for (int i = 0; i < least; ++i) append(all, one);
    const auto length = int32_t(one.size());
    if (most < 0) {
      append(all, {{.kind = Kind::split, .to = 1, .or_to = length + 2}});
      append(all, one);
      append(all, {{.kind = Kind::jump, .to = -length - 1}});
    }
    for (int i = least; i < most; ++i) {
      append(all, {{.kind = Kind::split, .to = 1, .or_to = (length + 1) * (most - i)}});
      append(all, one);
    }
    if (repetition(least, most)) wrong("two repetitions in a row");
    return all;
  }
  // Parses a repetition; `most` is -1 if there is no upper limit.
  bool repetition(int& least, int& most) {
    least = 0;
    most = -1;
    const size_t before = at_;
    if (take("+"))
      least = 1;
    else if (take("?"))
      most = 1;
    else if (!take("*") && !counted(least, most)) {
      at_ = before;
      return false;
    }
    take("?");  // a lazy repetition, which makes no difference to whole matches
    return true;
  }
  bool counted(int& least, int& most) {
    if (!take("{")) return false;
    const auto first = number();
    if (!first) return false;
    least = most = *first;
    if (take(",")) {
      const auto last = number();
      most = last ? *last : -1;
    }
    if (!take("}")) return false;
    if (least > kMostRepeats || most > kMostRepeats || (most >= 0 && most < least)) wrong("invalid repeat count");
    return true;
  }
  std::optional<int> number() {
    const size_t before = at_;
    int n = 0;
    for (; !at_end() && digit(rest()[0], 10) >= 0; ++at_) n = std::min(n * 10 + digit(rest()[0], 10), kMostRepeats + 1);
    return at_ > before ? std::optional(n) : std::nullopt;
  }

  Program atom() {
    if (take("(")) return group();
    if (take("[")) return of_set(bracket());
    if (take("^")) return {{.kind = flags_.lines ? Kind::line_begin : Kind::text_begin}};
    if (take("$")) return {{.kind = flags_.lines ? Kind::line_end : Kind::text_end}};
    if (take(".")) {
      Set s;
      if (!flags_.dot_newline) s.add('\n', '\n');
      s.negated = true;
      return of_set(std::move(s));
    }
    if (take("\\A")) return {{.kind = Kind::text_begin}};
    if (take("\\z")) return {{.kind = Kind::text_end}};
    if (take("\\b")) return {{.kind = Kind::word_edge}};
    if (take("\\B")) return {{.kind = Kind::no_word_edge}};
    if (int least, most; repetition(least, most)) wrong("nothing to repeat");
    Set s;
    if (shorthand(s)) return of_set(std::move(s));
    return of_code(character());
  }

  Program group() {
    const Flags outer = flags_;
    if (take("?P<") || take("?<")) {
      const size_t end = rest().find('>');
      if (end == rest().npos || end == 0) wrong("invalid name of a group");
      at_ += end + 1;
    } else if (take("?")) {
      group_flags();
    }
    Program inside = alternatives();
    if (!take(")")) wrong("missing )");
    flags_ = outer;
    return inside;
  }
  // Parses "(?flags)", which sets them for the rest of the enclosing group.
  bool flags_only() {
    const size_t end = rest().starts_with("(?") ? rest().find_first_not_of("ismU-", 2) : rest().npos;
    if (end == rest().npos || rest()[end] != ')') return false;
    at_ += 2;
    group_flags();
    return true;
  }
  // Parses what follows "(?", up to the ":" or ")" after the flags.
  void group_flags() {
    bool on = true, ignored = false;
    for (uint32_t c = take_code(); c != ':' && c != ')'; c = take_code()) {
      if (c == '-')
        on = false;
      else if (c < 128 && std::string_view("ismU").find(char(c)) != std::string_view::npos)
        (c == 'i' ? flags_.any_case : c == 's' ? flags_.dot_newline : c == 'm' ? flags_.lines : ignored) = on;
      else
        wrong("invalid flag of a group");
    }
  }

  // Parses \d and similar classes, inside and outside of brackets.
  bool shorthand(Set& s) {
    if (rest().size() < 2 || rest()[0] != '\\') return false;
    const char c = rest()[1];
    if (c == 'p' || c == 'P' || c == 'C')
      fail(ErrorCode::not_implemented, "pattern \"{}\": \\{} at byte {} is not supported", pattern_, c, at_);
    const char name = char(c | 0x20);
    if (name != 'd' && name != 's' && name != 'w') return false;
    add_class(s, name == 'd' ? "digit" : name == 'w' ? "word" : "s", c != name);
    at_ += 2;
    return true;
  }

  uint32_t character() {
    if (!take("\\")) return take_code();
    if (at_end()) wrong("trailing \\");
    constexpr std::string_view kNames = "aftnrv", kValues = "\a\f\t\n\r\v";
    const char c = rest()[0];
    if (const size_t k = kNames.find(c); k != kNames.npos) return ++at_, uint32_t(kValues[k]);
    if (kPunctuation.find(c) != kPunctuation.npos) return ++at_, uint32_t(c);
    if (take("x{")) {
      const uint32_t code = digits(16, 8);
      if (!take("}")) wrong("missing }");
      return code;
    }
    if (take("x")) return digits(16, 2, 2);
    if (c == '0' || (digit(c, 8) > 0 && rest().size() > 1 && digit(rest()[1], 8) >= 0)) return digits(8, 3);
    wrong("invalid escape");
  }
  uint32_t digits(int base, int most, int least = 1) {
    uint32_t code = 0;
    int n = 0;
    for (; n < most && !at_end() && digit(rest()[0], base) >= 0; ++n, ++at_) {
      code = code * uint32_t(base) + uint32_t(digit(rest()[0], base));
      if (code > kLastCode) wrong("not a code point");
    }
    if (n < least) wrong("invalid escape");
    return code;
  }

  // Parses what follows "[".
  Set bracket() {
    Set s;
    s.negated = take("^");
    for (bool first = true; first || !take("]"); first = false) {
      if (at_end()) wrong("missing ]");
      if (take("[:")) {
        const bool others = take("^");
        const size_t end = rest().find(":]");
        if (end == rest().npos || end < 2 || !add_class(s, rest().substr(0, end), others)) wrong("invalid class");
        at_ += end + 2;
        continue;
      }
      if (shorthand(s)) continue;
      const uint32_t from = character();
      uint32_t to = from;
      if (rest().size() > 1 && rest()[0] == '-' && rest()[1] != ']') {
        ++at_;
        to = character();
        if (to < from) wrong("invalid range");
      }
      s.add(from, to);
    }
    return s;
  }

  const std::string_view pattern_;
  std::vector<Set>& sets_;
  Flags flags_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

bool Regex::Set::contains(uint32_t code) const {
  if (code == kNoCode) return false;
  const auto within = [&](uint32_t c) {
    return std::ranges::any_of(ranges, [&](const auto& r) { return r.first <= c && c <= r.second; });
  };
  bool in = within(code);
  if (any_case && !in) in = std::ranges::any_of(case_forms(code), within);
  return in != negated;
}

Regex::Regex(std::string_view pattern) {
  program_ = Parser(pattern, sets_).parse();
  if (auto table = RegexTable::build(program_, sets_)) table_ = std::make_shared<RegexTable>(*std::move(table));
}

bool Regex::matches(std::string_view text) const {
  if (const auto known = table_ ? table_->matches(text) : std::nullopt) return *known;
  std::vector<uint32_t> states, next;
  std::vector<char> seen(program_.size() + 1);
  const auto decode = [&](size_t at) {
    return at < text.size() ? first_code_point(text.substr(at)) : CodePoint{kNoCode, 0};
  };
  CodePoint c = decode(0);
  reach(program_, 0, seen, states, RegexPlace{kNoCode, c.code, true, text.empty()});
  for (size_t at = 0; at < text.size() && !states.empty();) {
    at += c.length;
    const CodePoint after = decode(at);
    std::ranges::fill(seen, char(0));
    for (const uint32_t s : states) {
      if (s < program_.size() && sets_[program_[s].set].contains(c.code))
        reach(program_, s + 1, seen, next, RegexPlace{c.code, after.code, false, at == text.size()});
    }
    states.swap(next);
    next.clear();
    c = after;
  }
  return std::ranges::find(states, program_.size()) != states.end();
}

}  // namespace retort::ops
