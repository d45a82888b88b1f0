#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

const Tensor kSix = f32({2, 3}, {1, 2, 3, 4, 5, 6});
Attributes one(const char* name, int64_t v) { return {{name, v}}; }
Attributes text(const char* name, const char* v) { return {{name, std::string(v)}}; }

Tensor packed_bytes(DType type, Shape shape, const std::vector<uint8_t>& bytes) {
  Tensor t(type, std::move(shape));
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(t.mutable_data()));
  return t;
}

const OpTest gather(
    "Gather",
    {{.about = "rows", .inputs = {kSix, i64({2}, {1, 0})}, .outputs = {f32({2, 3}, {4, 5, 6, 1, 2, 3})}},
     {.about = "columns, negative",
      .attributes = one("axis", 1),
      .inputs = {kSix, i32({2, 1}, {-1, 0})},
      .outputs = {f32({2, 2, 1}, {3, 1, 6, 4})}},
     {.about = "a scalar index", .inputs = {kSix, i64({}, {1})}, .outputs = {f32({3}, {4, 5, 6})}},
     {.about = "rows of packed elements",
      .inputs = {packed_bytes(DType::u4, {3, 2, 2}, {0x21, 0x43, 0x65, 0x87, 0xa9, 0xcb}), i64({2, 1}, {2, -3})},
      .outputs = {packed_bytes(DType::u4, {2, 1, 2, 2}, {0xa9, 0xcb, 0x21, 0x43})}},
     {.about = "bytes of packed elements, inside of rows",
      .attributes = one("axis", 1),
      .inputs = {packed_bytes(DType::i4, {2, 2, 2}, {0x21, 0x43, 0x65, 0x87}), i64({3}, {1, 0, 1})},
      .outputs = {packed_bytes(DType::i4, {2, 3, 2}, {0x43, 0x21, 0x43, 0x87, 0x65, 0x87})}},
     {.about = "one row of packed elements",
      .inputs = {packed_bytes(DType::i4, {3, 2}, {0x21, 0x43, 0x65}), i64({}, {1})},
      .outputs = {packed_bytes(DType::i4, {2}, {0x43})}},
     {.about = "content",
      .inputs = {i64({3}, {7, 8, 9}), i64({2}, {2, -3})},
      .outputs = {i64({2}, {9, 7})},
      .fixed_types = true},
     {.about = "content, scalar",
      .inputs = {i64({3}, {7, 8, 9}), i64({}, {1})},
      .outputs = {i64({}, {8})},
      .fixed_types = true},
     {.about = "strings",
      .inputs = {strings({2}, {"a", "b"}), i64({2}, {1, 1})},
      .outputs = {strings({2}, {"b", "b"})}},
     {.about = "nothing", .inputs = {kSix, i64({0}, {})}, .outputs = {f32({0, 3}, {})}},
     {.about = "an embedding",
      .inputs = {random({50, 129}), i64({3, 4}, {0, 49, 7, 7, 1, 2, 3, 4, 5, 6, 48, 9})},
      .output_count = 1}});
const OpTest gather_elements("GatherElements", {{.about = "axis 1",
                                                 .attributes = one("axis", 1),
                                                 .inputs = {f32({2, 2}, {1, 2, 3, 4}), i64({2, 2}, {0, 0, 1, 0})},
                                                 .outputs = {f32({2, 2}, {1, 1, 4, 3})}},
                                                {.about = "axis 0, fewer rows, negative",
                                                 .inputs = {kSix, i32({1, 2}, {-1, 0})},
                                                 .outputs = {f32({1, 2}, {4, 2})}}});
const OpTest gather_nd("GatherND", {{.about = "elements",
                                     .inputs = {f32({2, 2}, {0, 1, 2, 3}), i64({2, 2}, {0, 0, 1, 1})},
                                     .outputs = {f32({2}, {0, 3})}},
                                    {.about = "slices",
                                     .inputs = {f32({2, 2}, {0, 1, 2, 3}), i64({2, 1}, {1, -2})},
                                     .outputs = {f32({2, 2}, {2, 3, 0, 1})}},
                                    {.about = "batches",
                                     .attributes = one("batch_dims", 1),
                                     .inputs = {f32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}), i64({2, 1}, {1, 0})},
                                     .outputs = {f32({2, 2}, {2, 3, 4, 5})}}});
