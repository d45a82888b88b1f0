#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

const OpTestOptions kHeadOptions{.domain = "com.microsoft", .tolerance = 4};

Attributes heads(int64_t count, Attributes more = {}) {
  more.set("num_heads", count);
  return more;
}

// Padding on the left, masked with the lowest float.
OpCase padded() {
  return {.about = "later keys count like masked ones for a query that sees no other",
          .attributes =
              heads(1, {{"unidirectional", int64_t(1)}, {"mask_filter_value", std::numeric_limits<float>::lowest()}}),
          .inputs = {f32({2, 3, 1}, {0, 0, 0, 0, 0, 0}), f32({2, 3, 1}, {0, 0, 0, 0, 0, 0}),
                     f32({2, 3, 1}, {3, 6, 9, 3, 6, 9}), kNone, i32({2, 3}, {0, 1, 1, 1, 0, 1})},
          .outputs = {f32({2, 3, 1}, {6, 6, 7.5, 3, 3, 6})}};
}
OpCase padded_with_past() {
  return {.about = "the same with a past, and a mask for each query",
          .attributes =
              heads(1, {{"unidirectional", int64_t(1)}, {"mask_filter_value", std::numeric_limits<float>::lowest()}}),
          .inputs = {f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {6, 9}), kNone,
                     i32({1, 2, 3}, {1, 0, 1, 0, 0, 0}), kNone, f32({1, 1, 1, 1}, {0}), f32({1, 1, 1, 1}, {3})},
          .outputs = {f32({1, 2, 1}, {3, 6})}};
}

