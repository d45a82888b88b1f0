// Regular expressions in the syntax of RE2, for matches of whole texts and for the first, longest one in a text.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/text/common/utf8.h"

namespace retort::ops {

class RegexTable;

/// A pattern as a nondeterministic automaton over code points. Matching takes time and memory proportional to the
/// length of text and automaton, whatever the pattern. ASCII texts are faster (RegexTable). Immutable and thread-safe.
class Regex {
 public:
  /// Throws invalid_argument naming the position of an error in the pattern, and not_implemented for \p (classes of
  /// Unicode) and \C.
  explicit Regex(std::string_view pattern);
  /// Bytes that are not UTF-8 match no character.
  bool matches(std::string_view text) const;
  /// A part of a text in bytes.
  struct Part {
    size_t begin, end;
  };
  /// The longest of the matches that begin first, at byte `from` or later; nullopt if there is none. ^ and \b also
  /// depend on the text before `from`.
  std::optional<Part> find(std::string_view text, size_t from) const;

  struct Set {
    std::vector<std::pair<uint32_t, uint32_t>> ranges;  ///< first and last
    bool negated = false, any_case = false;
    void add(uint32_t first, uint32_t last) { ranges.emplace_back(first, last); }
    bool contains(uint32_t code) const;
  };
  enum class Kind : uint8_t { set, jump, split, text_begin, text_end, line_begin, line_end, word_edge, no_word_edge };
  /// An instruction of the automaton. By default the next one follows; distances are relative to this one.
  struct Instruction {
    Kind kind;
    int32_t to = 1, or_to = 1;  ///< targets of jump and split
    uint32_t set = 0;           ///< index of the set
  };

 private:
  std::vector<Instruction> program_;
  std::vector<Set> sets_;
  std::shared_ptr<const RegexTable> table_;  ///< faster if it can be used; may be null
};

}  // namespace retort::ops
