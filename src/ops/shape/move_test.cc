#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

// 0, 1, 2, …
Tensor count_up(Shape shape) {
  std::vector<float> v(element_count(shape));
  std::iota(v.begin(), v.end(), 0.0f);
  return f32(std::move(shape), v);
}
// [[1, 2], [3, 4]] in four bits per element.
Tensor nibbles() {
  Tensor t(DType::u4, {2, 2});
  t.mutable_data<uint8_t>()[0] = 0x21;
  t.mutable_data<uint8_t>()[1] = 0x43;
  return t;
}
Attributes ints(const char* name, std::vector<int64_t> v) { return {{name, std::move(v)}}; }
Attributes one_number(const char* name, int64_t v) { return {{name, v}}; }
Attributes one_text(const char* name, const char* v) { return {{name, std::string(v)}}; }

const OpTest transpose(
    "Transpose",
    {{.about = "reversed axes", .inputs = {count_up({2, 3})}, .outputs = {f32({3, 2}, {0, 3, 1, 4, 2, 5})}},
     {.about = "perm",
      .attributes = ints("perm", {1, 0, 2}),
      .inputs = {count_up({2, 2, 2})},
      .outputs = {f32({2, 2, 2}, {0, 1, 4, 5, 2, 3, 6, 7})}},
     {.about = "a scalar", .inputs = {f32({}, {1})}, .outputs = {f32({}, {1})}},
     {.about = "strings",
      .inputs = {strings({2, 2}, {"a", "b", "c", "d"})},
      .outputs = {strings({2, 2}, {"a", "c", "b", "d"})}},
     {.about = "content", .inputs = {i64({2, 2}, {1, 2, 3, 4})}, .outputs = {i64({2, 2}, {1, 3, 2, 4})}},
     {.about = "heads",
      .attributes = ints("perm", {0, 2, 1, 3}),
      .inputs = {random({2, 33, 5, 17})},
      .output_count = 1},
     {.about = "large", .inputs = {random({131, 257})}, .output_count = 1},
     {.about = "four bits", .inputs = {nibbles()}, .fixed_types = true}});
const OpTest concat_examples("Concat", {{.about = "rows",
                                         .attributes = one_number("axis", 0),
                                         .inputs = {count_up({1, 2}), f32({2, 2}, {5, 6, 7, 8})},
                                         .outputs = {f32({3, 2}, {0, 1, 5, 6, 7, 8})}},
                                        {.about = "columns",
                                         .attributes = one_number("axis", -1),
                                         .inputs = {count_up({2, 1}), f32({2, 2}, {5, 6, 7, 8})},
                                         .outputs = {f32({2, 3}, {0, 5, 6, 1, 7, 8})}},
                                        {.about = "an empty one",
                                         .attributes = one_number("axis", 0),
                                         .inputs = {f32({0}, {}), f32({1}, {2})},
                                         .outputs = {f32({1}, {2})}},
                                        {.about = "content",
                                         .attributes = one_number("axis", 0),
                                         .inputs = {i64({1}, {3}), i64({2}, {4, 5})},
                                         .outputs = {i64({3}, {3, 4, 5})}},
                                        {.about = "strings",
                                         .attributes = one_number("axis", 0),
                                         .inputs = {strings({1}, {"a"}), strings({1}, {"b"})},
                                         .outputs = {strings({2}, {"a", "b"})}}});
const OpTest split_examples("Split", {{.about = "sizes",
                                       .inputs = {count_up({5}), i64({2}, {2, 3})},
                                       .outputs = {f32({2}, {0, 1}), f32({3}, {2, 3, 4})}},
                                      {.about = "equal parts along axis 1",
                                       .attributes = {{"axis", int64_t(1)}, {"num_outputs", int64_t(2)}},
                                       .inputs = {count_up({2, 4})},
                                       .outputs = {f32({2, 2}, {0, 1, 4, 5}), f32({2, 2}, {2, 3, 6, 7})}},
                                      {.about = "a smaller last part",
                                       .attributes = one_number("num_outputs", 2),
                                       .inputs = {count_up({5})},
                                       .outputs = {f32({3}, {0, 1, 2}), f32({2}, {3, 4})}},
                                      {.about = "empty parts",
                                       .inputs = {count_up({2}), i64({3}, {0, 2, 0})},
                                       .outputs = {f32({0}, {}), f32({2}, {0, 1}), f32({0}, {})}},
                                      {.about = "content",
                                       .inputs = {i64({3}, {7, 8, 9}), i64({2}, {1, 2})},
                                       .outputs = {i64({1}, {7}), i64({2}, {8, 9})}}});
