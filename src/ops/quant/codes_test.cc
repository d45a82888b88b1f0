// Tests operators on codes with many sizes: depthwise convolutions, sums and maxima, beside plain computations.
#include <gtest/gtest.h>

#include <random>

#include "base/cpu.h"
#include "base/error.h"
#include "kernels/gemm/gemm_codes.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

Tensor codes_of(DType type, Shape shape, uint32_t seed) {
  Tensor t(type, std::move(shape));
  std::mt19937 random(seed);
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<uint8_t>()[i] = uint8_t(random());
  return t;
}
int32_t code(const Tensor& t, size_t i) { return t.dtype() == DType::i8 ? t.data<int8_t>()[i] : t.data<uint8_t>()[i]; }

struct Depthwise {
  int64_t rows, columns, stride, pad;
  DType image, filters;
  int64_t height = 9, width = 37, channels = 3;
  bool one_axis = false;  ///< an image of one line, or one column, of which only the long axis is padded
  bool flat = false;      ///< without the short axis

  Tensor plain(const Tensor& x, const Tensor& w, int32_t x_zero) const {
    const int64_t pad_h = height > 1 || !one_axis ? pad : 0, pad_w = width > 1 || !one_axis ? pad : 0;
    const int64_t out_h = (height + 2 * pad_h - rows) / stride + 1, out_w = (width + 2 * pad_w - columns) / stride + 1;
    Tensor y(DType::i32, {2, channels, out_h, out_w});
    for (int64_t i = 0; i < int64_t(y.count()); ++i) {
      const int64_t left = i % out_w * stride - pad_w, top = i / out_w % out_h * stride - pad_h,
                    plane = i / out_w / out_h;
      int32_t sum = 0;
      for (int64_t t = 0; t < rows * columns; ++t) {
        const int64_t r = top + t / columns, l = left + t % columns;
        if (r < 0 || r >= height || l < 0 || l >= width) continue;
        sum += (code(x, size_t((plane * height + r) * width + l)) - x_zero) *
               code(w, size_t(plane % channels * rows * columns + t));
      }
      y.mutable_data<int32_t>()[i] = sum;
    }
    return y;
  }
  void expect_equal() const {
    const Tensor x = codes_of(image, {2, channels, height, width}, 1);
    const Tensor w = codes_of(filters, {channels, 1, rows, columns}, 2);
    const Tensor zero = codes_of(image, {}, 3);
    const int64_t pad_h = height > 1 || !one_axis ? pad : 0, pad_w = width > 1 || !one_axis ? pad : 0;
    const auto pads = flat ? std::vector<int64_t>(2, pad) : std::vector<int64_t>{pad_h, pad_w, pad_h, pad_w};
    const auto line = [&](const Tensor& t) {
      return flat ? t.reshaped({t.shape()[0], t.shape()[1], t.shape()[2] * t.shape()[3]}) : t;
    };
    OpRun run("", "ConvInteger",
              {{"group", channels}, {"pads", pads}, {"strides", std::vector<int64_t>(flat ? 1 : 2, stride)}},
              {line(x), line(w), zero}, 1);
    EXPECT_EQ(difference(run.run()[0], line(plain(x, w, code(zero, 0))), 0), "")
        << cat("{}x{} stride {} pad {} {} {} unit {}", rows, columns, stride, pad, dtype_name(image),
               dtype_name(filters), int(kernels::codes_unit()));
  }
};

TEST(CodesConv, DepthwiseWindows) {
  for (const auto best : {kernels::CodesUnit::tiles, kernels::CodesUnit::pairs}) {
    kernels::limit_codes_unit(best);
    for (const DType image : {DType::u8, DType::i8}) {
      for (const DType filters : {DType::i8, DType::u8}) {
        for (const int64_t size : {1, 2, 3, 4, 5, 7, 8, 9})
          for (const int64_t stride : {1, 2, 3})
            Depthwise{size, size, stride, std::min<int64_t>(size / 2, 3), image, filters}.expect_equal();
      }
    }
    Depthwise{1, 5, 1, 0, DType::u8, DType::i8}.expect_equal();
    Depthwise{5, 1, 2, 2, DType::u8, DType::i8}.expect_equal();
    for (const int64_t size : {1, 2, 5, 8, 20, 63, 65}) {
      for (const int64_t stride : {1, 2, 5}) {
        for (const DType filters : {DType::i8, DType::u8}) {
          Depthwise{size, 1, stride, size / 2, DType::u8, filters, 83, 1, 5, true}.expect_equal();
          Depthwise{1, size, stride, size / 2, DType::i8, filters, 1, 83, 5, true, true}.expect_equal();
        }
      }
    }
    kernels::limit_codes_unit(kernels::CodesUnit::tiles);
  }
}

