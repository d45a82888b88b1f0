#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

Tensor q() { return f32({1, 1, 2, 2}, {1, 0, 0, 2}); }
Tensor k() { return f32({1, 1, 3, 2}, {1, 1, 0, 1, 2, 0}); }
Tensor v() { return f32({1, 1, 3, 2}, {1, 2, 3, 4, 5, -6}); }

OpCase small(const char* about, Attributes attributes, const std::vector<float>& y,
             const std::vector<Tensor>& more = {}) {
  OpCase c{.about = about, .attributes = std::move(attributes), .inputs = {q(), k(), v()}};
  c.inputs.insert(c.inputs.end(), more.begin(), more.end());
  c.outputs = {f32({1, 1, 2, 2}, y)};
  return c;
}
OpCase scores(int64_t mode, Attributes attributes, const std::vector<float>& expected) {
  OpCase c = small("intermediate scores", std::move(attributes), {}, {});
  c.attributes.set("qk_matmul_output_mode", mode);
  c.outputs = {{}, {}, {}, f32({1, 1, 2, 3}, expected)};
  return c;
}

const std::vector<float> kPlainResult{3.58395987f, -2.32774427f, 2.32515036f, 2.02454893f};
const std::vector<float> kCausal{1.53788284f, 2.53788284f, 2.19013681f, 2.42958956f};

// Batch 2, 6 heads of Q for 2 of K, and sizes that are not multiples of a vector.
OpCase large(const char* about, Attributes attributes, int64_t rows, int64_t keys, int64_t past,
             std::vector<Tensor> masks = {}) {
  OpCase c{.about = about, .attributes = std::move(attributes), .fixed_types = true};
  c.inputs = {random({2, 6, rows, 19}, 1, -1, 1), random({2, 2, keys, 19}, 2, -1, 1), random({2, 2, keys, 35}, 3)};
  c.inputs.resize(7);
  if (past) {
    c.inputs[4] = random({2, 2, past, 19}, 4, -1, 1);
    c.inputs[5] = random({2, 2, past, 35}, 5);
  }
  if (!masks.empty()) c.inputs[3] = masks[0];
  if (masks.size() > 1) c.inputs[6] = masks[1];
  c.output_count = past ? 3 : 1;
  return c;
}
Tensor mask_flags(Shape shape) {
  return cast_to(cast_to(random(std::move(shape), 9, 0, 1.5), DType::i32), DType::boolean);
}

const OpTest attention_examples(
    "Attention",
    {small("the scale follows from the size of a head", {}, kPlainResult),
     small("a given scale", {{"scale", 1.0f}}, {3.84102497f, -3.1418665f, 2.19013681f, 2.42958956f}),
     small("a scale of zero: the mean of the values", {{"scale", 0.0f}}, {3, 0, 3, 0}),
     small("a bias on the scores", {{"scale", 1.0f}}, {4.79875141f, -5.55923806f, 3, -1.06782558f},
           {f32({1, 3}, {0, -1, 2})}),
     small("scores are capped", {{"scale", 1.0f}, {"softcap", 0.5f}},
           {3.0135144f, -0.62105359f, 2.69826926f, 0.905192226f}),
     small("true flags show", {{"scale", 1.0f}}, {5, -6, 2, 3},
           {booleans({2, 3}, {false, false, true, true, true, false})}),
     small("a query that sees no key gives zeros", {}, {0, 0, 1, 2},
           {booleans({2, 3}, {false, false, false, true, false, false})}),
     small("-inf also hides", {}, {0, 0, 1, 2}, {f32({2, 3}, {-kInf, -kInf, -kInf, 0, -kInf, -kInf})}),
     small("keys that a short mask does not reach are hidden", {}, {1, 2, 1, 2}, {f32({2, 2}, {0, -kInf, 0, -kInf})}),
     {.about = "causal after one past key",
      .attributes = {{"scale", 1.0f}, {"is_causal", int64_t(1)}},
      .inputs = {q(),
                 f32({1, 1, 2, 2}, {0, 1, 2, 0}),
                 f32({1, 1, 2, 2}, {3, 4, 5, -6}),
                 {},
                 f32({1, 1, 1, 2}, {1, 1}),
                 f32({1, 1, 1, 2}, {1, 2})},
      .outputs = {f32({1, 1, 2, 2}, kCausal), k(), v()}},
     {.about = "padded keys do not count",
      .inputs = {q(), k(), v(), {}, {}, {}, i64({1}, {1})},
      .outputs = {f32({1, 1, 2, 2}, {1, 2, 1, 2})}},
     {.about = "packed heads",
      .attributes = {{"q_num_heads", int64_t(2)}, {"kv_num_heads", int64_t(1)}, {"scale", 1.0f}},
      .inputs = {f32({1, 1, 4}, {1, 0, 0, 2}), k().reshaped({1, 3, 2}), v().reshaped({1, 3, 2})},
      .outputs = {f32({1, 1, 4}, {3.84102497f, -3.1418665f, 2.19013681f, 2.42958956f})}},
     scores(0, {}, {0.707106781f, 0, 1.41421356f, 1.41421356f, 1.41421356f, 0}),
     scores(1, {{"scale", 1.0f}, {"softcap", 0.5f}}, {0.48201379f, 0, 0.49966465f, 0.49966465f, 0.49966465f, 0}),
     scores(3, {}, {0.28399541f, 0.140029245f, 0.575975345f, 0.445808274f, 0.445808274f, 0.108383452f}),
     {.about = "no queries", .inputs = {f32({1, 1, 0, 2}, {}), k(), v()}, .outputs = {f32({1, 1, 0, 2}, {}), k(), v()}},
     {.about = "no keys: zeros",
      .inputs = {q(), f32({1, 1, 0, 2}, {}), f32({1, 1, 0, 2}, {})},
      .outputs = {f32({1, 1, 2, 2}, {0, 0, 0, 0})}},
     large("blocks of queries", {}, 101, 77, 0),
     large("blocks of queries, causal, with a past", {{"is_causal", int64_t(1)}}, 53, 53, 24),
     large("few queries", {}, 1, 77, 0),
     large("a step of generation", {{"is_causal", int64_t(1)}}, 1, 1, 40),
     large("a window", {{"left_window_size", int64_t(5)}, {"right_window_size", int64_t(2)}}, 61, 61, 0),
     large("a window in few queries", {{"left_window_size", int64_t(3)}}, 2, 2, 40),
     large("capped", {{"softcap", 0.75f}}, 21, 33, 0),
     large("a bias for each head", {}, 21, 33, 0, {random({2, 6, 21, 33}, 8)}),
     large("a bias for each key", {}, 2, 33, 0, {random({2, 1, 1, 33}, 8)}),
     large("a bias for each query", {}, 21, 33, 0, {random({1, 6, 21, 1}, 8)}),
     large("a bias in half precision", {}, 21, 33, 0, {cast_to(random({21, 33}, 8), DType::f16)}),
     large("flags", {}, 21, 33, 0, {mask_flags({2, 1, 21, 33})}),
     large("a past that is copied past the caches", {{"is_causal", int64_t(1)}}, 2, 2, 3463),
     large("flags and a past", {}, 2, 3, 30, {mask_flags({2, 33})}),
     large("padded", {}, 21, 33, 0, {{}, i64({2}, {7, 33})})},
    {.tolerance = 8});

