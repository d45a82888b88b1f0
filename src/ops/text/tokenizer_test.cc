#include "ops/op_test.h"
#include "ops/text/common/regex.h"

#include <gtest/gtest.h>

namespace retort::ops {
namespace {

Attributes tokens(const char* expression, int64_t least = 1, int64_t mark = 0) {
  return {
      {"tokenexp", std::string(expression)}, {"mincharnum", least}, {"mark", mark}, {"pad_value", std::string("#")}};
}
Attributes separated(std::vector<std::string> by, int64_t least = 1, int64_t mark = 0) {
  return {{"separators", std::move(by)}, {"mincharnum", least}, {"mark", mark}, {"pad_value", std::string("#")}};
}

const OpTest tokenizer("Tokenizer",
                       {{.about = "words between spaces, padded",
                         .attributes = separated({" "}),
                         .inputs = {strings({2}, {"Hello World", "I love it"})},
                         .outputs = {strings({2, 3}, {"Hello", "World", "#", "I", "love", "it"})}},
                        {.about = "one separator after the other, the longest match of each",
                         .attributes = separated({"ab*", "-"}),
                         .inputs = {strings({1}, {"xabby-zaq"})},
                         .outputs = {strings({1, 4}, {"x", "y", "z", "q"})}},
                        {.about = "short tokens are left out; marks",
                         .attributes = separated({","}, 2, 1),
                         .inputs = {strings({1, 2}, {"a,bc", "de,fg"})},
                         .outputs = {strings({1, 2, 4}, {"\x02", "bc", "\x03", "#", "\x02", "de", "fg", "\x03"})}},
                        {.about = "characters",
                         .attributes = separated({""}),
                         .inputs = {strings({2}, {"a\u00e9", "b"})},
                         .outputs = {strings({2, 2}, {"a", "\u00e9", "b", "#"})}},
                        {.about = "matches",
                         .attributes = tokens("[a-z]+|\\d+", 2),
                         .inputs = {strings({1}, {"ab1 23c?def"})},
                         .outputs = {strings({1, 3}, {"ab", "23", "def"})}},
                        {.about = "nothing is left",
                         .attributes = separated({"x"}, 1, 1),
                         .inputs = {strings({2}, {"xx", ""})},
                         .outputs = {strings({2, 0}, {})}}},
                       {.domain = "com.microsoft"});

const OpTest word_conv_embedding("WordConvEmbedding",
                                 {{.about = "the largest of two windows; no word",
                                   .inputs = {i32({2, 3}, {1, 2, 1, 0, 1, 1}), f32({1, 1, 2, 1}, {1, 1}), f32({1}, {0}),
                                              f32({3, 1}, {0, 0.25, 0.5})},
                                   .outputs = {f32({2, 1}, {0.635148952f, 0})}},
                                  {.about = "a word shorter than the window",
                                   .attributes = {{"embedding_size", int64_t(2)},
                                                  {"conv_window_size", int64_t(2)},
                                                  {"char_embedding_size", int64_t(1)}},
                                   .inputs = {i32({1, 2}, {1, 0}), f32({2, 1, 2, 1}, {1, 1, 1, -1}), f32({2}, {0, 0}),
                                              f32({2, 1}, {0.5, 0.25})},
                                   .outputs = {f32({1, 2}, {0.635148952f, -0.244918662f})}}},
                                 {.domain = "com.microsoft"});

std::string found(const char* pattern, std::string_view text, size_t from = 0) {
  const auto part = Regex(pattern).find(text, from);
  return part ? std::to_string(part->begin) + "-" + std::to_string(part->end) : "none";
}

TEST(Regex, FindsTheLongestOfTheFirst) {
  EXPECT_EQ(found("b+", "abbcbbb"), "1-3");
  EXPECT_EQ(found("b+", "abbcbbb", 3), "4-7");
  EXPECT_EQ(found("b|bc|bcd", "abcd"), "1-4");
  EXPECT_EQ(found("abcd|bc", "abce"), "1-3");  // a longer beginning that fails
  EXPECT_EQ(found("a*?", "baa"), "0-0");
  EXPECT_EQ(found("x", "abc"), "none");
  EXPECT_EQ(found("", ""), "0-0");
  EXPECT_EQ(found("a", "a", 1), "none");
}

TEST(Regex, FindsByPlacesInTheWholeText) {
  EXPECT_EQ(found("^a", "aa", 1), "none");
  EXPECT_EQ(found("a$", "aba"), "2-3");
  EXPECT_EQ(found("\\ba", "ba a", 1), "3-4");
  EXPECT_EQ(found("\\bb", "\u00e9b"), "2-3");
  EXPECT_EQ(found(".", "\u00e9b", 2), "2-3");
}

}  // namespace
}  // namespace retort::ops