const OpTest scatter_elements("ScatterElements",
                              {{.about = "axis 1",
                                .attributes = one("axis", 1),
                                .inputs = {f32({1, 5}, {1, 2, 3, 4, 5}), i64({1, 2}, {1, 3}), f32({1, 2}, {11, 21})},
                                .outputs = {f32({1, 5}, {1, 11, 3, 21, 5})}},
                               {.about = "updates are added",
                                .attributes = {{"axis", int64_t(-1)}, {"reduction", std::string("add")}},
                                .inputs = {f32({1, 3}, {1, 2, 3}), i64({1, 2}, {1, -2}), f32({1, 2}, {10, 20})},
                                .outputs = {f32({1, 3}, {1, 32, 3})}},
                               {.about = "largest",
                                .attributes = text("reduction", "max"),
                                .inputs = {f32({3}, {1, 2, 3}), i32({2}, {0, 2}), f32({2}, {5, 1})},
                                .outputs = {f32({3}, {5, 2, 3})}},
                               {.about = "smallest",
                                .attributes = text("reduction", "min"),
                                .inputs = {f32({3}, {1, 2, 3}), i32({2}, {0, 2}), f32({2}, {5, 1})},
                                .outputs = {f32({3}, {1, 2, 1})}},
                               {.about = "multiplied",
                                .attributes = text("reduction", "mul"),
                                .inputs = {f32({3}, {1, 2, 3}), i32({2}, {1, 2}), f32({2}, {5, 2})},
                                .outputs = {f32({3}, {1, 10, 6})}},
                               {.about = "strings",
                                .inputs = {strings({2}, {"a", "b"}), i64({1}, {1}), strings({1}, {"c"})},
                                .outputs = {strings({2}, {"a", "c"})}}});