const OpTest slice(
    "Slice",
    {{.about = "axes and steps",
      .inputs = {f32({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({2}, {1, 0}), i64({2}, {2, 3}), i64({2}, {0, 1}),
                 i64({2}, {1, 2})},
      .outputs = {f32({1, 2}, {5, 7})}},
     {.about = "clamped",
      .inputs = {f32({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({2}, {0, 1}), i64({2}, {-1, 1000})},
      .outputs = {f32({1, 3}, {2, 3, 4})}},
     {.about = "backwards",
      .inputs = {count_up({5}), i64({1}, {-1}), i64({1}, {INT64_MIN}), i64({1}, {0}), i64({1}, {-2})},
      .outputs = {f32({3}, {4, 2, 0})}},
     {.about = "backwards, with the largest number as end",
      .inputs = {count_up({5}), i64({1}, {-1}), i64({1}, {INT64_MAX}), i64({1}, {0}), i64({1}, {-2})},
      .outputs = {f32({3}, {4, 2, 0})}},
     {.about = "backwards, stopping early",
      .inputs = {count_up({5}), i64({1}, {3}), i64({1}, {0}), i64({1}, {0}), i64({1}, {-1})},
      .outputs = {f32({3}, {3, 2, 1})}},
     {.about = "an empty result", .inputs = {count_up({5}), i64({1}, {3}), i64({1}, {2})}, .outputs = {f32({0}, {})}},
     {.about = "int32 bounds",
      .inputs = {count_up({4}), i32({1}, {1}), i32({1}, {INT32_MAX})},
      .outputs = {f32({3}, {1, 2, 3})}},
     {.about = "a negative axis",
      .inputs = {count_up({2, 2}), i64({1}, {1}), i64({1}, {2}), i64({1}, {-1})},
      .outputs = {f32({2, 1}, {1, 3})}},
     {.about = "content",
      .inputs = {i64({4}, {5, 6, 7, 8}), i64({1}, {-2}), i64({1}, {INT64_MAX})},
      .outputs = {i64({2}, {7, 8})}},
     {.about = "strings",
      .inputs = {strings({2}, {"a", "b"}), i64({1}, {1}), i64({1}, {2})},
      .outputs = {strings({1}, {"b"})}},
     {.about = "large",
      .inputs = {random({65, 300}), i64({2}, {1, 7}), i64({2}, {64, 299}), i64({2}, {0, 1}), i64({2}, {3, 1})},
      .output_count = 1}});
const OpTest expand(
    "Expand",
    {{.about = "columns", .inputs = {count_up({3, 1}), i64({2}, {3, 2})}, .outputs = {f32({3, 2}, {0, 0, 1, 1, 2, 2})}},
     {.about = "a shorter shape", .inputs = {count_up({2, 1}), i64({1}, {2})}, .outputs = {f32({2, 2}, {0, 0, 1, 1})}},
     {.about = "ones in the shape", .inputs = {count_up({2}), i64({2}, {1, 1})}, .outputs = {f32({1, 2}, {0, 1})}},
     {.about = "a scalar", .inputs = {f32({}, {5}), i64({1}, {3})}, .outputs = {f32({3}, {5, 5, 5})}},
     {.about = "to an empty tensor", .inputs = {f32({1}, {5}), i64({2}, {0, 2})}, .outputs = {f32({0, 2}, {})}},
     {.about = "content", .inputs = {i64({1}, {5}), i64({1}, {3})}, .outputs = {i64({3}, {5, 5, 5})}}});
const OpTest tile(
    "Tile",
    {{.about = "both axes",
      .inputs = {f32({2, 2}, {1, 2, 3, 4}), i64({2}, {1, 2})},
      .outputs = {f32({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})}},
     {.about = "rows", .inputs = {count_up({1, 2}), i64({2}, {3, 1})}, .outputs = {f32({3, 2}, {0, 1, 0, 1, 0, 1})}},
     {.about = "none", .inputs = {count_up({2}), i64({1}, {0})}, .outputs = {f32({0}, {})}},
     {.about = "content", .inputs = {i64({2}, {1, 2}), i64({1}, {2})}, .outputs = {i64({4}, {1, 2, 1, 2})}}});
const Tensor kThreeRows = f32({3}, {1, 2, 3});
const OpTest pad(
    "Pad",
    {{.about = "constant",
      .inputs = {kThreeRows, i64({2}, {1, 2}), f32({}, {9})},
      .outputs = {f32({6}, {9, 1, 2, 3, 9, 9})}},
     {.about = "zero by default",
      .inputs = {count_up({2, 1}), i64({4}, {0, 1, 0, 0})},
      .outputs = {f32({2, 2}, {0, 0, 0, 1})}},
     {.about = "negative", .inputs = {kThreeRows, i64({2}, {-1, 1})}, .outputs = {f32({3}, {2, 3, 0})}},
     {.about = "more removed than the axis has",
      .inputs = {count_up({2, 3}), i64({4}, {0, 300, 0, -302}), f32({}, {9})},
      .outputs = {f32({2, 1}, {9, 9})}},
     {.about = "reflect",
      .attributes = one_text("mode", "reflect"),
      .inputs = {kThreeRows, i64({2}, {2, 1})},
      .outputs = {f32({6}, {3, 2, 1, 2, 3, 2})}},
     {.about = "edge",
      .attributes = one_text("mode", "edge"),
      .inputs = {kThreeRows, i64({2}, {2, 1})},
      .outputs = {f32({6}, {1, 1, 1, 2, 3, 3})}},
     {.about = "the edge of nothing, of which nothing is kept",
      .attributes = one_text("mode", "edge"),
      .inputs = {f32({0}, {}), i64({2}, {1, -1})},
      .outputs = {f32({0}, {})}},
     {.about = "wrap",
      .attributes = one_text("mode", "wrap"),
      .inputs = {kThreeRows, i64({2}, {2, 1})},
      .outputs = {f32({6}, {2, 3, 1, 2, 3, 1})}},
     {.about = "reflected more than once",
      .attributes = one_text("mode", "reflect"),
      .inputs = {kThreeRows, i64({2}, {5, 6})},
      .outputs = {f32({14}, {2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1})}},
     {.about = "wrapped more than once",
      .attributes = one_text("mode", "wrap"),
      .inputs = {kThreeRows, i64({2}, {4, 5})},
      .outputs = {f32({12}, {3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2})}},
     {.about = "rows and columns reflect",
      .attributes = one_text("mode", "reflect"),
      .inputs = {count_up({2, 3}), i64({4}, {1, 2, 0, 1})},
      .outputs = {f32({3, 6}, {5, 4, 3, 4, 5, 4, 2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4})}},
     {.about = "some axes",
      .inputs = {count_up({2, 2}), i64({2}, {1, 0}), Tensor(), i64({1}, {-1})},
      .outputs = {f32({2, 3}, {0, 0, 1, 0, 2, 3})}},
     {.about = "strings",
      .inputs = {strings({1}, {"a"}), i64({2}, {1, 0}), strings({}, {"x"})},
      .outputs = {strings({2}, {"x", "a"})}},
     {.about = "an image", .inputs = {random({2, 3, 17, 19}), i64({8}, {0, 0, 1, 2, 0, 0, 3, 1})}, .output_count = 1}});
const OpTest depth_to_space("DepthToSpace", {{.about = "DCR",
                                              .attributes = one_number("blocksize", 2),
                                              .inputs = {count_up({1, 8, 1, 1})},
                                              .outputs = {f32({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7})}},
                                             {.about = "CRD",
                                              .attributes = {{"blocksize", int64_t(2)}, {"mode", std::string("CRD")}},
                                              .inputs = {count_up({1, 8, 1, 1})},
                                              .outputs = {count_up({1, 2, 2, 2})}},
                                             {.about = "pixels",
                                              .attributes = one_number("blocksize", 2),
                                              .inputs = {count_up({1, 4, 1, 2})},
                                              .outputs = {f32({1, 1, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7})}}});
const OpTest space_to_depth("SpaceToDepth", {{.about = "DCR",
                                              .attributes = one_number("blocksize", 2),
                                              .inputs = {f32({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7})},
                                              .outputs = {count_up({1, 8, 1, 1})}},
                                             {.about = "CRD",
                                              .attributes = {{"blocksize", int64_t(2)}, {"mode", std::string("CRD")}},
                                              .inputs = {count_up({1, 2, 2, 2})},
                                              .outputs = {count_up({1, 8, 1, 1})}},
                                             {.about = "pixels",
                                              .attributes = one_number("blocksize", 2),
                                              .inputs = {f32({1, 1, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7})},
                                              .outputs = {count_up({1, 4, 1, 2})}}});
const OpTest range(
    "Range", {{.about = "up", .inputs = {i64({}, {3}), i64({}, {9}), i64({}, {3})}, .outputs = {i64({2}, {3, 6})}},
              {.about = "down",
               .inputs = {i32({}, {10}), i32({}, {4}), i32({}, {-2})},
               .outputs = {i32({3}, {10, 8, 6})},
               .fixed_types = true},
              {.about = "nothing", .inputs = {i64({}, {3}), i64({}, {3}), i64({}, {1})}, .outputs = {i64({0}, {})}},
              {.about = "fractions",
               .inputs = {f32({}, {0}), f32({}, {1}), f32({}, {0.25f})},
               .outputs = {f32({4}, {0, 0.25f, 0.5f, 0.75f})}},
              {.about = "the whole width",
               .inputs = {i64({}, {INT64_MIN}), i64({}, {INT64_MAX}), i64({}, {INT64_MAX})},
               .outputs = {i64({3}, {INT64_MIN, -1, INT64_MAX - 1})},
               .fixed_types = true}});
const OpTest trilu("Trilu", {{.about = "upper",
                              .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6})},
                              .outputs = {f32({2, 3}, {1, 2, 3, 0, 5, 6})}},
                             {.about = "lower, shifted",
                              .attributes = one_number("upper", 0),
                              .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {1})},
                              .outputs = {f32({2, 3}, {1, 2, 0, 4, 5, 6})}},
                             {.about = "everything",
                              .inputs = {f32({2, 2}, {1, 2, 3, 4}), i64({}, {-9})},
                              .outputs = {f32({2, 2}, {1, 2, 3, 4})}},
                             {.about = "nothing",
                              .inputs = {f32({2, 2}, {1, 2, 3, 4}), i64({}, {INT64_MAX})},
                              .outputs = {f32({2, 2}, {0, 0, 0, 0})}},
                             {.about = "batches",
                              .inputs = {f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({}, {1})},
                              .outputs = {f32({2, 2, 2}, {0, 2, 0, 0, 0, 6, 0, 0})}},
                             {.about = "strings",
                              .inputs = {strings({2, 2}, {"a", "b", "c", "d"})},
                              .outputs = {strings({2, 2}, {"a", "b", "", "d"})}}});
