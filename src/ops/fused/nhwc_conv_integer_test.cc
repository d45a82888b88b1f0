// Tests retort.NhwcConvInteger beside ConvInteger and the operators that it takes in.
#include <gtest/gtest.h>

#include <random>

#include "base/cpu.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;
Tensor signed_codes(Shape shape, const std::vector<int8_t>& v) { return Tensor::of<int8_t>(std::move(shape), v); }

const OpTest nhwc_conv_integer(
    "NhwcConvInteger",
    {{.about = "sums",
      .inputs = {u8({1, 1, 2, 2}, {10, 20, 0, 255}), signed_codes({1, 2, 1, 1}, {1, -2}), u8({}, {10})},
      .outputs = {i32({1, 1, 2, 1}, {-20, -500})},
      .fixed_types = true},
     {.about = "depthwise, a zero point of the filters",
      .attributes = {{"group", int64_t(2)}},
      .inputs = {signed_codes({1, 1, 2, 2}, {10, 11, -20, 20}), signed_codes({2, 1, 1, 1}, {2, -3}), Tensor(),
                 signed_codes({}, {1})},
      .outputs = {i32({1, 1, 2, 2}, {10, -44, -20, -80})},
      .fixed_types = true},
     {.about = "scales, bias, an addend and an activation",
      .attributes = {{"activation", std::string("relu")}},
      .inputs = {u8({1, 1, 2, 2}, {10, 20, 0, 255}), signed_codes({1, 2, 1, 1}, {1, -2}), u8({}, {10}),
                 signed_codes({}, {0}), f32({}, {0.5f}), f32({1}, {2}), f32({1}, {30}), f32({1, 1, 2, 1}, {1, 2})},
      .outputs = {f32({1, 1, 2, 1}, {11, 0})},
      .fixed_types = true}},
    {.domain = "retort", .weights = {1, 3}});

template <typename T>
Tensor random_codes(DType type, Shape shape, uint32_t seed) {
  Tensor t(type, std::move(shape));
  std::mt19937 random(seed);
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<T>()[i] = T(random());
  return t;
}
Tensor transposed_codes(const Tensor& t, Ints perm) {
  return OpRun("", "Transpose", {{"perm", std::move(perm)}}, {t}, 1).run()[0];
}
Tensor with_channels_last(const Tensor& t) { return transposed_codes(t, {0, 2, 3, 1}); }

struct IntegerConvolution {
  Attributes attributes;
  Shape image, filters;
  int8_t filter_zero = 0;

  void expect_equal() const {
    const int64_t channels = filters[0];
    const Tensor x = random_codes<uint8_t>(DType::u8, image, 1), x_zero = u8({}, {77}),
                 w_zero = signed_codes({}, {filter_zero});
    const Tensor w = random_codes<int8_t>(DType::i8, filters, 3), x_scale = f32({}, {0.013f});
    const bool planes = attributes.get_or<int64_t>("input_nchw", 0) != 0;
    Attributes first = attributes;
    first.erase("input_nchw");
    const Tensor sums = with_channels_last(OpRun("", "ConvInteger", first, {x, w, x_zero, w_zero}, 1).run()[0]);
    std::vector<Tensor> inputs = {planes ? x : with_channels_last(x), w, x_zero, w_zero};
    EXPECT_EQ(difference(OpRun("retort", "NhwcConvInteger", attributes, inputs, 1).run()[0], sums, 0), "");

    Tensor w_scale(DType::f32, {channels}), bias(DType::f32, {channels}), other(DType::f32, sums.shape());
    for (int64_t i = 0; i < channels; ++i) {
      w_scale.mutable_data<float>()[i] = 0.01f * float(i % 7 + 1);
      bias.mutable_data<float>()[i] = float(i % 11) - 5.1f;
    }
    for (size_t i = 0; i < other.count(); ++i) other.mutable_data<float>()[i] = float(i % 101) / 7 - 6;
    const auto binary = [](const char* type, const Tensor& a, const Tensor& b) {
      return OpRun("", type, {}, {a, b}, 1).run()[0];
    };
    Tensor wanted = OpRun("", "Cast", {{"to", int64_t(DType::f32)}}, {sums}, 1).run()[0];
    wanted = binary("Add", binary("Mul", wanted, binary("Mul", x_scale, w_scale)), bias);
    wanted = OpRun("", "Relu", {}, {binary("Add", wanted, other)}, 1).run()[0];
    inputs.insert(inputs.end(), {x_scale, w_scale, bias, other});
    Attributes with = attributes;
    with.set("activation", std::string("relu"));
    EXPECT_EQ(difference(OpRun("retort", "NhwcConvInteger", with, inputs, 1).run()[0], wanted, 0), "")
        << to_string(image) << to_string(filters);
  }
};

TEST(NhwcConvInteger, EqualsTheOperatorsThatItTakesIn) {
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (const int8_t zero : {0, -100, 3}) {
      const Attributes padded = {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}};
      IntegerConvolution{{}, {2, 16, 9, 11}, {41, 16, 1, 1}, zero}.expect_equal();
      IntegerConvolution{padded, {2, 16, 9, 11}, {40, 16, 3, 3}, zero}.expect_equal();
      IntegerConvolution{{{"pads", Ints{1, 1, 1, 1}}}, {1, 32, 13, 15}, {37, 32, 3, 3}, zero}.expect_equal();
      IntegerConvolution{
          {{"auto_pad", std::string("SAME_LOWER")}, {"group", int64_t(43)}}, {2, 43, 9, 11}, {43, 1, 3, 3}, zero}
          .expect_equal();
      IntegerConvolution{{{"input_nchw", int64_t(1)}, {"strides", Ints{2, 2}}}, {1, 3, 17, 19}, {20, 3, 3, 3}, zero}
          .expect_equal();
    }
  }
}

TEST(NhwcConvInteger, ChecksItsOperands) {
  std::vector<Tensor> inputs = {u8({1, 1, 2, 2}, {10, 20, 0, 255}),
                                signed_codes({1, 2, 1, 1}, {1, -2}),
                                u8({}, {10}),
                                signed_codes({}, {0}),
                                f32({}, {0.5f}),
                                f32({1}, {2}),
                                f32({2}, {30, 1})};
  EXPECT_THROW(OpRun("retort", "NhwcConvInteger", {}, inputs, 1).run(), Error);
  inputs[6] = f32({1}, {30});
  inputs[5] = f32({2}, {1, 2});
  EXPECT_THROW(OpRun("retort", "NhwcConvInteger", {}, inputs, 1).run(), Error);
}

}  // namespace
}  // namespace retort::ops
