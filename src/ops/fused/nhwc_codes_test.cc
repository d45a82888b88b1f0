// Tests the channels-last operators on codes beside the channels-first ones.
#include <gtest/gtest.h>

#include <random>

#include "base/cpu.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;

Tensor codes(DType type, Shape shape, uint32_t seed) {
  Tensor t(type, std::move(shape));
  std::mt19937 random(seed);
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<uint8_t>()[i] = uint8_t(random());
  return t;
}
Tensor turned(const Tensor& t, Ints perm) {
  return OpRun("", "Transpose", {{"perm", std::move(perm)}}, {t}, 1).run()[0];
}
Tensor to_last(const Tensor& t) { return turned(t, {0, 2, 3, 1}); }

const OpTest nhwc_q_linear_conv("NhwcQLinearConv",
                                {{.about = "rounded half to even, clamped",
                                  .inputs = {u8({1, 1, 2, 2}, {10, 20, 0, 255}), f32({}, {1}), u8({}, {10}),
                                             Tensor::of<int8_t>({1, 2, 1, 1}, {1, -2}), f32({}, {1}),
                                             Tensor::of<int8_t>({}, {0}), f32({}, {2}), u8({}, {100}), i32({1}, {3})},
                                  .outputs = {u8({1, 1, 2, 1}, {92, 0})},
                                  .fixed_types = true},
                                 {.about = "depthwise, a bias of real numbers",
                                  .attributes = {{"group", int64_t(2)}},
                                  .inputs = {u8({1, 1, 2, 2}, {10, 10, 20, 20}), f32({}, {2}), u8({}, {10}),
                                             Tensor::of<int8_t>({2, 1, 1, 1}, {2, -3}), f32({2}, {1, 0.5f}),
                                             Tensor::of<int8_t>({2}, {0, 0}), f32({}, {4}), u8({}, {100}),
                                             f32({2}, {6, -1})},
                                  .outputs = {u8({1, 1, 2, 2}, {102, 100, 112, 92})},
                                  .fixed_types = true}},
                                {.domain = "retort", .weights = {1, 2, 3, 4, 5, 6, 7, 8}});

struct Convolution {
  Attributes attributes;
  Shape image, filters;
  DType type = DType::u8;
  bool real_bias = false;
  int8_t w_zero = 0;

  void expect_equal() const {
    const int64_t channels = filters[0];
    const Tensor x = codes(type, image, 1), x_zero = codes(type, {}, 2);
    Tensor w_scale(DType::f32, {channels}), bias(real_bias ? DType::f32 : DType::i32, {channels});
    for (int64_t i = 0; i < channels; ++i) {
      w_scale.mutable_data<float>()[i] = 0.01f * float(i % 7 + 1);
      if (real_bias)
        bias.mutable_data<float>()[i] = float(i % 11) - 5;
      else
        bias.mutable_data<int32_t>()[i] = int32_t(i % 11) * 100 - 500;
    }
    std::vector<Tensor> inputs = {x,
                                  f32({}, {0.02f}),
                                  x_zero,
                                  codes(DType::i8, filters, 3),
                                  w_scale,
                                  Tensor(DType::i8, {channels}),
                                  f32({}, {0.3f}),
                                  codes(type, {}, 4),
                                  bias};
    std::fill_n(inputs[5].mutable_data<int8_t>(), channels, w_zero);
    OpRun first(real_bias ? "retort" : "", "QLinearConv", attributes, inputs, 1);
    const Tensor wanted = to_last(first.run()[0]);
    const bool planes = attributes.get_or<int64_t>("input_nchw", 0) != 0;
    Attributes given = attributes;
    if (!planes) inputs[0] = to_last(x);
    OpRun last("retort", "NhwcQLinearConv", given, inputs, 1);
    EXPECT_EQ(difference(last.run()[0], wanted, 0), "") << to_string(image) << to_string(filters);
  }
};