const OpTest eye_like("EyeLike", {{.about = "main diagonal",
                                   .inputs = {f32({2, 3}, {9, 9, 9, 9, 9, 9})},
                                   .outputs = {f32({2, 3}, {1, 0, 0, 0, 1, 0})}},
                                  {.about = "below, as int",
                                   .attributes = {{"k", int64_t(-1)}, {"dtype", int64_t(DType::i32)}},
                                   .inputs = {f32({3, 2}, {9, 9, 9, 9, 9, 9})},
                                   .outputs = {i32({3, 2}, {0, 0, 1, 0, 0, 1})}},
                                  {.about = "outside",
                                   .attributes = one_number("k", INT64_MAX),
                                   .inputs = {f32({1, 1}, {9})},
                                   .outputs = {f32({1, 1}, {0})}}});
const OpTest reverse_sequence("ReverseSequence",
                              {{.about = "time first",
                                .inputs = {f32({3, 2}, {0, 1, 2, 3, 4, 5}), i64({2}, {3, 2})},
                                .outputs = {f32({3, 2}, {4, 3, 2, 1, 0, 5})}},
                               {.about = "batch first",
                                .attributes = {{"time_axis", int64_t(1)}, {"batch_axis", int64_t(0)}},
                                .inputs = {f32({2, 3}, {0, 1, 2, 3, 4, 5}), i64({2}, {1, 3})},
                                .outputs = {f32({2, 3}, {0, 1, 2, 5, 4, 3})}}});