const OpTest q_linear_add("QLinearAdd",
                          {{.about = "half to even, both ends",
                            .inputs = {u8({4}, {10, 11, 255, 0}), f32({}, {1}), u8({}, {10}),
                                       Tensor::of<int8_t>({4}, {1, 0, 127, -128}), f32({}, {2}),
                                       Tensor::of<int8_t>({}, {0}), f32({}, {2}), u8({}, {100})},
                            .outputs = {u8({4}, {101, 100, 255, 0})},
                            .fixed_types = true}},
                          {.domain = "retort"});

const OpTest q_linear_mul("QLinearMul",
                          {{.about = "half to even, both ends",
                            .inputs = {u8({4}, {10, 13, 255, 0}), f32({}, {1}), u8({}, {10}),
                                       Tensor::of<int8_t>({4}, {1, 1, 127, 127}), f32({}, {1}),
                                       Tensor::of<int8_t>({}, {0}), f32({}, {2}), u8({}, {100})},
                            .outputs = {u8({4}, {100, 102, 255, 0})},
                            .fixed_types = true}},
                          {.domain = "retort"});

/// What QLinearAdd and QLinearMul compute, by operators on numbers.
Tensor plain_binary(const char* op, const std::vector<Tensor>& in) {
  const auto real = [&](size_t i) {
    return OpRun("", "DequantizeLinear", {}, {in[i], in[i + 1], in[i + 2]}, 1).run()[0];
  };
  const Tensor number = OpRun("", op, {}, {real(0), real(3)}, 1).run()[0];
  return OpRun("", "QuantizeLinear", {}, {number, in[6], in[7]}, 1).run()[0];
}

TEST(QLinearBinary, BroadcastsLikeNumbers) {
  const auto codes = [](DType type, Shape shape, size_t seed) {
    Tensor t(type, std::move(shape));
    for (size_t i = 0; i < t.count(); ++i) t.mutable_data<uint8_t>()[i] = uint8_t((i + seed) * 89 + i / 7);
    return t;
  };
  const std::pair<Shape, Shape> shapes[] = {{{2, 3, 700}, {}},
                                            {{2, 5, 33}, {33}},
                                            {{2, 5, 33}, {5, 1}},
                                            {{1, 4, 9, 15}, {4, 1, 1}},
                                            {{7, 1, 40}, {1, 3, 40}},
                                            {{0, 3}, {3}},
                                            {{2, 1, 3, 1, 5}, {1, 4, 1, 2, 1}}};
  for (const auto& [a, b] : shapes) {
    for (const auto& [left, right] : {std::pair(a, b), std::pair(b, a)}) {
      const std::vector<Tensor> in = {
          codes(DType::u8, left, 1),    f32({}, {0.02f}), u8({}, {131}), codes(DType::i8, right, 55), f32({}, {0.05f}),
          Tensor::of<int8_t>({}, {-3}), f32({}, {0.06f}), u8({}, {100})};
      for (const auto& [op, plain] : {std::pair("QLinearAdd", "Add"), std::pair("QLinearMul", "Mul")}) {
        const Tensor y = OpRun("retort", op, {}, in, 1).run()[0], want = plain_binary(plain, in);
        ASSERT_EQ(y.shape(), want.shape());
        for (size_t i = 0; i < y.count(); ++i) ASSERT_EQ(y.at<uint8_t>(i), want.at<uint8_t>(i)) << op << ' ' << i;
      }
    }
  }
}

Tensor negated_bytes() {
  std::vector<int8_t> entries(256);
  for (size_t i = 0; i < entries.size(); ++i) entries[i] = int8_t(~i);
  return Tensor::of<int8_t>({256}, entries);
}
const OpTest map_codes("MapCodes",
                       {{.about = "codes of another type",
                         .inputs = {u8({2, 2}, {0, 1, 127, 255}), negated_bytes()},
                         .outputs = {Tensor::of<int8_t>({2, 2}, {-1, -2, -128, 0})},
                         .fixed_types = true},
                        {.about = "signed codes",
                         .inputs = {Tensor::of<int8_t>({3}, {-1, 0, -128}), negated_bytes()},
                         .outputs = {Tensor::of<int8_t>({3}, {0, -1, 127})},
                         .fixed_types = true}},
                       {.domain = "retort", .weights = {1}});

