#include "ops/op_test.h"

namespace retort::ops {
namespace {

Attributes heads(int64_t q, int64_t kv, int64_t block, Attributes more = {}) {
  more.set("num_heads", q);
  more.set("kv_num_heads", kv);
  more.set("sparse_block_size", block);
  return more;
}

// Queries and keys of 0: the result is the mean of the values that a query sees.
const OpTest sparse_attention(
    "SparseAttention",
    {{.about = "a prompt: queries see the blocks of their row; the rest of the cache stays",
      .attributes = heads(1, 1, 1),
      .inputs = {f32({1, 3, 1}, {0, 0, 0}), f32({1, 3, 1}, {0, 0, 0}), f32({1, 3, 1}, {1, 2, 6}),
                 f32({1, 1, 4, 1}, {9, 9, 9, 9}), f32({1, 1, 4, 1}, {9, 9, 9, 9}), i32({1, 5}, {0, 1, 2, 4, 5}),
                 i32({1, 5}, {0, 1, 0, 2, 3}), i32({1}, {3}), i32({1}, {3})},
      .outputs = {f32({1, 3, 1}, {1, 2, 3.5f}), f32({1, 1, 4, 1}, {0, 0, 0, 9}), f32({1, 1, 4, 1}, {1, 2, 6, 9})}},
     {.about = "a row with as many blocks as a dense one is dense, whatever the columns say",
      .attributes = heads(1, 1, 1),
      .inputs = {f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {1, 3}), f32({1, 1, 2, 1}, {0, 0}),
                 f32({1, 1, 2, 1}, {0, 0}), i32({1, 3}, {0, 0, 2}), i32({1, 2}, {1, 1}), i32({1}, {2}), i32({1}, {2})},
      .outputs = {f32({1, 2, 1}, {1, 2}), kNone, kNone}},
     {.about = "a query that sees no block sees all keys before it",
      .attributes = heads(1, 1, 1),
      .inputs = {f32({1, 2, 1}, {0, 5}), f32({1, 2, 1}, {1, 2}), f32({1, 2, 1}, {1, 3}), f32({1, 1, 3, 1}, {0, 0, 0}),
                 f32({1, 1, 3, 1}, {0, 0, 0}), i32({1, 4}, {0, 1, 1, 2}), i32({1, 2}, {0, 2}), i32({1}, {2}),
                 i32({1}, {2})},
      .outputs = {f32({1, 2, 1}, {1, 2}), kNone, kNone}},
     {.about = "packed Q, K and V, after pasts of different lengths; each head has a layout of its own",
      .attributes = heads(2, 1, 2),
      .inputs = {f32({2, 1, 4}, {0, 0, 0, 8, 0, 0, 0, 5}), kNone, kNone, f32({2, 1, 4, 1}, {0, 0, 0, 0, 0, 0, 0, 0}),
                 f32({2, 1, 4, 1}, {1, 3, 4, 99, 1, 99, 99, 99}), i32({2, 3}, {0, 1, 2, 0, 1, 3}),
                 i32({2, 3}, {0, 1, 0, 0, 0, 1}), i32({1}, {4}), i32({2}, {4, 2})},
      .outputs = {f32({2, 1, 2}, {6, 4, 3, 3}), kNone, f32({2, 1, 4, 1}, {1, 3, 4, 8, 1, 5, 99, 99})}},
     {.about = "a prompt of different lengths",
      .attributes = heads(1, 1, 1),
      .inputs = {f32({2, 2, 1}, {0, 0, 0, 0}), f32({2, 2, 1}, {0, 0, 0, 0}), f32({2, 2, 1}, {1, 3, 5, 7}),
                 f32({2, 1, 2, 1}, {0, 0, 0, 0}), f32({2, 1, 2, 1}, {0, 0, 0, 0}), i32({1, 3}, {0, 1, 2}),
                 i32({1, 2}, {0, 1}), i32({}, {2}), i32({2}, {2, 1})},
      .outputs = {kNone, kNone, f32({2, 1, 2, 1}, {1, 3, 5, 7})}},
     {.about = "keys are rotated before they are stored in the cache",
      .attributes = heads(1, 1, 1, {{"do_rotary", int64_t(1)}, {"scale", 1.0f}}),
      .inputs = {f32({1, 2, 2}, {1, 0, 1, 0}), f32({1, 2, 2}, {1, 0, 1, 0}), f32({1, 2, 2}, {0, 0, 1, 2}),
                 f32({1, 1, 2, 2}, {0, 0, 0, 0}), f32({1, 1, 2, 2}, {0, 0, 0, 0}), i32({1, 3}, {0, 1, 3}),
                 i32({1, 3}, {0, 0, 1}), i32({1}, {2}), i32({1}, {2}), f32({2, 1}, {1, 0}), f32({2, 1}, {0, 1})},
      .outputs = {f32({1, 2, 2}, {0, 0, 0.7310586f, 1.4621172f}), f32({1, 1, 2, 2}, {1, 0, 0, 1}),
                  f32({1, 1, 2, 2}, {0, 0, 1, 2})}},
     {.about = "many rows, two layouts",
      .attributes = heads(4, 2, 8, {{"do_rotary", int64_t(1)}, {"rotary_interleaved", int64_t(1)}, {"scale", 0.5f}}),
      .inputs = {random({2, 30, 64}, 1, -1, 1), random({2, 30, 32}, 2, -1, 1), random({2, 30, 32}, 3),
                 random({2, 2, 40, 16}, 4), random({2, 2, 40, 16}, 5),
                 i32({2, 6}, {0, 1, 3, 5, 7, 9, 0, 1, 2, 3, 5, 6}),
                 i32({2, 9}, {0, 0, 1, 1, 2, 0, 3, 3, 4, 0, 1, 2, 1, 3, 4, 0, 0, 0}), i32({1}, {30}),
                 i32({2}, {30, 30}), random({60, 4}, 6, -1, 1), random({60, 4}, 7, -1, 1)},
      .output_count = 3},
     {.about = "one row after others",
      .attributes = heads(6, 2, 16),
      .inputs = {random({2, 1, 160}, 1, -1, 1), kNone, kNone, random({2, 2, 40, 16}, 2, -1, 1),
                 random({2, 2, 40, 16}, 3), i32({3, 3}, {0, 1, 2, 0, 1, 3, 0, 0, 1}),
                 i32({3, 3}, {0, 1, 0, 0, 0, 1, 0, 0, 0}), i32({1}, {31}), i32({2}, {31, 12})},
      .output_count = 3}},
    {.domain = "com.microsoft", .tolerance = 4});

}  // namespace
}  // namespace retort::ops