const OpTest rotary(
    "RotaryEmbedding",
    {{.about = "the halves of a head are rotated",
      .inputs = {f32({1, 1, 1, 4}, {1, 2, 3, 4}), f32({1, 1, 2}, {0, 0.5f}), f32({1, 1, 2}, {1, 0.25f})},
      .outputs = {f32({1, 1, 1, 4}, {-3, 0, 1, 2.5f})}},
     {.about = "neighbours are rotated",
      .attributes = {{"interleaved", int64_t(1)}},
      .inputs = {f32({1, 1, 1, 4}, {1, 2, 3, 4}), f32({1, 1, 2}, {0, 0.5f}), f32({1, 1, 2}, {1, 0.25f})},
      .outputs = {f32({1, 1, 1, 4}, {-2, 1, 0.5f, 2.75f})}},
     {.about = "the rest of a head is unchanged, angles follow position ids",
      .attributes = {{"rotary_embedding_dim", int64_t(2)}, {"num_heads", int64_t(1)}},
      .inputs = {f32({1, 2, 3}, {1, 2, 3, 4, 5, 6}), f32({2, 1}, {1, 0}), f32({2, 1}, {0, 1}), i64({1, 2}, {1, 0})},
      .outputs = {f32({1, 2, 3}, {-2, 1, 3, 4, 5, 6})}},
     {.about = "several packed heads",
      .attributes = {{"num_heads", int64_t(3)}},
      .inputs = {random({2, 5, 24}), random({5, 4}, 2, -1, 1), random({5, 4}, 3, -1, 1),
                 i64({2, 5}, {0, 1, 2, 3, 4, 4, 3, 2, 1, 0})}},
     {.about = "several separate heads",
      .attributes = {{"interleaved", int64_t(1)}, {"rotary_embedding_dim", int64_t(6)}},
      .inputs = {random({2, 3, 5, 8}), random({2, 5, 3}, 2, -1, 1), random({2, 5, 3}, 3, -1, 1)}},
     {.about = "batches that share their angles",
      .inputs = {random({3, 2, 5, 8}), random({1, 5, 4}, 2, -1, 1), random({1, 5, 4}, 3, -1, 1)}},
     {.about = "packed heads of batches that share their angles",
      .attributes = {{"num_heads", int64_t(2)}},
      .inputs = {f32({2, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}), f32({1, 2, 1}, {0, 1}),
                 f32({1, 2, 1}, {1, 0})},
      .outputs = {f32({2, 2, 4}, {-2, 1, -4, 3, 5, 6, 7, 8, -2, 1, -4, 3, 5, 6, 7, 8})}},
     {.about = "no rows",
      .inputs = {f32({1, 2, 0, 4}, {}), f32({1, 0, 2}, {}), f32({1, 0, 2}, {})},
      .outputs = {f32({1, 2, 0, 4}, {})}}});

// Caches are those of all batches if their first extent is 1 and they have a row for each row of x.
TEST(RotaryEmbedding, RefusesCachesOfOtherRows) {
  const auto run = [](int64_t batch, int64_t rows, const Shape& caches) {
    OpRun("", "RotaryEmbedding", {}, {random({batch, 1, rows, 4}), random(caches), random(caches)}, 1).run();
  };
  EXPECT_NO_THROW(run(2, 4, {1, 4, 2}));
  EXPECT_THROW(run(2, 4, {2, 2, 2}), Error);
  EXPECT_THROW(run(2, 4, {1, 3, 2}), Error);
  EXPECT_THROW(run(2, 4, {4, 2}), Error);
  EXPECT_THROW(run(2, 1, {1, 2}), Error);
}

TEST(Attention, RefusesAMaskOfIntegers) {
  OpRun run("", "Attention", {}, {q(), k(), v(), i64({2, 3}, {0, 1, 0, 1, 0, 1})}, 1);
  try {
    run.run();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("a mask of int64; let it be booleans"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace retort::ops
