#include "ops/op_test.h"

namespace retort::ops {
namespace {

// With weights of 0 but those of the attention and Relu in place of all functions, i = o = f = bias.
Attributes relu_activations(const char* direction = "forward") {
  return {{"hidden_size", int64_t(1)},
          {"direction", std::string(direction)},
          {"activations", std::vector<std::string>{"Relu", "Relu", "Relu"}}};
}
const Tensor kOnes = f32({1, 8}, {1, 1, 1, 0, 0, 0, 0, 0});  // i, o and f are 1, n is what the weights give

// The memory holds 1 and 3, of equal weight: the attention is 2 from the second step on. n = x + attention; c' = c + n.
const OpTest attention_lstm(
    "AttnLSTM",
    {{.about = "the mean of the memory is part of the next input",
      .attributes = relu_activations(),
      .inputs = {f32({3, 1, 1}, {5, 1, 0}), f32({1, 4, 2}, {0, 0, 0, 0, 0, 0, 1, 1}), f32({1, 4, 1}, {0, 0, 0, 0}),
                 kOnes, kNone, kNone, kNone, kNone, f32({1, 1, 1}, {0}), f32({1, 1, 1}, {0}), f32({1, 1}, {0}),
                 f32({1, 2, 1}, {1, 3})},
      .outputs = {f32({3, 1, 1, 1}, {5, 8, 10}), f32({1, 1, 1}, {10}), f32({1, 1, 1}, {10})}},
     {.about = "lengths of sequence and memory, a layer, backwards",
      .attributes = relu_activations("reverse"),
      .inputs = {f32({3, 1, 1}, {1, 5, 7}), f32({1, 4, 2}, {0, 0, 0, 0, 0, 0, 1, 1}), f32({1, 4, 1}, {0, 0, 0, 0}),
                 kOnes, i32({1}, {2}), kNone, f32({1, 1, 1}, {1}), kNone, f32({1, 1, 1}, {0}), f32({1, 1, 1}, {0}),
                 f32({1, 1}, {0}), f32({1, 2, 1}, {2, 100}), i32({1}, {1}), f32({1, 2, 1}, {0.5, 3})},
      .outputs = {f32({3, 1, 1, 1}, {16, 6, 0}), f32({1, 1, 1}, {16}), f32({1, 1, 1}, {16})}},
     {.about = "weights that are not even",
      .attributes = {{"hidden_size", int64_t(2)}, {"direction", std::string("bidirectional")}},
      .inputs = {random({3, 2, 3}, 1, -1, 1), random({2, 8, 5}, 2, -1, 1), random({2, 8, 2}, 3, -1, 1), kNone, kNone,
                 kNone, kNone, random({2, 6}, 4, -1, 1), random({2, 2, 4}, 5, -1, 1), random({2, 2, 4}, 6, -1, 1),
                 random({2, 4}, 7, -1, 1), random({2, 5, 2}, 8, -1, 1)}}},
    {.domain = "com.microsoft"});

}  // namespace
}  // namespace retort::ops
