#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;
using Strings = std::vector<std::string>;

const OpTest string_concat("StringConcat", {{.about = "broadcasts",
                                             .inputs = {strings({2, 1}, {"a", ""}), strings({2}, {"x", "yz"})},
                                             .outputs = {strings({2, 2}, {"ax", "ayz", "x", "yz"})}},
                                            {.about = "nothing",
                                             .inputs = {strings({0}, {}), strings({1}, {"x"})},
                                             .outputs = {strings({0}, {})}}});

const OpTest string_split(
    "StringSplit",
    {{.about = "at each delimiter, padded",
      .attributes = {{"delimiter", std::string("::")}},
      .inputs = {strings({2, 2}, {"a::b", "", "::a::", "a:b"})},
      .outputs = {strings({2, 2, 3}, {"a", "b", "", "", "", "", "", "a", "", "a:b", "", ""}),
                  i64({2, 2}, {2, 0, 3, 1})}},
     {.about = "at white space, the rest unsplit",
      .attributes = {{"maxsplit", int64_t(1)}},
      .inputs = {strings({3}, {" a  b c ", "\t", "x"})},
      .outputs = {strings({3, 2}, {"a", "b c", "", "", "x", ""}), i64({3}, {2, 0, 1})}},
     {.about = "no strings", .inputs = {strings({0}, {})}, .outputs = {strings({0, 0}, {}), i64({0}, {})}}});

const OpTest regex_full_match("RegexFullMatch",
                              {{.about = "the whole string, bytes of UTF-8 as characters",
                                .attributes = {{"pattern", std::string("[a-z]+.")}},
                                .inputs = {strings({2, 3}, {"abc", "ab1", "1ab", "", "aé", "ab1c"})},
                                .outputs = {booleans({2, 3}, {true, true, false, false, true, false})}},
                               {.about = "an empty pattern matches only the empty string",
                                .inputs = {strings({2}, {"", "a"})},
                                .outputs = {booleans({2}, {true, false})}},
                               {.about = "no strings",
                                .attributes = {{"pattern", std::string("a")}},
                                .inputs = {strings({0}, {})},
                                .outputs = {booleans({0}, {})}}});

const OpTest string_normalizer("StringNormalizer", {{.about = "drops stop words, ignoring case",
                                                     .attributes = {{"stopwords", Strings{"The", "é"}},
                                                                    {"case_change_action", std::string("UPPER")}},
                                                     .inputs = {strings({4}, {"the", "Straße", "É", "çà"})},
                                                     .outputs = {strings({2}, {"STRAßE", "ÇÀ"})}},
                                                    {.about = "case-sensitive, one row",
                                                     .attributes = {{"stopwords", Strings{"The"}},
                                                                    {"is_case_sensitive", int64_t(1)},
                                                                    {"case_change_action", std::string("LOWER")}},
                                                     .inputs = {strings({1, 3}, {"the", "The", "ÀΣ"})},
                                                     .outputs = {strings({1, 2}, {"the", "àσ"})}},
                                                    {.about = "the locale C knows ASCII only",
                                                     .attributes = {{"locale", std::string("C")},
                                                                    {"stopwords", Strings{"É", "B"}},
                                                                    {"case_change_action", std::string("UPPER")}},
                                                     .inputs = {strings({3}, {"äz", "é", "b"})},
                                                     .outputs = {strings({2}, {"äZ", "é"})}},
                                                    {.about = "no words left",
                                                     .attributes = {{"stopwords", Strings{"a"}}},
                                                     .inputs = {strings({2}, {"a", "A"})},
                                                     .outputs = {strings({1}, {""})}},
                                                    {.about = "bytes that are not UTF-8 are unchanged",
                                                     .attributes = {{"case_change_action", std::string("LOWER")}},
                                                     .inputs = {strings({2}, {"A\xff\xc3",
                                                                              "\xe2\x82"
                                                                              "B"})},
                                                     .outputs = {strings({2}, {"a\xff\xc3",
                                                                               "\xe2\x82"
                                                                               "b"})}}});

// Single elements 2, 3 and pairs (5, 4), (5, 6), (7, 8), (6, 7).
Attributes pool(std::string mode, int64_t shortest, int64_t longest, int64_t skip) {
  return {{"mode", std::move(mode)},
          {"min_gram_length", shortest},
          {"max_gram_length", longest},
          {"max_skip_count", skip},
          {"ngram_counts", Ints{0, 2}},
          {"ngram_indexes", Ints{0, 1, 2, 3, 4, 5}},
          {"pool_int64s", Ints{2, 3, 5, 4, 5, 6, 7, 8, 6, 7}}};
}
Attributes weighted(Attributes attributes) {
  attributes.set("weights", std::vector<float>{2, 3, 4, 5, 6, 7});
  return attributes;
}
const Tensor kWords = i64({2, 6}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});