TEST(NhwcQLinearConv, EqualsTheChannelsFirstForm) {
  const Attributes padded = {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}};
  for (const DType type : {DType::u8, DType::i8}) {
    for (const bool real : {false, true}) {
      Convolution{{}, {2, 16, 9, 11}, {40, 16, 1, 1}, type, real}.expect_equal();
      Convolution{padded, {2, 16, 9, 11}, {40, 16, 3, 3}, type, real}.expect_equal();
      Convolution{
          {{"auto_pad", std::string("SAME_LOWER")}, {"group", int64_t(40)}}, {2, 40, 9, 11}, {40, 1, 3, 3}, type, real}
          .expect_equal();
      Convolution{padded, {2, 16, 9, 11}, {40, 16, 3, 3}, type, real, 7}.expect_equal();
      Convolution{{{"group", int64_t(40)}}, {2, 40, 9, 11}, {40, 1, 3, 3}, type, real, -127}.expect_equal();
    }
  }
}

// The result may take the memory of R.
void expect_sum(const Attributes& attributes, DType type, DType other_type, int64_t channels) {
  const auto number = [](float v) { return f32({}, {v}); };
  std::vector<Tensor> conv = {codes(type, {2, 9, 11, 16}, 1),
                              number(0.02f),
                              codes(type, {}, 2),
                              codes(DType::i8, {channels, 16, 1, 1}, 3),
                              number(0.01f),
                              Tensor::of<int8_t>({}, {0}),
                              number(0.3f),
                              codes(type, {}, 4)};
  const Tensor product = OpRun("retort", "NhwcQLinearConv", attributes, conv, 1).run()[0];
  const Tensor other = codes(other_type, product.shape(), 5), zero = codes(other_type, {}, 6),
               sum_zero = codes(type, {}, 7);
  OpRun sum("retort", "QLinearAdd", {}, {product, conv[6], conv[7], other, number(0.4f), zero, number(0.5f), sum_zero},
            1);
  const Tensor wanted = sum.run()[0];
  conv.push_back(i32({channels}, std::vector<int32_t>(size_t(channels), 0)));
  conv.insert(conv.end(), {other, number(0.4f), zero, number(0.5f), sum_zero});
  OpRun both("retort", "NhwcQLinearConv", attributes, conv, 1);
  EXPECT_EQ(difference(both.run()[0], wanted, 0), "") << channels << " channels";
  if (type != other_type) return;
  EXPECT_EQ(difference(both.run({.in_place = 9})[0], wanted, 0), "") << channels << " channels, in place";
}

TEST(NhwcQLinearConv, AddsCodesLikeQLinearAdd) {
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (const int64_t channels : {5, 64, 200}) {
      expect_sum({}, DType::u8, DType::i8, channels);
      expect_sum({{"strides", Ints{2, 2}}}, DType::i8, DType::u8, channels);
      expect_sum({}, DType::u8, DType::u8, channels);
      expect_sum({{"pads", Ints{1, 0, 0, 1}}}, DType::i8, DType::i8, channels);
    }
  }
}

void expect_equal_pools(DType type, int64_t channels, int64_t kernel, int64_t stride) {
  const Attributes attributes = {{"kernel_shape", Ints(2, kernel)},
                                 {"strides", Ints(2, stride)},
                                 {"dilations", Ints(2, 1 + kernel % 2)},
                                 {"pads", Ints(4, kernel / 2)},
                                 {"ceil_mode", int64_t(stride % 2)}};
  const Tensor x = codes(type, {2, channels, 13, 17}, 7);
  OpRun first("", "MaxPool", attributes, {x}, 1), last("retort", "MaxPool", attributes, {to_last(x)}, 1);
  EXPECT_EQ(difference(last.run()[0], to_last(first.run()[0]), 0), "")
      << channels << " channels, kernel " << kernel << " stride " << stride;
}

TEST(NhwcMaxPool, CodesLikeTheChannelsFirstForm) {
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (const DType type : {DType::u8, DType::i8}) {
      for (const int64_t channels : {3, 5, 16, 37, 100}) {
        for (const int64_t kernel : {1, 2, 3, 5}) {
          for (const int64_t stride : {1, 2, 3}) expect_equal_pools(type, channels, kernel, stride);
        }
      }
    }
  }
}

}  // namespace
}  // namespace retort::ops
