#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

const Attributes kOneHead{{"num_heads", int64_t(1)}}, kThreeHeads{{"num_heads", int64_t(3)}};

// The offsets of tokens of these sequences, then those of padding, as [sequences, length]; and where sequences begin.
Tensor offsets(const std::vector<int32_t>& counts, int32_t length) {
  std::vector<int32_t> all, padding;
  for (size_t b = 0; b < counts.size(); ++b) {
    for (int32_t j = 0; j < length; ++j) (j < counts[b] ? all : padding).push_back(int32_t(b) * length + j);
  }
  all.insert(all.end(), padding.begin(), padding.end());
  return i32({int64_t(counts.size()), length}, all);
}
Tensor starts(const std::vector<int32_t>& counts) {
  std::vector<int32_t> all(counts.size() + 1);
  std::partial_sum(counts.begin(), counts.end(), all.begin() + 1);
  return i32({int64_t(all.size())}, all);
}

const std::vector<int32_t> kCounts = {7, 0, 60, 1, 100};
const std::vector<int32_t> kShortCounts = {5, 8, 0, 1, 7, 8, 2, 8, 8, 3, 6, 8};  // each is computed by one worker

const OpTest packed_multi_head_attention(
    "PackedMultiHeadAttention",
    {{.about = "tokens see their own sequence only",
      .attributes = kOneHead,
      .inputs = {f32({3, 1}, {0, 0, 0}), f32({3, 1}, {0, 0, 0}), f32({3, 1}, {4, 8, 20}), kNone, offsets({2, 1}, 4),
                 starts({2, 1})},
      .outputs = {f32({3, 1}, {6, 6, 20})}},
     {.about = "a bias of Q, K and V, and one of the scores, by the places of tokens",
      .attributes = kOneHead,
      .inputs = {f32({3, 1}, {0, 0, 0}), f32({3, 1}, {0, 0, 0}), f32({3, 1}, {4, 8, 20}), f32({3}, {0, 2, 1}),
                 offsets({1, 2}, 2), starts({1, 2}), f32({2, 1, 2, 2}, {5, 6, 7, 8, -99, 0, 0, -99})},
      .outputs = {f32({3, 1}, {5, 21, 9})}},
     {.about = "Q, K and V side by side for each head, with a bias",
      .attributes = kOneHead,
      .inputs = {f32({2, 1, 3, 1}, {0, 0, 4, 0, 0, 8}), kNone, kNone, f32({3}, {0, 0, 1}), offsets({2}, 2),
                 starts({2})},
      .outputs = {f32({2, 1}, {7, 7})}},
     {.about = "the scale",
      .attributes = {{"num_heads", int64_t(1)}, {"scale", 0.5f}, {"mask_filter_value", 0.0f}},
      .inputs = {f32({2, 1}, {2, 0}), f32({2, 1}, {0, 1.0986123f}), f32({2, 1}, {4, 8}), kNone, offsets({2}, 3),
                 starts({2})},
      .outputs = {f32({2, 1}, {7, 6})}},
     {.about = "long and short sequences",
      .attributes = kThreeHeads,
      .inputs = {random({168, 48}, 1, -1, 1), random({168, 48}, 2, -1, 1), random({168, 24}, 3),
                 random({120}, 4, -1, 1), offsets(kCounts, 100), starts(kCounts), random({5, 3, 100, 100}, 5)}},
     {.about = "long and short sequences of packed heads, and a bias of the scores for all",
      .attributes = kThreeHeads,
      .inputs = {random({168, 3, 3, 16}, 1, -1, 1), kNone, kNone, kNone, offsets(kCounts, 101), starts(kCounts),
                 random({1, 1, 101, 101}, 5)}},
     {.about = "many short sequences, with a bias of their own",
      .attributes = kThreeHeads,
      .inputs = {random({64, 48}, 1, -1, 1), random({64, 48}, 2, -1, 1), random({64, 24}, 3), random({120}, 4, -1, 1),
                 offsets(kShortCounts, 8), starts(kShortCounts), random({12, 3, 8, 8}, 5)}}},
    {.domain = "com.microsoft", .tolerance = 4});