TEST(Move, BoundsThatLeaveTheInputAreErrors) {
  const auto fails = [](const char* op, const std::vector<Tensor>& inputs, const Attributes& attributes = {},
                        size_t outputs = 1) {
    EXPECT_THROW(OpRun("", op, attributes, inputs, outputs).run(), Error) << op;
  };
  fails("Slice", {count_up({3}), i64({1}, {0}), i64({1}, {1}), i64({1}, {0}), i64({1}, {0})});
  fails("Slice", {count_up({3}), i64({2}, {0, 0}), i64({2}, {1, 1}), i64({2}, {0, 0})});
  fails("Slice", {count_up({3}), i64({2}, {0, 0}), i64({1}, {1})});
  fails("DepthToSpace", {count_up({1, 4, 1, 1})}, one_number("blocksize", int64_t(1) << 32));
  fails("SpaceToDepth", {count_up({1, 1, 2, 2})}, one_number("blocksize", int64_t(1) << 32));
  fails("Concat", {count_up({2, 2}), count_up({3, 3})}, one_number("axis", 0));
  fails("Split", {count_up({5}), i64({2}, {2, 2})}, {}, 2);
  fails("Split", {count_up({5}), i64({2}, {6, -1})}, {}, 2);
  fails("Expand", {count_up({2}), i64({1}, {3})});
  fails("Expand", {count_up({1}), i64({1}, {-1})});
  fails("Tile", {count_up({2}), i64({2}, {1, 1})});
  fails("Tile", {count_up({2}), i64({1}, {-1})});
  fails("Pad", {count_up({2}), i64({2}, {-3, 0})});
  fails("Pad", {f32({0}, {}), i64({2}, {1, 0})}, one_text("mode", "edge"));
  fails("Pad", {count_up({2}), i64({2}, {int64_t(1) << 48, -(int64_t(1) << 48)})});
  fails("Transpose", {count_up({2, 2})}, ints("perm", {0, 0}));
  fails("Range", {i64({}, {0}), i64({}, {1}), i64({}, {0})});
  fails("Tile", {count_up({4}), i64({1}, {INT64_MAX})});
}

}  // namespace
}  // namespace retort::ops
