#include <cmath>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

Attributes heads(int64_t q, int64_t kv, Attributes more = {}) {
  more.set("num_heads", q);
  more.set("kv_num_heads", kv);
  return more;
}
Attributes codes(const char* type, int64_t bits) {
  return {{"k_quant_type", std::string(type)}, {"v_quant_type", std::string(type)}, {"kv_cache_bit_width", bits}};
}
Tensor i8(Shape shape, const std::vector<int8_t>& values) { return Tensor::of(std::move(shape), values); }
Tensor halves(Shape shape, const std::vector<float>& values) {
  return cast_to(f32(std::move(shape), values), DType::f16);
}

std::vector<OpCase> of_all_tokens() {
  return {
      {.about = "each row of the batch continues at the end of its own past",
       .attributes = heads(1, 1),
       .inputs = {f32({2, 1, 1}, {0, 0}), f32({2, 1, 1}, {0, 0}), f32({2, 1, 1}, {5, 6}),
                  f32({2, 1, 2, 1}, {0, 0, 0, 0}), f32({2, 1, 2, 1}, {3, 99, 1, 2}), i32({2}, {1, 2}), i32({}, {3})},
       .outputs = {f32({2, 1, 1}, {4, 3}), f32({2, 1, 3, 1}, {0, 0, 0, 0, 0, 0}),
                   f32({2, 1, 3, 1}, {3, 5, 0, 1, 2, 6})}},
      {.about = "packed Q, K and V, a window of two keys, a prompt",
       .attributes = heads(2, 1, {{"local_window_size", int64_t(2)}}),
       .inputs = {f32({1, 3, 4}, {0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 8}), kNone, kNone, kNone, kNone, i32({1}, {2}),
                  i32({1}, {3})},
       .outputs = {f32({1, 3, 2}, {1, 1, 2, 2, 5.5, 5.5}), f32({1, 1, 3, 1}, {0, 0, 0}), f32({1, 1, 3, 1}, {1, 3, 8})},
       .fixed_types = true},
      {.about = "a second prompt: rows see the past and those before them",
       .attributes = heads(1, 1),
       .inputs = {f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {4, 9}), f32({1, 1, 1, 1}, {0}),
                  f32({1, 1, 1, 1}, {2}), i32({1}, {2}), i32({1}, {3})},
       .outputs = {f32({1, 2, 1}, {3, 5}), f32({1, 1, 3, 1}, {0, 0, 0}), f32({1, 1, 3, 1}, {2, 4, 9})}},
      {.about = "a total length below that of an entry, which fits into the cache",
       .attributes = heads(1, 1),
       .inputs = {f32({1, 1, 1}, {0}), f32({1, 1, 1}, {0}), f32({1, 1, 1}, {6}), f32({1, 1, 3, 1}, {0, 0, 0}),
                  f32({1, 1, 3, 1}, {1, 2, 99}), i32({1}, {2}), i32({}, {2})},
       .outputs = {f32({1, 1, 1}, {3}), f32({1, 1, 3, 1}, {0, 0, 0}), f32({1, 1, 3, 1}, {1, 2, 6})}},
      {.about = "a prompt whose entry is longer than its rows",
       .attributes = heads(1, 1),
       .inputs = {f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {4, 9}), f32({1, 1, 3, 1}, {0, 0, 0}),
                  f32({1, 1, 3, 1}, {1, 2, 3}), i32({1}, {2}), i32({}, {2})},
       .outputs = {f32({1, 2, 1}, {4, 6.5f}), f32({1, 1, 3, 1}, {0, 0, 0}), f32({1, 1, 3, 1}, {4, 9, 0})}},
      {.about = "not causal",
       .attributes = heads(1, 1, {{"causal", int64_t(0)}}),
       .inputs = {f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {0, 0}), f32({1, 2, 1}, {4, 9}), kNone, kNone, i32({1}, {1}),
                  i32({1}, {2})},
       .outputs = {f32({1, 2, 1}, {6.5, 6.5}), kNone, kNone}},
      {.about = "a sink takes half of the weight",
       .attributes = heads(1, 1, {{"smooth_softmax", int64_t(1)}}),
       .inputs = {f32({1, 1, 1}, {0}), f32({1, 1, 1}, {0}), f32({1, 1, 1}, {4}), kNone, kNone, i32({1}, {0}),
                  i32({1}, {1})},
       .outputs = {f32({1, 1, 1}, {2}), f32({1, 1, 1, 1}, {0}), f32({1, 1, 1, 1}, {4})},
       .fixed_types = true},
      {.about = "given sinks: none and e^-inf",
       .attributes = heads(2, 1),
       .inputs = {f32({1, 1, 2}, {0, 0}), f32({1, 1, 1}, {0}), f32({1, 1, 1}, {4}), kNone, kNone, i32({1}, {0}),
                  i32({1}, {1}), kNone, kNone, kNone, kNone, f32({2}, {0, -INFINITY})},
       .outputs = {f32({1, 1, 2}, {2, 4}), kNone, kNone}},
      {.about = "keys are rotated before they are stored in the cache",
       .attributes = heads(1, 1, {{"do_rotary", int64_t(1)}, {"scale", 1.0f}}),
       .inputs = {f32({1, 2, 2}, {1, 0, 1, 0}), f32({1, 2, 2}, {1, 0, 1, 0}), f32({1, 2, 2}, {0, 0, 1, 2}), kNone,
                  kNone, i32({1}, {1}), i32({1}, {2}), f32({2, 1}, {1, 0}), f32({2, 1}, {0, 1})},
       .outputs = {f32({1, 2, 2}, {0, 0, 0.7310586f, 1.4621172f}), f32({1, 1, 2, 2}, {1, 0, 0, 1}),
                   f32({1, 1, 2, 2}, {0, 0, 1, 2})},
       .fixed_types = true},
      {.about = "given positions, scores after the softmax",
       .attributes = heads(1, 1, {{"do_rotary", int64_t(1)}, {"scale", 1.0f}, {"qk_output", int64_t(2)}}),
       .inputs = {f32({1, 2, 2}, {1, 0, 1, 0}), f32({1, 2, 2}, {1, 0, 1, 0}), f32({1, 2, 2}, {0, 0, 1, 2}), kNone,
                  kNone, i32({1}, {1}), i32({1}, {2}), f32({2, 1}, {1, 0}), f32({2, 1}, {0, 1}), i64({1, 2}, {1, 1})},
       .outputs = {f32({1, 2, 2}, {0, 0, 0.5f, 1}), f32({1, 1, 2, 2}, {0, 1, 0, 1}), kNone,
                   f32({1, 1, 2, 2}, {1, 0, 0.5f, 0.5f})},
       .fixed_types = true},
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
       .output_count = 3}};
}
std::vector<OpCase> of_other_caches() {
  return {
      {.about = "codes of 8 bits: half to even, and limited to their range",
       .attributes = heads(1, 1, codes("PER_TENSOR", 8)),
       .inputs = {f32({1, 1, 2}, {0, 0}), f32({1, 1, 2}, {0.25f, 0.75f}), f32({1, 1, 2}, {3, -70}),
                  i8({1, 1, 1, 2}, {0, 0}), i8({1, 1, 1, 2}, {2, 4}), i32({1}, {1}), i32({}, {2}), kNone, kNone, kNone,
                  kNone, kNone, f32({1}, {0.5f}), f32({1}, {0.5f})},
       .outputs = {f32({1, 1, 2}, {2, -31}), i8({1, 1, 2, 2}, {0, 0, 0, 2}), i8({1, 1, 2, 2}, {2, 4, 6, -128})}},
      {.about = "codes of 4 bits, two in a byte, a scale for each channel",
       .attributes = heads(1, 1, codes("PER_CHANNEL", 4)),
       .inputs = {f32({1, 1, 2}, {0, 0}), f32({1, 1, 2}, {0, 0}), f32({1, 1, 2}, {3, -9}), u8({1, 1, 0, 1}, {}),
                  u8({1, 1, 0, 1}, {}), i32({1}, {0}), i32({}, {1}), kNone, kNone, kNone, kNone, kNone,
                  f32({1, 1, 1, 2}, {1, 1}), f32({1, 1, 1, 2}, {1, 0.5f})},
       .outputs = {f32({1, 1, 2}, {3, -4}), u8({1, 1, 1, 1}, {0x88}), u8({1, 1, 1, 1}, {0x0b})}},
      {.about = "chunks with rows of padding: only valid rows are stored, each after those of its entry",
       .attributes = heads(1, 1),
       .inputs = {f32({2, 2, 1}, {0, 0, 0, 0}), f32({2, 2, 1}, {0, 0, 0, 0}), f32({2, 2, 1}, {2, 77, 4, 6}),
                  f32({2, 1, 3, 1}, {0, 0, 0, 0, 0, 0}), f32({2, 1, 3, 1}, {10, 98, 99, 97, 96, 95}), i32({2}, {1, 1}),
                  i32({}, {3}), kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, i32({2}, {1, 2})},
       .outputs = {f32({2, 2, 1}, {6, 0, 4, 5}), kNone, f32({2, 1, 3, 1}, {10, 2, 0, 4, 6, 0})}},
      {.about = "a full cache of a window drops as many rows as leave the window",
       .attributes = heads(1, 1, {{"local_window_size", int64_t(2)}, {"sliding_window_cache", int64_t(1)}}),
       .inputs = {f32({1, 1, 1}, {0}), f32({1, 1, 1}, {0}), f32({1, 1, 1}, {5}), f32({1, 1, 4, 1}, {0, 0, 0, 0}),
                  f32({1, 1, 4, 1}, {1, 2, 3, 4}), i32({1}, {4}), i32({}, {5})},
       .outputs = {f32({1, 1, 1}, {4.5f}), kNone, f32({1, 1, 4, 1}, {4, 5, 0, 0})}},
      {.about = "a step that is longer than the cache of a window, and a bias of all positions",
       .attributes = heads(1, 1, {{"local_window_size", int64_t(2)}, {"sliding_window_cache", int64_t(1)}}),
       .inputs = {f32({1, 6, 1}, {0, 0, 0, 0, 0, 0}), f32({1, 6, 1}, {0, 0, 0, 0, 0, 0}),
                  f32({1, 6, 1}, {4, 5, 6, 7, 8, 9}), f32({1, 1, 4, 1}, {0, 0, 0, 0}), f32({1, 1, 4, 1}, {1, 2, 3, 99}),
                  i32({1}, {8}), i32({}, {9}), kNone, kNone, kNone,
                  f32({1, 1, 1, 9}, {0, 0, -INFINITY, 0, 0, 0, 0, 0, 0})},
       .outputs = {f32({1, 6, 1}, {4, 4.5f, 5.5f, 6.5f, 7.5f, 8.5f}), kNone, f32({1, 1, 4, 1}, {7, 8, 9, 0})}},
      {.about = "keys are normed before they are stored",
       .attributes = heads(1, 1),
       .inputs = {f32({1, 1, 2}, {1, 1}), f32({1, 1, 2}, {3, 4}), f32({1, 1, 2}, {1, 2}), kNone, kNone, i32({1}, {0}),
                  i32({}, {1}), kNone, kNone, kNone, kNone, kNone, kNone, kNone, f32({2}, {1, 1}), f32({2}, {1, 2})},
       .outputs = {f32({1, 1, 2}, {1, 2}), f32({1, 1, 1, 2}, {0.8485281f, 2.2627417f}), f32({1, 1, 1, 2}, {1, 2})},
       .fixed_types = true},
      {.about = "all of float16, with tables",
       .attributes = heads(1, 1, {{"do_rotary", int64_t(1)}}),
       .inputs = {halves({1, 1, 2}, {1, 0}), halves({1, 1, 2}, {3, 1}), halves({1, 1, 2}, {1, 2}),
                  halves({1, 1, 1, 2}, {0, 0}), halves({1, 1, 1, 2}, {5, 6}), i32({1}, {1}), i32({}, {2}),
                  halves({2, 1}, {1, 0}), halves({2, 1}, {0, 1})},
       .outputs = {kNone, halves({1, 1, 2, 2}, {0, 0, -1, 3}), halves({1, 1, 2, 2}, {5, 6, 1, 2})},
       .fixed_types = true},
      {.about = "many rows of codes, without present outputs",
       .attributes = heads(4, 2, codes("PER_CHANNEL", 8)),
       .inputs = {random({1, 50, 64}, 1, -1, 1), random({1, 50, 32}, 2, -1, 1), random({1, 50, 32}, 3),
                  i8({1, 2, 3, 16}, std::vector<int8_t>(96, 17)), i8({1, 2, 3, 16}, std::vector<int8_t>(96, -9)),
                  i32({1}, {52}), i32({}, {53}), kNone, kNone, kNone, kNone, kNone, random({1, 2, 1, 16}, 4, 0.125, 1),
                  random({1, 2, 1, 16}, 5, 0.125, 1)},
       .output_count = 1}};
}
std::vector<OpCase> all_cases() {
  std::vector<OpCase> all = of_all_tokens(), others = of_other_caches();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

const OpTest group_query_attention("GroupQueryAttention", all_cases(), {.domain = "com.microsoft", .tolerance = 4});

}  // namespace
}  // namespace retort::ops