const OpTest scatter_nd("ScatterND",
                        {{.about = "elements",
                          .inputs = {f32({8}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({4, 1}, {4, 3, 1, -1}),
                                     f32({4}, {9, 10, 11, 12})},
                          .outputs = {f32({8}, {1, 11, 3, 10, 9, 6, 7, 12})}},
                         {.about = "slices, added",
                          .attributes = text("reduction", "add"),
                          .inputs = {kSix, i64({2, 1}, {0, 0}), f32({2, 3}, {1, 1, 1, 2, 2, 2})},
                          .outputs = {f32({2, 3}, {4, 5, 6, 4, 5, 6})}},
                         {.about = "no updates", .inputs = {kSix, i64({0, 2}, {}), f32({0}, {})}, .outputs = {kSix}}});
const OpTest non_zero("NonZero",
                      {{.about = "columns of positions",
                        .inputs = {f32({2, 2}, {1, 0, 3, -1})},
                        .outputs = {i64({2, 3}, {0, 1, 1, 0, 0, 1})}},
                       {.about = "a scalar", .inputs = {f32({}, {5})}, .outputs = {i64({1, 1}, {0})}},
                       {.about = "nothing", .inputs = {f32({3}, {0, -0.0f, 0})}, .outputs = {i64({1, 0}, {})}},
                       {.about = "strings", .inputs = {strings({2}, {"", "a"})}, .outputs = {i64({1, 1}, {1})}}});
const OpTest compress("Compress", {{.about = "rows",
                                    .attributes = one("axis", 0),
                                    .inputs = {f32({3, 2}, {1, 2, 3, 4, 5, 6}), booleans({3}, {false, true, true})},
                                    .outputs = {f32({2, 2}, {3, 4, 5, 6})}},
                                   {.about = "flattened, a short condition",
                                    .inputs = {kSix, booleans({4}, {false, true, false, true})},
                                    .outputs = {f32({2}, {2, 4})}},
                                   {.about = "a long condition",
                                    .attributes = one("axis", 0),
                                    .inputs = {f32({2, 1}, {1, 2}), booleans({4}, {false, true, true, true})},
                                    .outputs = {f32({1, 1}, {2})}},
                                   {.about = "columns",
                                    .attributes = one("axis", -1),
                                    .inputs = {kSix, booleans({2}, {false, true})},
                                    .outputs = {f32({2, 1}, {2, 5})}}});
const OpTest one_hot_examples("OneHot", {{.about = "last axis",
                                          .inputs = {i64({3}, {0, 2, -1}), i64({}, {3}), f32({2}, {0, 1})},
                                          .outputs = {f32({3, 3}, {1, 0, 0, 0, 0, 1, 0, 0, 1})},
                                          .fixed_types = true},
                                         {.about = "first axis",
                                          .attributes = one("axis", 0),
                                          .inputs = {i32({2}, {1, 0}), i64({1}, {2}), i64({2}, {5, 7})},
                                          .outputs = {i64({2, 2}, {5, 7, 7, 5})},
                                          .fixed_types = true},
                                         {.about = "outside",
                                          .inputs = {f32({2}, {9, -9}), f32({}, {2}), strings({2}, {"off", "on"})},
                                          .outputs = {strings({2, 2}, {"off", "off", "off", "off"})},
                                          .fixed_types = true}});
const OpTest unique(
    "Unique", {{.about = "sorted",
                .inputs = {f32({6}, {2, 1, 1, 3, 4, 3})},
                .outputs = {f32({4}, {1, 2, 3, 4}), i64({4}, {1, 0, 3, 4}), i64({6}, {1, 0, 0, 2, 3, 2}),
                            i64({4}, {2, 1, 2, 1})}},
               {.about = "in the order of appearance",
                .attributes = one("sorted", 0),
                .inputs = {f32({6}, {2, 1, 1, 3, 4, 3})},
                .outputs = {f32({4}, {2, 1, 3, 4}), i64({4}, {0, 1, 3, 4}), i64({6}, {0, 1, 1, 2, 3, 2}),
                            i64({4}, {1, 2, 2, 1})}},
               {.about = "rows",
                .attributes = one("axis", 0),
                .inputs = {f32({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4})},
                .outputs = {f32({2, 3}, {1, 0, 0, 2, 3, 4}), i64({2}, {0, 2}), i64({3}, {0, 0, 1}), i64({2}, {2, 1})}},
               {.about = "columns",
                .attributes = one("axis", 1),
                .inputs = {f32({2, 4, 2}, {1, 1, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1})},
                .outputs = {f32({2, 3, 2}, {0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1}), i64({3}, {1, 0, 2}),
                            i64({4}, {1, 0, 2, 0}), i64({3}, {2, 1, 1})}},
               {.about = "NaN is above every number, -0 equals 0",
                .inputs = {f32({7}, {kNaN, 0, -kInf, -0.0f, kInf, kNaN, -2})},
                .outputs = {f32({5}, {-kInf, -2, 0, kInf, kNaN}), i64({5}, {2, 6, 1, 4, 0}),
                            i64({7}, {4, 2, 0, 2, 3, 4, 1}), i64({5}, {1, 1, 2, 1, 2})}},
               {.about = "large integers stay exact",
                .inputs = {i64({3}, {INT64_MAX, INT64_MIN, INT64_MAX - 1})},
                .outputs = {i64({3}, {INT64_MIN, INT64_MAX - 1, INT64_MAX}), i64({3}, {1, 2, 0}), i64({3}, {2, 0, 1}),
                            i64({3}, {1, 1, 1})},
                .fixed_types = true},
               {.about = "strings",
                .inputs = {strings({3}, {"b", "a", "b"})},
                .outputs = {strings({2}, {"a", "b"}), i64({2}, {1, 0}), i64({3}, {1, 0, 1}), i64({2}, {1, 2})}}});

TEST(Index, RowsOfNothingAreNotVisited) {
  const Shape huge{int64_t(1) << 40, 0};
  const Tensor data(DType::f32, huge), indices(DType::i64, huge);
  EXPECT_EQ(OpRun("", "GatherElements", {}, {data, indices}, 1).run()[0].shape(), huge);
  EXPECT_EQ(OpRun("", "ScatterElements", text("reduction", "add"), {data, indices, data}, 1).run()[0].shape(), huge);
}

TEST(Index, IndicesOutsideAreErrors) {
  const auto fails = [](const char* op, const std::vector<Tensor>& inputs, const Attributes& attributes = {}) {
    EXPECT_THROW(OpRun("", op, attributes, inputs, 1).run(), Error) << op;
  };
  fails("Gather", {kSix, i64({1}, {2})});
  fails("Gather", {kSix, i64({1}, {-3})});
  fails("Gather", {i64({2}, {1, 2}), i64({1}, {5})});
  fails("Gather", {packed_bytes(DType::u4, {2, 2}, {0x21, 0x43}), i64({1}, {2})});
  fails("Gather", {packed_bytes(DType::u4, {2, 3}, {0x21, 0x43, 0x65}), i64({1}, {0})});  // parts of bytes
  fails("GatherElements", {kSix, i64({1, 1}, {2})});
  fails("GatherElements", {kSix, i64({1, 4}, {0, 0, 0, 0})});
  fails("GatherND", {kSix, i64({1, 2}, {0, 3})});
  fails("GatherND", {kSix, i64({1, 3}, {0, 0, 0})});
  fails("ScatterElements", {kSix, i64({1, 1}, {2}), f32({1, 1}, {0})});
  fails("ScatterElements", {kSix, i64({1, 1}, {1}), f32({1, 2}, {0, 0})});
  fails("ScatterND", {kSix, i64({1, 1}, {2}), f32({1, 3}, {0, 0, 0})});
  fails("ScatterND", {kSix, i64({1, 1}, {1}), f32({1, 2}, {0, 0})});
  fails("ScatterND", {kSix, i64({1, 1}, {7}), f32({1, 3}, {0, 0, 0})}, text("reduction", "add"));
  fails("TopK", {kSix, i64({1}, {4})});
  fails("TopK", {kSix, i64({1}, {-1})});
  fails("OneHot", {i64({1}, {0}), i64({}, {-2}), f32({2}, {0, 1})});
  fails("OneHot", {i64({1}, {0}), i64({0}, {}), f32({2}, {0, 1})});
  fails("OneHot", {i64({1}, {0}), f32({0}, {}), f32({2}, {0, 1})});
  fails("ReverseSequence", {kSix, i64({3}, {1, 1, 3})});
}

}  // namespace
}  // namespace retort::ops
