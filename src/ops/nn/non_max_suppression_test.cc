#include "ops/op_test.h"

namespace retort::ops {
namespace {

const Tensor kBoxes = f32({1, 4, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11, 1, 1, 0, 0});
const Tensor kScores = f32({1, 1, 4}, {0.75f, 0.875f, 0.5f, 0.25f});
Tensor one(float v) { return f32({1}, {v}); }

// Boxes of size 1 in a row, 0.75 apart, whose scores fall; every second one overlaps none that is kept. There are more
// than are compared at a time.
constexpr int64_t kBoxesInARow = 75;
Tensor row_of_boxes() {
  std::vector<float> v;
  for (int64_t i = 0; i < kBoxesInARow; ++i) v.insert(v.end(), {0, 0.75f * float(i), 1, 0.75f * float(i) + 1});
  v[4 * 70 + 2] = 0;  // without an area: overlaps nothing
  return f32({1, kBoxesInARow, 4}, std::move(v));
}
Tensor falling_scores() {
  std::vector<float> v;
  for (int64_t i = 0; i < kBoxesInARow; ++i) v.push_back(float(kBoxesInARow - i));
  return f32({1, 1, kBoxesInARow}, std::move(v));
}
Tensor every_second() {
  std::vector<int64_t> v;
  for (int64_t i = 0; i < kBoxesInARow; ++i)
    if (i < 70 ? i % 2 == 0 : i % 2 == 1 || i == 70) v.insert(v.end(), {0, 0, i});
  return i64({int64_t(v.size() / 3), 3}, std::move(v));
}

constexpr float kInfinity = __builtin_inff();

// Boxes that do not overlap.
Tensor two_images() {
  std::vector<float> v;
  for (int i = 0; i < 2 * 41; ++i) v.insert(v.end(), {float(i), 0, float(i) + 1, 1});
  return f32({2, 41, 4}, std::move(v));
}
Tensor sparse_scores() {
  std::vector<float> v(size_t{2 * 2 * 41}, 0.25f);
  v[40] = v[41 + 36] = 0.75f;
  v[41 + 2] = v[82] = v[123 + 17] = 1;
  v[82 + 16] = 0.875f;
  return f32({2, 2, 41}, std::move(v));
}

const OpTest non_max_suppression(
    "NonMaxSuppression",
    {{.about = "the best of the boxes that overlap; corners in any order",
      .inputs = {kBoxes, kScores, i64({1}, {3}), one(0.5f)},
      .outputs = {i64({2, 3}, {0, 0, 1, 0, 0, 2})}},
     {.about = "more boxes than are compared at a time",
      .inputs = {row_of_boxes(), falling_scores(), i64({}, {100}), one(0.1f)},
      .outputs = {every_second()}},
     {.about = "scores above a threshold only",
      .inputs = {kBoxes, kScores, i64({1}, {3}), one(0.5f), one(0.5f)},
      .outputs = {i64({1, 3}, {0, 0, 1})}},
     {.about = "a limit for each class",
      .inputs = {kBoxes, f32({1, 2, 4}, {0.75f, 0.875f, 0.5f, 0.25f, 1, 0.5f, 0.5f, 1}), i64({}, {1}), one(0.5f)},
      .outputs = {i64({2, 3}, {0, 0, 1, 0, 1, 0})}},
     {.about = "centre and size",
      .attributes = {{"center_point_box", int64_t(1)}},
      .inputs = {f32({1, 2, 4}, {0.5f, 0.5f, 1, 1, 0.6f, 0.5f, 1, 1}), f32({1, 1, 2}, {1, 2}), i64({}, {2}), one(0.5f)},
      .outputs = {i64({1, 3}, {0, 0, 1})}},
     {.about = "NaN is never selected",
      .inputs = {kBoxes, f32({1, 1, 4}, {__builtin_nanf(""), 1, __builtin_nanf(""), 2}), i64({}, {9}), one(1)},
      .outputs = {i64({2, 3}, {0, 0, 3, 0, 0, 1})}},
     {.about = "of equal scores, the earlier; 0 is -0; below 0 and infinite ones",
      .inputs = {f32({1, 6, 4}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11}),
                 f32({1, 1, 6}, {-1, 0, -2, -0.0f, -kInfinity, kInfinity}), i64({}, {9}), one(0.5f)},
      .outputs = {i64({6, 3}, {0, 0, 5, 0, 0, 1, 0, 0, 3, 0, 0, 0, 0, 0, 2, 0, 0, 4})}},
     {.about = "-0 before 0 is the earlier of equal scores",
      .inputs = {f32({1, 3, 4}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}), f32({1, 1, 3}, {-1, -0.0f, 0}), i64({}, {9}),
                 one(0.5f)},
      .outputs = {i64({3, 3}, {0, 0, 1, 0, 0, 2, 0, 0, 0})}},
     {.about = "-0 is not above a threshold of 0, nor 0 above -0",
      .inputs = {f32({1, 2, 4}, {0, 0, 1, 1, 2, 2, 3, 3}), f32({1, 1, 2}, {-0.0f, 0}), i64({}, {9}), one(0.5f),
                 one(-0.0f)},
      .outputs = {i64({0, 3}, {})}},
     {.about = "two images of two classes, most scores too low",
      .inputs = {two_images(), sparse_scores(), i64({}, {3}), one(0.5f), one(0.5f)},
      .outputs = {i64({6, 3}, {0, 0, 40, 0, 1, 2, 0, 1, 36, 1, 0, 0, 1, 0, 16, 1, 1, 17})}},
     {.about = "a limit of 0", .inputs = {kBoxes, kScores}, .outputs = {i64({0, 3}, {})}},
     {.about = "no boxes",
      .inputs = {f32({2, 0, 4}, {}), f32({2, 3, 0}, {}), i64({}, {5})},
      .outputs = {i64({0, 3}, {})}}});

}  // namespace
}  // namespace retort::ops