const OpTest multi_head_attention(
    "MultiHeadAttention",
    {{.about = "the mean of the values where queries are 0",
      .attributes = heads(1),
      .inputs = {f32({1, 1, 1}, {0}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {4, 8})},
      .outputs = {f32({1, 1, 1}, {6}), f32({1, 1, 2, 1}, {0, 0}), f32({1, 1, 2, 1}, {4, 8})}},
     {.about = "the bias comes before all else",
      .attributes = heads(1),
      .inputs = {f32({1, 1, 1}, {0}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {4, 8}), f32({3}, {0, 2, 1})},
      .outputs = {f32({1, 1, 1}, {7}), f32({1, 1, 2, 1}, {2, 2}), f32({1, 1, 2, 1}, {5, 9})}},
     {.about = "a mask of lengths",
      .attributes = heads(1),
      .inputs = {f32({2, 1, 1}, {0, 0}), f32({2, 2, 1}, {0, 0, 0, 0}), f32({2, 2, 1}, {4, 8, 4, 8}), kNone,
                 i32({2}, {1, 2})},
      .outputs = {f32({2, 1, 1}, {4, 6})}},
     {.about = "a mask of lengths and starts",
      .attributes = heads(1),
      .inputs = {f32({1, 1, 1}, {0}), f32({1, 3, 1}, {0, 0, 0}), f32({1, 3, 1}, {4, 8, 16}), kNone, i32({2}, {2, 1})},
      .outputs = {f32({1, 1, 1}, {8})}},
     {.about = "a mask of keys",
      .attributes = heads(1),
      .inputs = {f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {4, 8}), kNone, i32({1, 2}, {0, 5})},
      .outputs = {f32({1, 2, 1}, {8, 8})}},
     {.about = "a mask for each query; one that sees nothing sees all",
      .attributes = heads(1),
      .inputs = {f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {4, 8}), kNone,
                 i32({1, 2, 2}, {1, 0, 0, 0})},
      .outputs = {f32({1, 2, 1}, {4, 6})}},
     {.about = "a bias of the scores beside a mask",
      .attributes = heads(2),
      .inputs = {f32({1, 1, 2}, {0, 0}), f32({1, 3, 2}, {0, 0, 0, 0, 0, 0}), f32({1, 3, 2}, {4, 1, 8, 2, 16, 3}), kNone,
                 i32({1, 3}, {1, 1, 0}), f32({1, 2, 1, 3}, {0, -99, 0, -99, 0, 0})},
      .outputs = {f32({1, 1, 2}, {4, 2})}},
     {.about = "queries see what lies before them; scores as they are before the softmax",
      .attributes = heads(1, {{"unidirectional", int64_t(1)}}),
      .inputs = {f32({1, 2, 1}, {1, 1}), f32({1, 2, 1}, {3, 3}), f32({1, 2, 1}, {4, 8})},
      .outputs = {f32({1, 2, 1}, {4, 6}), kNone, kNone, f32({1, 1, 2, 2}, {3, -3.4028235e38f, 3, 3})},
      .fixed_types = true},
     {.about = "a past",
      .attributes = heads(1),
      .inputs = {f32({1, 1, 1}, {0}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {4}), kNone, kNone, kNone,
                 f32({1, 1, 1, 1}, {7}), f32({1, 1, 1, 1}, {2})},
      .outputs = {f32({1, 1, 1}, {3}), f32({1, 1, 2, 1}, {7, 1}), f32({1, 1, 2, 1}, {2, 4})}},
     {.about = "a past in a buffer with room",
      .attributes = heads(1),
      .inputs = {f32({1, 1, 1}, {0}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {4}), kNone, kNone, kNone,
                 f32({1, 1, 3, 1}, {7, 0, 0}), f32({1, 1, 3, 1}, {2, 98, 99}), i32({1}, {1})},
      .outputs = {f32({1, 1, 1}, {3}), f32({1, 1, 3, 1}, {7, 1, 0}), f32({1, 1, 3, 1}, {2, 4, 99})}},
     {.about = "Q, K and V side by side for each head",
      .attributes = heads(1),
      .inputs = {f32({1, 2, 1, 3, 1}, {0, 0, 4, 0, 0, 8})},
      .outputs = {f32({1, 2, 1}, {6, 6})}},
     {.about = "K and V side by side for each head",
      .attributes = heads(1),
      .inputs = {f32({1, 1, 1}, {0}), f32({1, 2, 1, 2, 1}, {0, 4, 0, 8})},
      .outputs = {f32({1, 1, 1}, {6})}},
     {.about = "K and V of a cache",
      .attributes = heads(2),
      .inputs = {f32({1, 1, 2}, {0, 0}), f32({1, 2, 2, 1}, {0, 0, 0, 0}), f32({1, 2, 2, 1}, {4, 8, 1, 3})},
      .outputs = {f32({1, 1, 2}, {6, 2})}},
     padded(),
     padded_with_past(),
     {.about = "no query",
      .attributes = heads(1),
      .inputs = {f32({1, 0, 1}, {}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {4, 8})},
      .outputs = {f32({1, 0, 1}, {})}},
     {.about = "many rows",
      .attributes = heads(4, {{"scale", 0.5f}}),
      .inputs = {random({2, 50, 64}, 1, -1, 1), random({2, 50, 64}, 2, -1, 1), random({2, 50, 32}, 3),
                 random({160}, 4, -1, 1), i32({2}, {50, 31}), random({1, 4, 50, 50}, 6)},
      .output_count = 3},
     {.about = "few rows and a past",
      .attributes = heads(3),
      .inputs = {random({2, 2, 48}, 1, -1, 1), random({2, 2, 48}, 2, -1, 1), random({2, 2, 48}, 3), kNone, kNone, kNone,
                 random({2, 3, 40, 16}, 5, -1, 1), random({2, 3, 40, 16}, 6)},
      .output_count = 3}},
    kHeadOptions);

