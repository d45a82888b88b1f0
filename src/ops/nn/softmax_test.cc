#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

// Cases with axes in every position: contiguous and strided lines, tails of vectors, and empty tensors.
std::vector<OpCase> along_axes(std::vector<OpCase> own) {
  own.push_back({.about = "long rows", .inputs = {random({5, 1027})}});
  own.push_back({.about = "short rows", .inputs = {random({67, 3}, 2)}});
  own.push_back({.about = "first axis", .attributes = {{"axis", int64_t(0)}}, .inputs = {random({5, 33}, 3)}});
  own.push_back({.about = "middle axis", .attributes = {{"axis", int64_t(-2)}}, .inputs = {random({3, 7, 35}, 4)}});
  own.push_back({.about = "an axis of one", .attributes = {{"axis", int64_t(1)}}, .inputs = {random({3, 1, 5}, 5)}});
  own.push_back({.about = "empty rows", .inputs = {f32({3, 0}, {})}, .outputs = {f32({3, 0}, {})}});
  own.push_back({.about = "no columns",
                 .attributes = {{"axis", int64_t(0)}},
                 .inputs = {f32({3, 0}, {})},
                 .outputs = {f32({3, 0}, {})}});
  own.push_back({.about = "no rows", .inputs = {f32({0, 3}, {})}, .outputs = {f32({0, 3}, {})}});
  return own;
}

const OpTest softmax("Softmax", along_axes({{.about = "sums to one",
                                             .inputs = {f32({2, 3}, {1, 2, 3, 1003, 1002, 1001})},
                                             .outputs = {f32({2, 3}, {0.0900305732f, 0.244728471f, 0.665240956f,
                                                                      0.665240956f, 0.244728471f, 0.0900305732f})}},
                                            {.about = "columns",
                                             .attributes = {{"axis", int64_t(0)}},
                                             .inputs = {f32({2, 2}, {0, 5, 0, 5})},
                                             .outputs = {f32({2, 2}, {0.5f, 0.5f, 0.5f, 0.5f})}},
                                            {.about = "-inf takes no part, NaN affects only its row",
                                             .inputs = {f32({3, 2}, {-kInf, 7, kNaN, 1, 1, kNaN})},
                                             .outputs = {f32({3, 2}, {0, 1, kNaN, kNaN, kNaN, kNaN})}},
                                            {.about = "only -inf, and inf",
                                             .inputs = {f32({2, 2}, {-kInf, -kInf, kInf, 1})},
                                             .outputs = {f32({2, 2}, {kNaN, kNaN, kNaN, kNaN})}}}));
const OpTest log_softmax("LogSoftmax",
                         along_axes({{.about = "logarithms",
                                      .inputs = {f32({2, 3}, {1, 2, 3, 1003, 1002, 1001})},
                                      .outputs = {f32({2, 3}, {-2.40760596f, -1.40760596f, -0.407605964f, -0.407605964f,
                                                               -1.40760596f, -2.40760596f})}},
                                     {.about = "-inf and NaN",
                                      .inputs = {f32({2, 2}, {-kInf, 7, kNaN, 1})},
                                      .outputs = {f32({2, 2}, {-kInf, 0, kNaN, kNaN})}}}));
const OpTest hardmax(
    "Hardmax",
    along_axes({{.about = "the first of equals",
                 .inputs = {f32({2, 3}, {1, 3, 3, -1, -2, -3})},
                 .outputs = {f32({2, 3}, {0, 1, 0, 1, 0, 0})}},
                {.about = "NaN is not larger than others, but stays first",
                 .inputs = {f32({2, 3}, {1, kNaN, 2, kNaN, 1, 2})},
                 .outputs = {f32({2, 3}, {0, 0, 1, 1, 0, 0})}},
                {.about = "many columns", .attributes = {{"axis", int64_t(1)}}, .inputs = {random({3, 5, 130})}}}));
const OpTest lp_normalization(
    "LpNormalization",
    along_axes({{.about = "length one", .inputs = {f32({1, 2}, {3, -4})}, .outputs = {f32({1, 2}, {0.6f, -0.8f})}},
                {.about = "sum one, along columns",
                 .attributes = {{"p", int64_t(1)}, {"axis", int64_t(0)}},
                 .inputs = {f32({2, 2}, {1, -2, 3, 2})},
                 .outputs = {f32({2, 2}, {0.25f, -0.5f, 0.75f, 0.5f})}},
                {.about = "zeros stay", .inputs = {f32({2, 2}, {0, 0, 0, 5})}, .outputs = {f32({2, 2}, {0, 0, 0, 1})}},
                {.about = "squares beyond a float, and below one",
                 .inputs = {f32({2, 2}, {3e30f, -4e30f, 3e-30f, 4e-30f})},
                 .outputs = {f32({2, 2}, {0.6f, -0.8f, 0.6f, 0.8f})},
                 .fixed_types = true},
                {.about = "long lines, sum one", .attributes = {{"p", int64_t(1)}}, .inputs = {random({2, 77})}}}));

TEST(LinesOfNothing, AreNotVisited) {
  const Shape huge{int64_t(1) << 40, 0, int64_t(1) << 40};
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax", "LpNormalization"}) {
    EXPECT_EQ(OpRun("", op, {{"axis", int64_t(1)}}, {Tensor(DType::f32, huge)}, 1).run()[0].shape(), huge) << op;
  }
}

}  // namespace
}  // namespace retort::ops