const OpTest tf_idf_vectorizer("TfIdfVectorizer", {{.about = "pairs of neighbours",
                                                    .attributes = pool("TF", 2, 2, 0),
                                                    .inputs = {kWords},
                                                    .outputs = {f32({2, 6}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1})},
                                                    .fixed_types = true},
                                                   {.about = "skips; single elements count once",
                                                    .attributes = pool("TF", 1, 2, 5),
                                                    .inputs = {i32({12}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8})},
                                                    .outputs = {f32({6}, {0, 3, 0, 1, 3, 1})},
                                                    .fixed_types = true},
                                                   {.about = "weights of the n-grams that occur",
                                                    .attributes = weighted(pool("IDF", 1, 2, 0)),
                                                    .inputs = {i64({5}, {3, 3, 5, 6, 7})},
                                                    .outputs = {f32({6}, {0, 3, 0, 5, 0, 7})},
                                                    .fixed_types = true},
                                                   {.about = "weights by count",
                                                    .attributes = weighted(pool("TFIDF", 1, 1, 0)),
                                                    .inputs = {i64({3}, {3, 3, 2})},
                                                    .outputs = {f32({6}, {2, 6, 0, 0, 0, 0})},
                                                    .fixed_types = true},
                                                   {.about = "strings",
                                                    .attributes = {{"mode", std::string("TF")},
                                                                   {"min_gram_length", int64_t(1)},
                                                                   {"max_gram_length", int64_t(1)},
                                                                   {"max_skip_count", int64_t(0)},
                                                                   {"ngram_counts", Ints{0}},
                                                                   {"ngram_indexes", Ints{1, 0}},
                                                                   {"pool_strings", Strings{"a", "b"}}},
                                                    .inputs = {strings({2, 2}, {"a", "c", "b", "b"})},
                                                    .outputs = {f32({2, 2}, {0, 1, 2, 0})}},
                                                   {.about = "no elements",
                                                    .attributes = pool("TF", 1, 2, 3),
                                                    .inputs = {i64({2, 0}, {})},
                                                    .outputs = {f32({2, 6}, std::vector<float>(12, 0.0f))},
                                                    .fixed_types = true}});

const OpTest label_encoder("LabelEncoder",
                           {{.about = "strings to numbers; the first of equal keys",
                             .attributes = {{"keys_strings", Strings{"a", "b", "a"}},
                                            {"values_int64s", Ints{1, 2, 3}},
                                            {"default_int64", int64_t(9)}},
                             .inputs = {strings({2, 2}, {"a", "b", "c", ""})},
                             .outputs = {i64({2, 2}, {1, 2, 9, 9})}},
                            {.about = "numbers to strings",
                             .attributes = {{"keys_int64s", Ints{7, -1}},
                                            {"values_strings", Strings{"seven", "minus one"}}},
                             .inputs = {i64({3}, {-1, 7, 8})},
                             .outputs = {strings({3}, {"minus one", "seven", "_Unused"})},
                             .fixed_types = true},
                            {.about = "NaN is NaN, -0 is 0",
                             .attributes = {{"keys_floats", std::vector<float>{__builtin_nanf(""), 0}},
                                            {"values_floats", std::vector<float>{1, 2}}},
                             .inputs = {f32({3}, {-0.0f, __builtin_nanf(""), 3})},
                             .outputs = {f32({3}, {2, 1, 0})},
                             .fixed_types = true},
                            {.about = "tensors",
                             .attributes = {{"keys_tensor", f64({2}, {0.5, 1.5})},
                                            {"values_tensor", i32({2}, {5, 15})},
                                            {"default_tensor", i32({1}, {-7})}},
                             .inputs = {f64({3}, {1.5, 0.5, 1})},
                             .outputs = {i32({3}, {15, 5, -7})},
                             .fixed_types = true},
                            {.about = "numbers of two bytes",
                             .attributes = {{"keys_tensor", Tensor::of<int16_t>({2}, {-3, 4})},
                                            {"values_tensor", Tensor::of<int16_t>({2}, {5, -6})},
                                            {"default_tensor", Tensor::of<int16_t>({1}, {7})}},
                             .inputs = {Tensor::of<int16_t>({3}, {4, -3, 0})},
                             .outputs = {Tensor::of<int16_t>({3}, {-6, 5, 7})},
                             .fixed_types = true},
                            {.about = "a default for lists is not that of a tensor",
                             .attributes = {{"keys_tensor", f64({2}, {0.5, 1.5})},
                                            {"values_tensor", i32({2}, {5, 15})},
                                            {"default_int64", int64_t(-7)}},
                             .inputs = {f64({2}, {1.5, 1})},
                             .outputs = {i32({2}, {15, -1})},
                             .fixed_types = true}},
                           {.domain = "ai.onnx.ml"});

}  // namespace
}  // namespace retort::ops