const OpTest decoder_masked_multi_head_attention(
    "DecoderMaskedMultiHeadAttention",
    {{.about = "a past in a buffer with room",
      .attributes = heads(1, {{"past_present_share_buffer", int64_t(1)}}),
      .inputs = {f32({1, 1, 1}, {0}), f32({1, 1, 1}, {1}), f32({1, 1, 1}, {4}), kNone, kNone,
                 f32({1, 1, 3, 1}, {7, 0, 0}), f32({1, 1, 3, 1}, {2, 98, 99}), i32({1}, {1})},
      .outputs = {f32({1, 1, 1}, {3}), f32({1, 1, 3, 1}, {7, 1, 0}), f32({1, 1, 3, 1}, {2, 4, 99})}},
     {.about = "beams that change places",
      .attributes = heads(1, {{"past_present_share_buffer", int64_t(1)}}),
      .inputs = {f32({2, 1, 1}, {0, 0}), f32({2, 1, 1}, {0, 0}), f32({2, 1, 1}, {4, 6}), kNone, kNone,
                 f32({2, 1, 2, 1}, {0, 0, 0, 0}), f32({2, 1, 2, 1}, {2, 0, 8, 0}), i32({1}, {1}), i32({1}, {2}),
                 i32({1, 2, 2}, {1, 0, 0, 0})},
      .outputs = {f32({2, 1, 1}, {6, 4}), f32({2, 1, 2, 1}, {0, 0, 0, 0}), f32({2, 1, 2, 1}, {2, 4, 8, 6})}},
     {.about = "Q, K and V one after the other, with a bias",
      .attributes = heads(1),
      .inputs = {f32({1, 1, 3}, {0, 0, 4}), kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone,
                 f32({3}, {0, 0, 1})},
      .outputs = {f32({1, 1, 1}, {5})}},
     {.about = "K and V of a cache, some of them masked",
      .attributes = heads(2),
      .inputs = {f32({1, 1, 2}, {0, 0}), f32({1, 2, 2, 1}, {0, 0, 0, 0}), f32({1, 2, 2, 1}, {4, 8, 1, 3}),
                 i32({1, 2}, {0, 1})},
      .outputs = {f32({1, 1, 2}, {8, 3})}}},
    kHeadOptions);

const OpTest rotary_embedding(
    "RotaryEmbedding",
    {{.about = "turned by a right angle at position 1",
      .inputs = {f32({1, 2, 2}, {1, 2, 1, 2}), i64({1, 2}, {0, 1}), f32({2, 1}, {1, 0}), f32({2, 1}, {0, 1})},
      .outputs = {f32({1, 2, 2}, {1, 2, -2, 1})}},
     {.about = "the position of the first row, heads apart",
      .inputs = {f32({1, 1, 2, 2}, {1, 2, 1, 2}), i64({1}, {1}), f32({3, 1}, {1, 0, -1}), f32({3, 1}, {0, 1, 0})},
      .outputs = {f32({1, 1, 2, 2}, {-2, 1, -1, -2})}},
     {.about = "a part of each head, interleaved",
      .attributes = {{"num_heads", int64_t(1)}, {"rotary_embedding_dim", int64_t(2)}, {"interleaved", int64_t(1)}},
      .inputs = {f32({1, 1, 3}, {1, 2, 3}), i64({1, 1}, {0}), f32({1, 1}, {0}), f32({1, 1}, {1})},
      .outputs = {f32({1, 1, 3}, {-2, 1, 3})}}},
    kHeadOptions);

TEST(RotaryEmbedding, RefusesPositionsThatTheCachesDoNotHave) {
  const auto run = [](int64_t position) {
    OpRun("com.microsoft", "RotaryEmbedding", {},
          {random({1, 1, 2, 2}), i64({1, 2}, {0, position}), random({3, 1}), random({3, 1})}, 1)
        .run();
  };
  EXPECT_NO_THROW(run(2));
  EXPECT_THROW(run(3), Error);
  EXPECT_THROW(run(-1), Error);
}

const OpTest m_rotary_embedding(
    "MRotaryEmbedding",
    {{.about = "an element for each of time, height and width",
      .attributes = {{"num_heads", int64_t(1)}, {"mrope_section", std::vector<int64_t>{1, 1, 1}}},
      .inputs = {f32({1, 1, 6}, {1, 2, 3, 4, 5, 6}), i64({3, 1, 1}, {0, 1, 0}), f32({2, 3}, {1, 1, 1, 0, 0, 0}),
                 f32({2, 3}, {0, 0, 0, 1, 1, 1})},
      .outputs = {f32({1, 1, 6}, {1, -5, 3, 4, 2, 6})}},
     {.about = "in turn, scaled",
      .attributes = {{"mrope_section", std::vector<int64_t>{1, 1, 0}}, {"mrope_layout", int64_t(1)}, {"scale", 2.0f}},
      .inputs = {f32({1, 1, 1, 4}, {1, 2, 3, 4}), i64({3, 1, 1}, {0, 1, 0}), f32({2, 2}, {1, 1, 0, 0}),
                 f32({2, 2}, {0, 0, 1, 1})},
      .outputs = {f32({1, 1, 1, 4}, {2, -8, 6, 4})}}},
    kHeadOptions);

}  // namespace
}  // namespace retort::ops
