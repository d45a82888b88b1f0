#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

const Tensor kSixValues = f32({2, 3}, {1, 2, 3, 4, 5, 6});
Tensor six(Shape shape) { return f32(std::move(shape), {1, 2, 3, 4, 5, 6}); }

const OpTest identity(
    "Identity", {{.about = "numbers", .inputs = {kSixValues}, .outputs = {kSixValues}},
                 {.about = "strings", .inputs = {strings({2}, {"a", "b"})}, .outputs = {strings({2}, {"a", "b"})}},
                 {.about = "content", .inputs = {i64({2}, {3, 4})}, .outputs = {i64({2}, {3, 4})}}});
const OpTest reshape(
    "Reshape",
    {
        {.about = "plain", .inputs = {kSixValues, i64({2}, {3, 2})}, .outputs = {six({3, 2})}},
        {.about = "-1 takes the rest, 0 keeps",
         .inputs = {kSixValues, i64({3}, {0, 1, -1})},
         .outputs = {six({2, 1, 3})}},
        {.about = "-1 beside an extent that is kept and empty",
         .inputs = {f32({0, 4, 6}, {}), i64({3}, {0, -1, 3})},
         .outputs = {f32({0, 8, 3}, {})}},
        {.about = "to a scalar", .inputs = {f32({1, 1}, {7}), i64({0}, {})}, .outputs = {f32({}, {7})}},
        {.about = "zero by allowzero",
         .attributes = {{"allowzero", int64_t(1)}},
         .inputs = {f32({0, 3}, {}), i64({3}, {3, 0, 2})},
         .outputs = {f32({3, 0, 2}, {})}},
        {.about = "-1 without elements", .inputs = {f32({0, 3}, {}), i64({2}, {-1, 3})}, .outputs = {f32({0, 3}, {})}},
        {.about = "strings",
         .inputs = {strings({2}, {"a", "b"}), i64({2}, {2, 1})},
         .outputs = {strings({2, 1}, {"a", "b"})}},
        {.about = "content", .inputs = {i64({2}, {5, 6}), i64({2}, {1, 2})}, .outputs = {i64({1, 2}, {5, 6})}},
    });
const OpTest flatten(
    "Flatten",
    {{.about = "axis 1", .inputs = {six({1, 2, 3})}, .outputs = {six({1, 6})}},
     {.about = "axis 0", .attributes = {{"axis", int64_t(0)}}, .inputs = {kSixValues}, .outputs = {six({1, 6})}},
     {.about = "negative axes",
      .attributes = {{"axis", int64_t(-1)}},
      .inputs = {six({1, 2, 3})},
      .outputs = {six({2, 3})}},
     {.about = "axis = rank", .attributes = {{"axis", int64_t(2)}}, .inputs = {kSixValues}, .outputs = {six({6, 1})}}});
const OpTest squeeze("Squeeze",
                     {{.about = "all", .inputs = {six({1, 2, 1, 3})}, .outputs = {kSixValues}},
                      {.about = "some", .inputs = {six({1, 2, 1, 3}), i64({1}, {-2})}, .outputs = {six({1, 2, 3})}},
                      {.about = "content", .inputs = {i64({1}, {5}), i64({1}, {0})}, .outputs = {i64({}, {5})}}});
const OpTest unsqueeze(
    "Unsqueeze",
    {{.about = "places of the output", .inputs = {kSixValues, i64({2}, {3, 0})}, .outputs = {six({1, 2, 3, 1})}},
     {.about = "negative", .inputs = {kSixValues, i64({1}, {-1})}, .outputs = {six({2, 3, 1})}},
     {.about = "content", .inputs = {i64({}, {5}), i64({1}, {0})}, .outputs = {i64({1}, {5})}}});
const OpTest shape("Shape", {{.about = "all", .inputs = {kSixValues}, .outputs = {i64({2}, {2, 3})}},
                             {.about = "a part",
                              .attributes = {{"start", int64_t(-2)}, {"end", int64_t(-1)}},
                              .inputs = {six({1, 2, 3})},
                              .outputs = {i64({1}, {2})}},
                             {.about = "clamped",
                              .attributes = {{"start", int64_t(-9)}, {"end", int64_t(9)}},
                              .inputs = {kSixValues},
                              .outputs = {i64({2}, {2, 3})}},
                             {.about = "backwards",
                              .attributes = {{"start", int64_t(2)}, {"end", int64_t(1)}},
                              .inputs = {six({1, 2, 3})},
                              .outputs = {i64({0}, {})}}});
const OpTest size("Size", {{.about = "elements", .inputs = {kSixValues}, .outputs = {i64({}, {6})}},
                           {.about = "of a scalar", .inputs = {f32({}, {1})}, .outputs = {i64({}, {1})}}});
const OpTest constant("Constant",
                      {{.about = "a value", .attributes = {{"value", kSixValues}}, .outputs = {kSixValues}}});
const OpTest constant_of_shape("ConstantOfShape",
                               {{.about = "ones",
                                 .attributes = {{"value", i32({1}, {1})}},
                                 .inputs = {i64({2}, {2, 1})},
                                 .outputs = {i32({2, 1}, {1, 1})}},
                                {.about = "float zero", .inputs = {i64({1}, {3})}, .outputs = {f32({3}, {0, 0, 0})}},
                                {.about = "a scalar",
                                 .attributes = {{"value", i64({1}, {7})}},
                                 .inputs = {i64({0}, {})},
                                 .outputs = {i64({}, {7})}},
                                {.about = "empty", .inputs = {i64({2}, {0, 3})}, .outputs = {f32({0, 3}, {})}}});

void expect_error(const char* op, std::vector<Tensor> inputs, const char* part, const Attributes& attributes = {}) {
  OpRun run("", op, attributes, std::move(inputs), 1);
  try {
    run.run();
    FAIL() << op << ": no error with '" << part << "'";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
  }
}

TEST(Views, ErrorsNameTheMistake) {
  expect_error("Reshape", {kSixValues, i64({2}, {4, 2})}, "shape [2,3] cannot be reshaped to [4,2]");
  expect_error("Reshape", {kSixValues, i64({2}, {-1, 4})}, "no extent for -1");
  expect_error("Reshape", {kSixValues, i64({2}, {-1, -1})}, "more than one -1");
  expect_error("Reshape", {kSixValues, i64({3}, {2, 3, 0})}, "does not have");
  expect_error("Reshape", {kSixValues, i64({1}, {-6})}, "negative extent");
  expect_error("Reshape", {f32({0, 3}, {}), i64({2}, {0, -1})}, "no extent for -1", {{"allowzero", int64_t(1)}});
  expect_error("Squeeze", {kSixValues, i64({1}, {0})}, "extent is not 1");
  expect_error("Squeeze", {kSixValues, i64({1}, {2})}, "outside");
  expect_error("Unsqueeze", {kSixValues, i64({2}, {0, 0})}, "given twice");
}

}  // namespace
}  // namespace retort::ops
