// Attention in bfloat16 arithmetic (AttentionShape::rounds), and when an operator has it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/gemm/without_tiles.h"
#include "ops/nn/common/attention.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

struct Case {
  size_t rows, keys, heads = 1, kv_heads = 1, size = 64, v_size = 64, past = 0;
  bool causal = false, hides = false, biased = false, sink = false;
};

/// Queries, keys and values of a case, and its masks. Numbers that are rounded before have more bits than bfloat16.
class Inputs {
 public:
  explicit Inputs(const Case& c) : c_(c) {
    s_.batch = 2;
    s_.q_heads = c.heads;
    s_.kv_heads = c.kv_heads;
    s_.q_len = c.rows;
    s_.new_len = c.keys;
    s_.past_len = c.past;
    s_.head_size = c.size;
    s_.v_head_size = c.v_size;
    s_.q = packed_heads(c.rows, c.heads, c.size);
    s_.k = split_heads(c.keys, c.kv_heads, c.size);
    s_.v = packed_heads(c.keys, c.kv_heads, c.v_size);
    s_.y = packed_heads(c.rows, c.heads, c.v_size);
    q_ = numbers(c.rows * c.heads * c.size, 1);
    k_ = numbers(c.keys * c.kv_heads * c.size, 2);
    v_ = numbers(c.keys * c.kv_heads * c.v_size, 3);
    past_k_ = numbers(c.past * c.kv_heads * c.size, 4);
    past_v_ = numbers(c.past * c.kv_heads * c.v_size, 5);
    const size_t scores = c.rows * s_.total();
    bias_ = numbers(scores, 6);
    flags_ = std::make_unique<bool[]>(scores);
    for (size_t i = 0; i < scores; ++i) flags_[i] = i % 5 != 2;
  }

  void round() {
    for (auto* all : {&q_, &k_, &v_, &past_k_, &past_v_})
      for (float& x : *all) x = float(bfloat16(x));
  }
  std::vector<float>& values() { return v_; }
  size_t outputs() const { return 2 * c_.rows * c_.heads * c_.v_size; }

  std::vector<float> reference() const {
    std::vector<float> y(outputs());
    attention_reference(s_, data(y), rule());
    return y;
  }
  std::vector<float> run(bool rounds, const Parallel& parallel = {}) const {
    constexpr size_t kBehind = 64;
    AttentionShape s = s_;
    s.rounds = rounds;
    const size_t bytes = attention_scratch(s, false, false, parallel.workers());
    const size_t floats = (bytes + sizeof(float) - 1) / sizeof(float);
    std::vector<float> y(outputs(), std::numeric_limits<float>::quiet_NaN()), memory(floats + kBehind + 16, 7.0f);
    void* scratch = memory.data();
    size_t space = memory.size() * sizeof(float);
    std::align(64, bytes, scratch, space);
    attention_fast(s, data(y), rule(), scratch, parallel);
    for (size_t i = 0; i < kBehind; ++i) EXPECT_EQ(static_cast<float*>(scratch)[floats + i], 7.0f) << i;
    return y;
  }

 private:
  std::vector<float> numbers(size_t each, uint32_t seed) const {
    std::vector<float> all(2 * each);
    uint32_t state = seed;
    for (float& x : all) {
      state = state * 1664525u + 1013904223u;
      x = float(int32_t(state)) * 0x1p-31f;
    }
    return all;
  }
  AttentionData<float> data(std::vector<float>& y) const {
    AttentionData<float> d{.q = q_.data(), .k = k_.data(), .v = v_.data(), .y = y.data()};
    if (c_.past > 0) d.past_k = past_k_.data();
    if (c_.past > 0) d.past_v = past_v_.data();
    return d;
  }
  ScoreRule rule() const {
    ScoreRule r;
    r.scale = 0.5;
    r.causal = c_.causal;
    r.sink = c_.sink;
    const auto over_scores = [&](ScoreOperand& o, const void* from, DType type) {
      o.data = from;
      o.dtype = type;
      o.strides[2] = s_.total();
      o.strides[3] = 1;
    };
    if (c_.biased) over_scores(r.bias, bias_.data(), DType::f32);
    if (c_.hides) over_scores(r.flags, flags_.get(), DType::boolean);
    return r;
  }

