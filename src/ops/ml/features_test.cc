#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "ops/ml/ml_testing.h"

namespace retort::ops {
namespace {

const OpTest binarizer("Binarizer",
                       {{.about = "above the threshold",
                         .attributes = {{"threshold", 1.0f}},
                         .inputs = {f32({4}, {1, 2, 0, -3})},
                         .outputs = {f32({4}, {0, 1, 0, 0})}}},
                       {.domain = "ai.onnx.ml"});

const OpTest extractor("ArrayFeatureExtractor",
                       {{.about = "columns in any order",
                         .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({1, 3}, {2, 0, 2})},
                         .outputs = {f32({2, 3}, {3, 1, 3, 6, 4, 6})}},
                        {.about = "a vector gives one row, of strings",
                         .inputs = {strings({2}, {"a", "b"}), i64({1}, {1})},
                         .outputs = {strings({1, 1}, {"b"})}}},
                       {.domain = "ai.onnx.ml"});

const OpTest scaler("Scaler",
                    {{.about = "one for each feature",
                      .attributes = {{"offset", Floats{1, 2}}, {"scale", Floats{2, -1}}},
                      .inputs = {f32({2, 2}, {1, 2, 3, 4})},
                      .outputs = {f32({2, 2}, {0, 0, 4, -2})}},
                     {.about = "one for all",
                      .attributes = {{"offset", Floats{1}}, {"scale", Floats{3}}},
                      .inputs = {i64({3}, {1, 2, 3})},
                      .outputs = {f32({3}, {0, 3, 6})}},
                     {.about = "many rows",
                      .attributes = {{"offset", Floats{1, 2, 3}}, {"scale", Floats{3, -1, 0.5f}}},
                      .inputs = {random({5000, 3})}}},
                    {.domain = "ai.onnx.ml"});

const OpTest normalizer(
    "Normalizer",
    {{.about = "the largest, not the largest absolute value; a row of zeros stays",
      .attributes = {{"norm", std::string("MAX")}},
      .inputs = {f32({3, 2}, {1, 2, -8, -4, 0, 0})},
      .outputs = {f32({3, 2}, {0.5f, 1, 2, 1, 0, 0})}},
     {.about = "sum of absolute values, of a vector",
      .attributes = {{"norm", std::string("L1")}},
      .inputs = {f32({4}, {1, -2, 5, 0})},
      .outputs = {f32({4}, {0.125f, -0.25f, 0.625f, 0})}},
     {.about = "norm",
      .attributes = {{"norm", std::string("L2")}},
      .inputs = {f32({3, 2}, {3, -4, 0, 0, 0, -7})},
      .outputs = {f32({3, 2}, {0.6f, -0.8f, 0, 0, 0, -1})}},
     {.about = "squares out of the range of floats",
      .attributes = {{"norm", std::string("L2")}},
      .inputs = {f32({1, 2}, {3e30f, 4e30f})},
      .outputs = {f32({1, 2}, {0.6f, 0.8f})},
      .fixed_types = true},
     {.about = "NaN is ignored",
      .inputs = {f32({1, 3}, {NAN, 2, 1})},
      .outputs = {f32({1, 3}, {NAN, 1, 0.5f})},
      .fixed_types = true},
     {.about = "NaN and infinities in every part of a row",
      .inputs = {f32({2, 9}, {-INFINITY, NAN, -2, NAN, -4, -5, -6, -7, NAN, NAN, 1, 2, 3, 4, 5, 6, 7, 8})},
      .outputs = {f32({2, 9}, {INFINITY, NAN, 1, NAN, 2, 2.5f, 3, 3.5f, NAN, NAN, 0.125f, 0.25f, 0.375f, 0.5f, 0.625f,
                               0.75f, 0.875f, 1})},
      .fixed_types = true},
     {.about = "a sum out of the range of floats, and one of the smallest numbers",
      .attributes = {{"norm", std::string("L1")}},
      .inputs = {f32({2, 2}, {3e38f, -3e38f, 1e-45f, 0})},
      .outputs = {f32({2, 2}, {0.5f, -0.5f, 1, 0})},
      .fixed_types = true},
     {.about = "many rows", .attributes = {{"norm", std::string("L2")}}, .inputs = {random({1000, 7})}},
     {.about = "many rows", .attributes = {{"norm", std::string("L1")}}, .inputs = {random({130, 19})}},
     {.about = "many rows", .attributes = {{"norm", std::string("MAX")}}, .inputs = {random({65, 30})}},
     {.about = "no rows", .inputs = {f32({0, 3}, {})}, .outputs = {f32({0, 3}, {})}}},
    {.domain = "ai.onnx.ml"});

const OpTest imputer("Imputer",
                     {{.about = "NaN, one value for each feature",
                       .attributes = {{"imputed_value_floats", Floats{8, 9}}, {"replaced_value_float", NAN}},
                       .inputs = {f32({2, 2}, {NAN, 2, 3, NAN})},
                       .outputs = {f32({2, 2}, {8, 2, 3, 9})},
                       .fixed_types = true},
                      {.about = "one value for all",
                       .attributes = {{"imputed_value_floats", Floats{9}}, {"replaced_value_float", 1.5f}},
                       .inputs = {f64({2, 2}, {1.5, 2, -0.5, 1.5})},
                       .outputs = {f64({2, 2}, {9, 2, -0.5, 9})},
                       .fixed_types = true},
                      {.about = "neither one nor one for each: the first",
                       .attributes = {{"imputed_value_int64s", Ints{7, 8, 9}}, {"replaced_value_int64", int64_t(1)}},
                       .inputs = {i64({2, 2}, {1, 2, -3, 1})},
                       .outputs = {i64({2, 2}, {7, 2, -3, 7})},
                       .fixed_types = true},
                      {.about = "a vector is one row",
                       .attributes = {{"imputed_value_int64s", Ints{7, 8, 9}}},
                       .inputs = {i32({3}, {0, 2, 0})},
                       .outputs = {i32({3}, {7, 2, 9})},
                       .fixed_types = true}},
                     {.domain = "ai.onnx.ml"});

TEST(Imputer, RowsOfAnyLength) {
  for (const int64_t features : {1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 200}) {
    const int64_t rows = 20000 / features + 1;  // several chunks, which begin within a row
    std::vector<int64_t> x(size_t(rows * features)), y;
    Ints values;
    for (int64_t f = 0; f < features; ++f) values.push_back(1000 + f);
    for (size_t i = 0; i < x.size(); ++i) x[i] = int64_t(i * 7 % 5);
    for (size_t i = 0; i < x.size(); ++i) y.push_back(x[i] == 3 ? values[i % values.size()] : x[i]);
    const Attributes attributes{{"imputed_value_int64s", values}, {"replaced_value_int64", int64_t(3)}};
    const Tensor result = OpRun("ai.onnx.ml", "Imputer", attributes, {i64({rows, features}, x)}, 1).run()[0];
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(result.at<int64_t>(i), y[i]) << features << ' ' << i;
  }
}

const OpTest one_hot("OneHotEncoder",
                     {{.about = "of equal categories the last counts, unknown ones give zeros",
                       .attributes = {{"cats_int64s", Ints{1, 2, 1}}},
                       .inputs = {i64({3}, {1, 5, 2})},
                       .outputs = {f32({3, 3}, {0, 0, 1, 0, 0, 0, 0, 1, 0})}},
                      {.about = "numbers are truncated",
                       .attributes = {{"cats_int64s", Ints{0, 1}}},
                       .inputs = {f32({2, 2}, {1.75f, -0.5f, NAN, 1e30f})},
                       .outputs = {f32({2, 2, 2}, {0, 1, 1, 0, 0, 0, 0, 0})},
                       .fixed_types = true},
                      {.about = "strings",
                       .attributes = {{"cats_strings", Strings{"a", "b"}}, {"zeros", int64_t(0)}},
                       .inputs = {strings({2, 1}, {"b", "a"})},
                       .outputs = {f32({2, 1, 2}, {0, 1, 1, 0})}},
                      {.about = "more elements than one task has",
                       .attributes = {{"cats_int64s", Ints{5}}},
                       .inputs = {f32({259}, Floats(259, 5))},
                       .outputs = {f32({259, 1}, Floats(259, 1))},
                       .fixed_types = true},
                      {.about = "numbers are no strings",
                       .attributes = {{"cats_strings", Strings{"0", ""}}},
                       .inputs = {i64({1}, {0})},
                       .outputs = {f32({1, 2}, {0, 0})},
                       .fixed_types = true}},
                     {.domain = "ai.onnx.ml"});

const OpTest vectorizer("FeatureVectorizer",
                        {{.about = "truncated and padded",
                          .attributes = {{"inputdimensions", Ints{1, 3}}},
                          .inputs = {f32({2, 2}, {1, 2, -3, 1}), f32({2, 2}, {7, 8, 4, 5})},
                          .outputs = {f32({2, 4}, {1, 7, 8, 0, -3, 4, 5, 0})}},
                         {.about = "vectors are one row",
                          .attributes = {{"inputdimensions", Ints{2, 1}}},
                          .inputs = {f32({2}, {1, 2}), f32({1, 1}, {7})},
                          .outputs = {f32({1, 3}, {1, 2, 7})}},
                         {.about = "axes after the first count as one",
                          .attributes = {{"inputdimensions", Ints{4}}},
                          .inputs = {f32({1, 2, 2}, {1, 2, 3, 4})},
                          .outputs = {f32({1, 4}, {1, 2, 3, 4})}}},
                        {.domain = "ai.onnx.ml"});

const OpTest mapper("CategoryMapper",
                    {{.about = "strings to integers, of equal ones the last",
                      .attributes = {{"cats_strings", Strings{"a", "b", "a"}}, {"cats_int64s", Ints{5, 6, 7}}},
                      .inputs = {strings({3}, {"b", "?", "a"})},
                      .outputs = {i64({3}, {6, -1, 7})}},
                     {.about = "integers to strings",
                      .attributes = {{"cats_strings", Strings{"a", "b"}},
                                     {"cats_int64s", Ints{5, 6}},
                                     {"default_string", std::string("none")}},
                      .inputs = {i64({2, 2}, {6, 5, 4, 6})},
                      .outputs = {strings({2, 2}, {"b", "a", "none", "b"})}}},
                    {.domain = "ai.onnx.ml"});

// The results are maps, which OpRun does not compare.
const OpTest dict("DictVectorizer", {},
                  {.domain = "ai.onnx.ml", .own_test = "DictVectorizer in session/engine_tests/map_test.cc"});
const OpTest cast_map("CastMap", {},
                      {.domain = "ai.onnx.ml", .own_test = "CastMap in session/engine_tests/map_test.cc"});

TEST(Features, RejectInvalidInputs) {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4});
  const auto refuses = [](const char* op, const Attributes& attributes, std::vector<Tensor> inputs, const char* why) {
    try {
      OpRun("ai.onnx.ml", op, attributes, std::move(inputs), 1).run();
      ADD_FAILURE() << op << ": expected " << why;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find(why), std::string::npos) << e.message();
    }
  };
  refuses("Normalizer", {{"norm", std::string("L3")}}, {x}, "norm \"L3\" is not one of MAX, L1, L2");
  refuses("Normalizer", {}, {x.reshaped({2, 1, 2})}, "X has shape [2,1,2], expected [N, features]");
  refuses("Imputer", {}, {x}, "exactly one of imputed_value_floats and imputed_value_int64s");
  refuses("Imputer", {{"imputed_value_int64s", Ints{1}}}, {x}, "X is float32, expected imputed_value_floats");
  refuses("Imputer", {{"imputed_value_int64s", Ints{1L << 40}}}, {i32({1}, {0})},
          "contains 1099511627776, but X is int32");
  refuses("OneHotEncoder", {}, {x}, "exactly one of cats_int64s and cats_strings");
  refuses("OneHotEncoder", {{"cats_int64s", Ints{1}}, {"zeros", int64_t(0)}}, {x}, "element 1 of X is 2, which is not");
  refuses("FeatureVectorizer", {{"inputdimensions", Ints{2}}}, {x, x}, "2 inputs, 1 inputdimensions");
  refuses("FeatureVectorizer", {{"inputdimensions", Ints{2, 2}}}, {x, f32({1, 2}, {1, 2})}, "their rows differ");
  refuses("FeatureVectorizer", {{"inputdimensions", Ints{-1}}}, {x}, "inputdimensions holds -1");
  refuses("CategoryMapper", {{"cats_int64s", Ints{1}}}, {i64({1}, {0})}, "1 entries, cats_strings 0");
  refuses("Scaler", {{"offset", Floats{1, 2}}, {"scale", Floats{1}}}, {x}, "there are 2 offsets and 1 scales");
}

}  // namespace
}  // namespace retort::ops