const OpTest q_linear_conv_real_bias(
    "QLinearConv",
    {{.about = "a bias of real numbers, depthwise and not",
      .inputs = {u8({1, 1, 1, 2}, {10, 20}), f32({}, {2}), u8({}, {10}), Tensor::of<int8_t>({2, 1, 1, 1}, {2, -3}),
                 f32({2}, {1, 0.5f}), Tensor::of<int8_t>({2}, {0, 0}), f32({}, {4}), u8({}, {100}), f32({2}, {6, -1})},
      .outputs = {u8({1, 2, 1, 2}, {102, 112, 100, 92})},
      .fixed_types = true}},
    {.domain = "retort"});

const OpTest matmul_integer_to_float(
    "MatMulIntegerToFloat",
    {{.about = "scales of columns and a bias",
      .inputs = {u8({2, 2}, {1, 2, 3, 4}), Tensor::of<int8_t>({2, 2}, {1, -1, 2, -2}), f32({}, {0.5f}),
                 f32({2}, {2, 4}), u8({}, {1}), Tensor::of<int8_t>({}, {0}), f32({2}, {1, -1})},
      .outputs = {f32({2, 2}, {3, -5, 9, -17})},
      .fixed_types = true},
     {.about = "no zero points, a batch",
      .inputs = {u8({2, 1, 2}, {1, 2, 3, 4}), u8({2, 1}, {5, 6}), f32({}, {1}), f32({}, {2})},
      .outputs = {f32({2, 1, 1}, {34, 78})},
      .fixed_types = true}},
    {.domain = "retort"});

Tensor after(std::string_view op, const Attributes& attributes, std::vector<Tensor> inputs) {
  return OpRun("", op, attributes, std::move(inputs), 1).run()[0];
}

void expect_bits_of_float_operators(std::string_view op, DType a_type, DType y_type, int64_t n) {
  const Tensor a = codes_of(a_type, {n}, 1), b = codes_of(DType::u8, {n}, 2);
  const Tensor a_zero = codes_of(a_type, {}, 3), b_zero = codes_of(DType::u8, {}, 4), y_zero = codes_of(y_type, {}, 5);
  // With these scales many quotients lie in the middle between two codes.
  for (const float scale : {0.25f, 0.1f, 3e-5f, 0.0123f, 1e30f, 1e-30f}) {
    const Tensor one = f32({}, {scale}), two = f32({}, {scale * 1.5f}), y_scale = f32({}, {scale * 2});
    const Tensor number = after(
        op, {}, {after("DequantizeLinear", {}, {a, one, a_zero}), after("DequantizeLinear", {}, {b, two, b_zero})});
    OpRun run("retort", cat("QLinear{}", op), {}, {a, one, a_zero, b, two, b_zero, y_scale, y_zero}, 1);
    EXPECT_EQ(difference(run.run()[0], after("QuantizeLinear", {}, {number, y_scale, y_zero}), 0), "")
        << op << " of " << n << " elements, scale " << scale;
  }
}

TEST(QLinearBinary, HasTheBitsOfTheFloatOperators) {
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (const DType a_type : {DType::u8, DType::i8}) {
      for (const DType y_type : {DType::u8, DType::i8}) {
        for (const int64_t n : {0, 1, 15, 16, 17, 63, 64, 65, 5000}) {
          expect_bits_of_float_operators("Add", a_type, y_type, n);
          expect_bits_of_float_operators("Mul", a_type, y_type, n);
        }
      }
    }
  }
}

TEST(MaxPool, CodesLikeItsReference) {
  for (const DType type : {DType::u8, DType::i8}) {
    for (const int64_t kernel : {1, 2, 3, 5}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t dilation : {1, 2}) {
          const int64_t pad = kernel / 2;
          OpRun run("", "MaxPool",
                    {{"kernel_shape", std::vector<int64_t>(2, kernel)},
                     {"strides", std::vector<int64_t>(2, stride)},
                     {"dilations", std::vector<int64_t>(2, dilation)},
                     {"pads", std::vector<int64_t>(4, pad)},
                     {"ceil_mode", int64_t(stride % 2)}},
                    {codes_of(type, {2, 3, 13, 41}, 7)}, 1);
          EXPECT_EQ(difference(run.run()[0], run.run({.reference = true})[0], 0), "")
              << cat("kernel {} stride {} dilation {}", kernel, stride, dilation);
        }
      }
    }
  }
}

}  // namespace
}  // namespace retort::ops
