#include "ops/search/common/cross_attention.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace retort::ops {
namespace {

using Heads = std::vector<CrossAttention::Head>;

/// The products of one layer of one head and two frames, of two rows.
Value layer_cache(float a, float b) { return Tensor::of<float>({2, 1, 1, 2}, {a, a + 0.5f, b, b + 0.5f}); }

// Two beams begin with two tokens. After the first run, both go on from row 1; the second run reads those.
struct Followed : CrossAttention {
  explicit Followed(Heads heads) : CrossAttention(std::move(heads), 2) {
    follow(std::vector<uint32_t>{0, 0});
    keep(std::vector<Value>{layer_cache(1, 2), layer_cache(10, 20)});
    follow(std::vector<uint32_t>{1, 1});
    keep(std::vector<Value>{layer_cache(3, 4), layer_cache(30, 40)});
    follow(std::vector<uint32_t>{1, 0});
  }
  std::vector<float> of(const End& end) const {
    std::vector<float> v(element_count(shape()), 77);
    write(end, v);
    return v;
  }
};

TEST(CrossAttention, FollowsTheRowsOfASequence) {
  const Followed all({});
  EXPECT_EQ(all.shape(), (Shape{2, 2, 2}));
  // Row 0 of five tokens came from row 1 of four, and that from row 1 of three.
  EXPECT_EQ(all.of({.row = 0, .length = 5}), (std::vector<float>{2, 2.5f, 4, 4.5f, 20, 20.5f, 40, 40.5f}));
  EXPECT_EQ(all.of({.row = 1, .length = 5}), (std::vector<float>{2, 2.5f, 3, 3.5f, 20, 20.5f, 30, 30.5f}));
}

TEST(CrossAttention, StepsAfterTheEndAreZeros) {
  const Followed second({{1, 0}});
  EXPECT_EQ(second.shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(second.of({.row = 0, .length = 3}), (std::vector<float>{10, 10.5f, 0, 0}));
  EXPECT_EQ(second.of({.row = 1, .length = 2}), (std::vector<float>{0, 0, 0, 0}));
}

TEST(CrossAttention, WhatDoesNotFitIsAnError) {
  EXPECT_THROW(Followed({{2, 0}}), Error);
  EXPECT_THROW(Followed({{0, 1}}), Error);
  CrossAttention one({}, 1);
  EXPECT_THROW(one.keep(std::vector<Value>{layer_cache(1, 2), Value(Tensor::of<float>({2, 1, 1, 1}, {1, 2}))}), Error);
  EXPECT_THROW(one.keep(std::vector<Value>{Value(Tensor::of<int32_t>({1, 1, 1, 1}, {1}))}), Error);
}

}  // namespace
}  // namespace retort::ops