// Rows [first, first + count) of a matrix, as a batch of one.
Tensor rows(const Tensor& x, int64_t first, int64_t count) {
  const auto width = x.shape()[1];
  const float* from = x.data<float>() + first * width;
  return f32({1, count, width}, std::vector<float>(from, from + count * width));
}

TEST(PackedMultiHeadAttention, IsThatOfEachSequenceAlone) {
  const std::vector<int32_t> counts = {3, 20, 0, 9, 1};
  const Tensor q = random({33, 12}, 1), k = random({33, 12}, 2), v = random({33, 6}, 3), bias = random({30}, 4);
  const Attributes attributes{{"num_heads", int64_t(3)}, {"scale", 0.25f}};
  const Tensor all = OpRun("com.microsoft", "PackedMultiHeadAttention", attributes,
                           {q, k, v, bias, offsets(counts, 24), starts(counts)}, 1)
                         .run()[0];
  int64_t first = 0;
  for (const int32_t count : counts) {
    const auto alone = OpRun("com.microsoft", "MultiHeadAttention", attributes,
                             {rows(q, first, count), rows(k, first, count), rows(v, first, count), bias}, 1)
                           .run()[0];
    EXPECT_EQ(difference(rows(all, first, count), alone, 2e-5), "") << count;
    first += count;
  }
}

TEST(PackedMultiHeadAttention, ChecksItsInputs) {
  const Tensor x = random({3, 6}), places = offsets({1, 2}, 2), begins = starts({1, 2});
  const auto error = [&](std::vector<Tensor> inputs, const Attributes& attributes = kThreeHeads) -> std::string {
    try {
      OpRun("com.microsoft", "PackedMultiHeadAttention", attributes, std::move(inputs), 1).run();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      return e.what();
    }
    return "no error";
  };
  const auto expect = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(error({x, x, x, kNone, places, begins}), "no error");
  expect(error({x, x, x, kNone, places, begins}, {{"num_heads", int64_t(0)}}), "num_heads is 0");
  expect(error({x, x, x, kNone, places, begins}, {{"num_heads", int64_t(4)}}), "rows of 6 elements for 4 heads");
  expect(error({x, x, kNone, kNone, places, begins}), "key is given, value missing");
  expect(error({x, kNone, kNone, kNone, places, begins}), "expected [tokens,3,3,size]");
  expect(error({random({3, 3, 2, 2}), kNone, kNone, kNone, places, begins}), "expected [tokens,3,3,size]");
  expect(error({x, random({2, 6}), x, kNone, places, begins}), "key has shape [2,6], expected [3,6]");
  expect(error({x, x, random({2, 6}), kNone, places, begins}), "value has shape [2,6], expected [3,6]");
  expect(error({x, x, x, random({17}), places, begins}), "bias has shape [17], expected [18]");
  expect(error({x, x, x, kNone, i32({4}, {0, 2, 3, 1}), begins}), "token_offset has shape [4]");
  expect(error({x, x, x, kNone, places, starts({3})}), "cumulative_sequence_length has shape [2], expected [3]");
  expect(error({x, x, x, kNone, places, begins, random({2, 3, 2, 3})}), "attention_bias has shape [2,3,2,3]");
  expect(error({x, x, x, kNone, places, i32({3}, {1, 1, 3})}), "goes from 1 to 3");
  expect(error({x, x, x, kNone, places, i32({3}, {0, 1, 2})}), "the number of tokens, 3");
  expect(error({x, x, x, kNone, places, i32({3}, {0, 4, 3})}),
         "cumulative_sequence_length 2 is 3, after 4; it must not fall");
  expect(error({x, x, x, kNone, places, i32({3}, {0, -1, 3})}), "cumulative_sequence_length 1 is -1, after 0");
  expect(error({x, x, x, kNone, places, i32({3}, {0, 0, 3})}), "sequence 1 has 3 tokens");
  expect(error({x, x, x, kNone, i32({2, 2}, {0, 1, 3, 2}), begins}), "token_offset 1 is 1, expected 2");
  expect(error({x, x, x, kNone, i32({2, 2}, {0, 2, 3, 4}), begins}),
         "token_offset 3 is 4, expected a number from 0 to 3");
  expect(error({x, x, x, kNone, i32({2, 2}, {0, 2, 3, -1}), begins}), "token_offset 3 is -1");
}

}  // namespace
}  // namespace retort::ops