  Case c_;
  AttentionShape s_;
  std::vector<float> q_, k_, v_, past_k_, past_v_, bias_;
  std::unique_ptr<bool[]> flags_;
};

const Case kCases[] = {
    {.rows = 9, .keys = 9},
    {.rows = 64, .keys = 64, .heads = 3, .kv_heads = 3},
    {.rows = 65, .keys = 33, .heads = 2, .kv_heads = 1},
    {.rows = 197, .keys = 197, .heads = 2, .kv_heads = 2},
    {.rows = 21, .keys = 5, .size = 19, .v_size = 35},
    {.rows = 130, .keys = 130, .heads = 4, .kv_heads = 2, .causal = true},
    {.rows = 31, .keys = 31, .heads = 6, .kv_heads = 2, .size = 7, .v_size = 66, .past = 40, .causal = true},
    {.rows = 33, .keys = 63, .hides = true},
    {.rows = 33, .keys = 63, .hides = true, .biased = true},
    {.rows = 12, .keys = 1200, .biased = true, .sink = true},
    {.rows = 10, .keys = 1},
};

bool can_round() { return kernels::has_bf16_products(); }

/// Calls check(case) for each case; where there is AMX, again without it.
template <class Check>
void check_cases(const Check& check) {
  if (!can_round()) GTEST_SKIP() << "this processor has no bfloat16 arithmetic";
  for (const Case& c : kCases) {
    SCOPED_TRACE(::testing::Message() << c.rows << " x " << c.keys << " after " << c.past);
    check(c);
    if (!kernels::has_bf16_tiles()) continue;
    const kernels::testing::WithoutTiles without;
    check(c);
  }
}

/// The weights of the softmax are rounded too: each changes by 2^-9 of its value at most.
TEST(RoundedAttention, IsTheReferenceOfRoundedInputs) {
  check_cases([](const Case& c) {
    Inputs inputs(c);
    const std::vector<float> got = inputs.run(true), exact = inputs.reference();
    inputs.round();
    const std::vector<float> want = inputs.reference();
    float most = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 0x1p-9 + 1e-4) << i;
      most = std::max(most, std::abs(got[i] - exact[i]));
    }
    EXPECT_GT(most, 1e-4) << "nothing was rounded";
  });
}

TEST(RoundedAttention, ThreadsDoNotChangeBits) {
  check_cases([](const Case& c) {
    const Inputs inputs(c);
    const std::vector<float> alone = inputs.run(true);
    ThreadPool pool({.threads = 3});
    const std::vector<float> together = inputs.run(true, Parallel(&pool, nullptr));
    EXPECT_EQ(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)), 0) << c.rows;
  });
}

/// A query must not see what lies in keys and values that come later, in whose pairs and panels its own end.
TEST(RoundedAttention, LaterValuesDoNotCount) {
  if (!can_round()) GTEST_SKIP() << "this processor has no bfloat16 arithmetic";
  for (const size_t rows : {9, 64, 65, 128}) {
    Inputs inputs({.rows = rows, .keys = 200, .causal = true});
    const std::vector<float> want = inputs.run(true);
    const size_t row = 64;  // of values
    for (size_t j = (rows + 1) / 2 * 2; j < 200; ++j)
      std::fill_n(inputs.values().begin() + long(j * row), row, std::numeric_limits<float>::quiet_NaN());
    const std::vector<float> got = inputs.run(true);
    EXPECT_EQ(std::memcmp(want.data(), got.data(), want.size() / 2 * sizeof(float)), 0) << rows;
  }
}

/// A few queries are computed in float32.
TEST(RoundedAttention, FewQueriesAreNotRounded) {
  const Inputs inputs({.rows = 4, .keys = 50, .heads = 2, .kv_heads = 1});
  EXPECT_EQ(inputs.run(true), inputs.run(false));
}

TEST(RoundedAttention, ASessionAsksForIt) {
  const Parallel parallel;
  const PrepareContext plain({}, {}, parallel, {}), asks({}, {}, parallel, {.bf16_products = true});
  EXPECT_EQ(prepare_attention(plain), nullptr);
  EXPECT_EQ(prepare_attention(asks) != nullptr, can_round());
}

}  // namespace
}  // namespace retort::ops
