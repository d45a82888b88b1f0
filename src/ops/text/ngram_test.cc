#include <cmath>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

Attributes sizes(int64_t most, int64_t heads, int64_t pad, int64_t reset = 0) {
  return {{"max_ngram_size", most}, {"n_head_per_ngram", heads}, {"pad_id", pad}, {"reset_on_eos", reset}};
}
Attributes with_capacity(Attributes a, int64_t capacity) {
  a.set("state_update_capacity", capacity);
  return a;
}

// The hash of a and the b before it is a ^ 1000 b, as long as that is less than the size.
const Tensor kPairs = i64({2}, {1, 1000}), kLarge = i64({1}, {1000000000});
const OpTest ngram_hash(
    "NGramHashMapping",
    {{.about = "behind padding",
      .attributes = sizes(2, 1, 9),
      .inputs = {i64({1, 3}, {1, 2, 3}), kPairs, kLarge},
      .outputs = {i64({1, 3, 1}, {9001, 1002, 2003}), i64({1, 1}, {3})}},
     {.about = "a new segment",
      .attributes = sizes(2, 1, 9),
      .inputs = {i64({1, 3}, {1, 2, 3}), kPairs, kLarge, kNone, kNone, kNone, i32({1, 3}, {4, 5, 5})},
      .outputs = {i64({1, 3, 1}, {9001, 9002, 2003})}},
     {.about = "behind the end of a text",
      .attributes = sizes(2, 1, 9, 1),
      .inputs = {i64({1, 3}, {1, 7, 3}), kPairs, kLarge, i64({1, 1}, {5}), i64({1}, {100000}), i64({}, {7})},
      .outputs = {i64({1, 3, 1}, {105001, 101007, 107003}), i64({1, 1}, {3})}},
     {.about = "heads of two and three, of a negative sum",
      .attributes = sizes(3, 2, 0),
      .inputs = {i64({1, 1}, {-8}), i64({3}, {1, 1, 1}), i64({4}, {3, 5, 7, 8}), i64({1, 2}, {16, 1})},
      .outputs = {i64({1, 1, 4}, {2, 3, 5, 1}), i64({1, 2}, {1, -8})}},
     {.about = "int32 wraps around",
      .attributes = sizes(2, 1, 0),
      .inputs = {i32({1, 1}, {65536}), i32({2}, {65537, 1}), i32({1}, {70000})},
      .outputs = {i32({1, 1, 1}, {65536})},
      .fixed_types = true}},
    {.domain = "com.microsoft"});

const OpTest varlen_ngram_hash(
    "VarlenNGramHashMapping",
    {{.about = "two sequences",
      .attributes = sizes(2, 1, 9),
      .inputs = {i64({3}, {1, 2, 3}), kPairs, kLarge, i32({3}, {0, 1, 3})},
      .outputs = {i64({3, 1}, {9001, 9002, 2003}), i64({2, 1}, {1, 3})}},
     {.about = "histories with segments",
      .attributes = sizes(2, 1, 9),
      .inputs = {i64({3}, {1, 2, 3}), kPairs, kLarge, i32({3}, {0, 1, 3}), i64({2, 1}, {5, 6}), kNone, kNone,
                 i32({3}, {1, 2, 3}), i32({2, 1}, {1, 1})},
      .outputs = {i64({3, 1}, {5001, 9002, 9003}), i64({2, 1}, {1, 3}), i32({2, 1}, {1, 3})},
      .output_count = 3},
     {.about = "histories that are captured",
      .attributes = with_capacity(sizes(3, 1, 9), 2),
      .inputs = {i64({3}, {1, 2, 3}), i64({3}, {1, 0, 0}), i64({2}, {100, 100}), i32({3}, {0, 1, 3}), kNone, kNone,
                 kNone, i32({3}, {0, 0, 0}), kNone, i32({2}, {5, 1})},
      .outputs = {i64({3, 2}, {1, 1, 2, 2, 3, 3}), i64({2, 2}, {9, 1, 2, 3}), i32({2, 2}, {0, 0, 0, 0}),
                  i64({2, 2, 2}, {9, 1, 9, 9, 9, 2, 9, 9})}}},
    {.domain = "com.microsoft"});

const OpTest ngram_repeat_block("NGramRepeatBlock",
                                {{.about = "pairs",
                                  .attributes = {{"ngram_size", int64_t(2)}},
                                  .inputs = {i64({2, 3}, {0, 1, 0, 2, 2, 2}), f32({2, 3}, {1, 2, 3, 4, 5, 6})},
                                  .outputs = {f32({2, 3}, {1, -kInf, 3, 4, 5, -kInf})}},
                                 {.about = "no word twice",
                                  .attributes = {{"ngram_size", int64_t(1)}},
                                  .inputs = {i64({1, 2}, {2, 0}), f32({1, 3}, {1, 2, 3})},
                                  .outputs = {f32({1, 3}, {-kInf, 2, -kInf})}},
                                 {.about = "too few",
                                  .attributes = {{"ngram_size", int64_t(3)}},
                                  .inputs = {i64({1, 2}, {7, 7}), f32({1, 3}, {1, 2, 3})},
                                  .outputs = {f32({1, 3}, {1, 2, 3})}}},
                                {.domain = "com.microsoft"});

const OpTest bifurcation_detector("BifurcationDetector",
                                  {{.about = "no prediction",
                                    .inputs = {i64({4}, {1, 2, 3, 4}), i64({2}, {1, 2}), i64({}, {0})},
                                    .outputs = {i64({2}, {1, 2}), i64({}, {2})}},
                                   {.about = "tokens up to the first that differs",
                                    .inputs = {i64({4}, {1, 2, 3, 4}), i64({1}, {9}), i64({1}, {1}),
                                               i64({4}, {2, 3, 8, 5})},
                                    .outputs = {i64({4}, {9, 2, 3, 8}), i64({1}, {-1})}},
                                   {.about = "a longer n-gram decides",
                                    .inputs = {i64({5}, {1, 2, 3, 2, 4}), i64({2}, {3, 2}), i64({1}, {0})},
                                    .outputs = {i64({2}, {3, 2}), i64({1}, {4})}}},
                                  {.domain = "com.microsoft"});

// The first three are published test vectors of MurmurHash3_x86_32.
const OpTest murmur_hash3("MurmurHash3",
                          {{.about = "texts",
                            .inputs = {strings({3}, {"", "test", "Hello, world!"})},
                            .outputs = {Tensor::of<uint32_t>({3}, {0, 0xba6bd213u, 0xc0363e43u})}},
                           {.about = "signed, with a seed",
                            .attributes = {{"positive", int64_t(0)}, {"seed", int64_t(0x9747b28c)}},
                            .inputs = {strings({2}, {"", "test"})},
                            .outputs = {i32({2}, {int32_t(0xebb6c228u), 0x704b81dc})}},
                           {.about = "numbers by their bytes",
                            .inputs = {i64({2}, {1, 2})},
                            .outputs = {Tensor::of<uint32_t>({2}, {1392991556u, 3323962100u})},
                            .fixed_types = true}},
                          {.domain = "com.microsoft"});

}  // namespace
}  // namespace retort::ops
