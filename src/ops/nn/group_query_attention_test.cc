#include <cmath>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

Attributes heads(int64_t q, int64_t kv, Attributes more = {}) {
  more.set("num_heads", q);
  more.set("kv_num_heads", kv);
  return more;
}
const Tensor kNone;

const OpTest group_query_attention(
    "GroupQueryAttention",
    {{.about = "each row of the batch continues at the end of its own past",
      .attributes = heads(1, 1),
      .inputs = {f32({2, 1, 1}, {0, 0}), f32({2, 1, 1}, {0, 0}), f32({2, 1, 1}, {5, 6}),
                 f32({2, 1, 2, 1}, {0, 0, 0, 0}), f32({2, 1, 2, 1}, {3, 99, 1, 2}), i32({2}, {1, 2}), i32({}, {3})},
      .outputs = {f32({2, 1, 1}, {4, 3}), f32({2, 1, 3, 1}, {0, 0, 0, 0, 0, 0}),
                  f32({2, 1, 3, 1}, {3, 5, 0, 1, 2, 6})}},
     {.about = "packed Q, K and V, a window of two keys, a prompt",
      .attributes = heads(2, 1, {{"local_window_size", int64_t(2)}}),
      .inputs = {f32({1, 3, 4}, {0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 8}), kNone, kNone, kNone, kNone, i32({1}, {2}),
                 i32({1}, {3})},
      .outputs = {f32({1, 3, 2}, {1, 1, 2, 2, 5.5, 5.5}), f32({1, 1, 3, 1}, {0, 0, 0}), f32({1, 1, 3, 1}, {1, 3, 8})}},
     {.about = "a second prompt: rows see the past and those before them",
      .attributes = heads(1, 1),
      .inputs = {f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {4, 9}), f32({1, 1, 1, 1}, {0}),
                 f32({1, 1, 1, 1}, {2}), i32({1}, {2}), i32({1}, {3})},
      .outputs = {f32({1, 2, 1}, {3, 5}), f32({1, 1, 3, 1}, {0, 0, 0}), f32({1, 1, 3, 1}, {2, 4, 9})}},
     {.about = "not causal",
      .attributes = heads(1, 1, {{"causal", int64_t(0)}}),
      .inputs = {f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {4, 9}), kNone, kNone, i32({1}, {1}),
                 i32({1}, {2})},
      .outputs = {f32({1, 2, 1}, {6.5, 6.5}), kNone, kNone}},
     {.about = "a sink takes half of the weight",
      .attributes = heads(1, 1, {{"smooth_softmax", int64_t(1)}}),
      .inputs = {f32({1, 1, 1}, {0}), f32({1, 1, 1}, {0}), f32({1, 1, 1}, {4}), kNone, kNone, i32({1}, {0}),
                 i32({1}, {1})},
      .outputs = {f32({1, 1, 1}, {2}), f32({1, 1, 1, 1}, {0}), f32({1, 1, 1, 1}, {4})}},
     {.about = "given sinks: none and e^-inf",
      .attributes = heads(2, 1),
      .inputs = {f32({1, 1, 2}, {0, 0}), f32({1, 1, 1}, {0}), f32({1, 1, 1}, {4}), kNone, kNone, i32({1}, {0}),
                 i32({1}, {1}), kNone, kNone, kNone, kNone, f32({2}, {0, -INFINITY})},
      .outputs = {f32({1, 1, 2}, {2, 4}), kNone, kNone}},
     {.about = "keys are rotated before they are stored in the cache",
      .attributes = heads(1, 1, {{"do_rotary", int64_t(1)}, {"scale", 1.0f}}),
      .inputs = {f32({1, 2, 2}, {1, 0, 1, 0}), f32({1, 2, 2}, {1, 0, 1, 0}), f32({1, 2, 2}, {0, 0, 1, 2}), kNone, kNone,
                 i32({1}, {1}), i32({1}, {2}), f32({2, 1}, {1, 0}), f32({2, 1}, {0, 1})},
      .outputs = {f32({1, 2, 2}, {0, 0, 0.7310586f, 1.4621172f}), f32({1, 1, 2, 2}, {1, 0, 0, 1}),
                  f32({1, 1, 2, 2}, {0, 0, 1, 2})}},
     {.about = "given positions, scores after the softmax",
      .attributes = heads(1, 1, {{"do_rotary", int64_t(1)}, {"scale", 1.0f}, {"qk_output", int64_t(2)}}),
      .inputs = {f32({1, 2, 2}, {1, 0, 1, 0}), f32({1, 2, 2}, {1, 0, 1, 0}), f32({1, 2, 2}, {0, 0, 1, 2}), kNone, kNone,
                 i32({1}, {1}), i32({1}, {2}), f32({2, 1}, {1, 0}), f32({2, 1}, {0, 1}), i64({1, 2}, {1, 1})},
      .outputs = {f32({1, 2, 2}, {0, 0, 0.5f, 1}), f32({1, 1, 2, 2}, {0, 1, 0, 1}), kNone,
                  f32({1, 1, 2, 2}, {1, 0, 0.5f, 0.5f})}},
     {.about = "many rows, all options",
      .attributes = heads(4, 2,
                          {{"do_rotary", int64_t(1)},
                           {"rotary_interleaved", int64_t(1)},
                           {"local_window_size", int64_t(20)},
                           {"softcap", 3.0f}}),
      .inputs = {random({2, 50, 64}, 1, -1, 1), random({2, 50, 32}, 2, -1, 1), random({2, 50, 32}, 3), kNone, kNone,
                 i32({2}, {49, 49}), i32({1}, {50}), random({60, 4}, 4, -1, 1), random({60, 4}, 5, -1, 1), kNone,
                 random({1, 4, 50, 50}, 6), random({4}, 7)},
      .output_count = 3},
     {.about = "few rows, all options",
      .attributes = heads(6, 2, {{"softcap", 3.0f}}),
      .inputs = {random({2, 1, 160}, 1, -1, 1), kNone, kNone, random({2, 2, 40, 16}, 2, -1, 1),
                 random({2, 2, 40, 16}, 3), i32({2}, {30, 17}), i32({1}, {31}), kNone, kNone, kNone,
                 random({2, 1, 1, 31}, 6), random({6}, 7)},
      .output_count = 3}},
    {.domain = "com.microsoft", .tolerance = 4});

}  // namespace
}  // namespace retort::ops
