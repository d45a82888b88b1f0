#include "ops/text/common/regex.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/error.h"
#include "ops/text/common/regex_table.h"

namespace retort::ops {
namespace {

struct Example {
  const char *pattern, *text;
  bool matches;
};

TEST(Regex, MatchesWholeTexts) {
  const Example examples[] = {
      {"", "", true},
      {"", "a", false},
      {"a|bc|", "bc", true},
      {"a|bc|", "b", false},
      {"(?:ab)*c+", "ababcc", true},
      {"(a*)*b", "aaab", true},
      {"a{2,3}", "aaaa", false},
      {"a{2,}", "aaaa", true},
      {"a{2}?", "aa", true},
      {"a{,2}", "a{,2}", true},  // not a count, so it is literal
      {".", "é", true},
      {".", "\xff", false},
      {".", "\n", false},
      {"(?s).", "\n", true},
      {"(?s:.)(?i)A\\D", "\nax", true},
      {"[^a-cé]", "e", true},
      {"[^a-cé]", "é", false},
      {"[]a-]+", "-]a", true},
      {"[[:alpha:]\\d_]+", "aZ9_", true},
      {"[[:^digit:]]", "5", false},
      {"(?i)straße[é]", "STRAßEÉ", true},
      {"(?i)[^k]", "K", false},
      {"(?i)σκς\\x{212a}ſ[μ][^ß]?", "Σκσksµ", true},
      {"(?i)ß[Θ][^Θ]", "\u1e9eϑϴ", false},
      {"(?i)i", "\u0130", false},
      {"(?i)I", "ı", false},
      {"a\\b.\\bb", "a-b", true},
      {"a\\Bb", "ab", true},
      {"a$\\nb", "a\nb", false},
      {"(?m)a$\\n^b", "a\nb", true},
      {"\\x41\\x{e9}\\101\\.\\Q.*\\E", "AéA..*", true},
      {"(?P<year>\\d{4})-\\d\\d", "2024-05", true},
      {"(x+x+)+y", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", false},
  };
  for (const Example& e : examples)
    EXPECT_EQ(Regex(e.pattern).matches(e.text), e.matches) << e.pattern << " " << e.text;
}

TEST(Regex, ErrorsNameTheMistakeAndItsPlace) {
  const std::pair<const char*, const char*> patterns[] = {
      {"a(b", "missing ) at byte 3"},      {"a)b", "unexpected ) at byte 1"},
      {"[a", "missing ] at byte 2"},       {"*a", "nothing to repeat at byte 1"},
      {"a**", "two repetitions in a row"}, {"[b-a]", "invalid range"},
      {"a{2,1}", "invalid repeat count"},  {"a{1001}", "invalid repeat count"},
      {"\\1", "invalid escape"},           {"a\\", "trailing \\"},
      {"\xff", "invalid UTF-8"},           {"[[:nothing:]]", "invalid class"},
      {"(?z)a", "invalid flag"},           {"((a{1000}){1000}){1000}", "too large"},
      {"\\pL", "is not supported"},        {"\\x{110000}", "not a code point"},
  };
  for (const auto& [pattern, message] : patterns) {
    try {
      const Regex regex(pattern);
      ADD_FAILURE() << pattern;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find(message), std::string::npos) << e.message();
    }
  }
  EXPECT_THROW(Regex(std::string(5000, '(')), Error);
}

// A pattern with a position assertion has no table: "\\z" at the end does not change the meaning, but avoids the table.
TEST(Regex, TheTableAndTheAutomatonAgree) {
  std::mt19937 random(7);
  const auto any = [&](size_t n) { return size_t(random() % n); };
  const char* const atoms[] = {"a", "b", "c", ".", "[ab]", "[^b]", "\\d", "\\W", "(?i:C)", "(?:ab|c)", "(?:a|b*)", ""};
  const char* const counts[] = {"", "", "*", "+", "?", "{2}", "{1,3}", "|"};
  size_t matched = 0;
  for (int i = 0; i < 500; ++i) {
    std::string pattern;
    for (size_t k = any(6); k-- > 0;) {
      const std::string atom = atoms[any(std::size(atoms))];
      pattern += atom.empty() ? "(?:)" : atom;
      pattern += counts[any(std::size(counts))];
    }
    const Regex table(pattern), automaton("(?:" + pattern + ")\\z");
    for (int k = 0; k < 40; ++k) {
      std::string text;
      for (size_t n = any(7); n-- > 0;) text += "abcC1\n\xc3"[any(7)];
      ASSERT_EQ(table.matches(text), automaton.matches(text)) << pattern << " " << text;
      matched += table.matches(text);
    }
  }
  EXPECT_GT(matched, 1000u);
}

TEST(Regex, ATableThatWouldBeLargeIsNotMade) {
  std::string text(60, 'b');
  const Regex regex(".*a.{40}");  // 2^41 states
  EXPECT_FALSE(regex.matches(text));
  text[19] = 'a';
  EXPECT_TRUE(regex.matches(text));
}

// Testing whether a set contains a character takes time proportional to its ranges, and a table would do it 128 times.
TEST(Regex, ATableOfALongSetIsNotMade) {
  const Regex::Instruction program[] = {{.kind = Regex::Kind::set, .set = 0}};
  Regex::Set set;
  for (int i = 0; i < 10; ++i) set.add('a', 'b');
  EXPECT_TRUE(RegexTable::build(program, {&set, 1}));
  for (int i = 0; i < 100'000; ++i) set.add('a', 'b');
  EXPECT_FALSE(RegexTable::build(program, {&set, 1}));
}

// The same pattern without a table: \b that always holds keeps it from having one.
TEST(Regex, TheTableFindsWhatTheAutomatonFinds) {
  std::mt19937 random(11);
  const auto draw = [&](std::string_view from, size_t most) {
    std::string text;
    for (size_t n = random() % (most + 1); n > 0; --n) text += from[random() % from.size()];
    return text;
  };
  for (const char* pattern : {"a", "a+b", "[a-c]+", "(ab|abc|c)*", "a*", "ab|bcd", "(a*)*b", "[^a]b?", "aaaaab|a"}) {
    const Regex fast(pattern), plain("(?:\\b|\\B)(?:" + std::string(pattern) + ")");
    for (int i = 0; i < 200; ++i) {
      const std::string text = draw("aabcd", 30) + (i % 3 ? "" : "é" + draw("ab", 5));
      for (size_t from = 0; from <= text.size() && (from == text.size() || (text[from] & 0xC0) != 0x80); ++from) {
        const auto got = fast.find(text, from), want = plain.find(text, from);
        ASSERT_EQ(got.has_value(), want.has_value()) << pattern << " in " << text << " from " << from;
        if (!got) continue;
        ASSERT_EQ(got->begin, want->begin) << pattern << " in " << text << " from " << from;
        ASSERT_EQ(got->end, want->end) << pattern << " in " << text << " from " << from;
      }
    }
  }
}

TEST(Regex, ASearchTakesLinearTime) {
  const std::string text(200'000, 'a');
  EXPECT_FALSE(Regex("a*b").find(text, 0).has_value());  // every beginning leads to the end of the text
}

}  // namespace
}  // namespace retort::ops
