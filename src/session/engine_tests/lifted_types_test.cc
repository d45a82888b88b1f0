// Types that the lift converts, or whose elements it gathers.
#include <gtest/gtest.h>

#include <complex>

#include "session/session_testing.h"

namespace retort {
namespace {

/// One node in the form of an opset.
Value run_lifted(const char* type, int opset, const std::vector<Tensor>& inputs, const Attributes& attributes,
                 OptimizationLevel level) {
  TestGraph t;
  NodeSpec spec{.type = type, .attributes = attributes, .name = "node", .version = opset};
  std::vector<Value> values;
  for (const Tensor& x : inputs) {
    if (!x) {
      spec.inputs.push_back(ValueId::none);
      continue;
    }
    spec.inputs.push_back(t.input("x" + std::to_string(values.size()), x.shape(), x.dtype()));
    values.emplace_back(Tensor(x));
  }
  t.g.outputs = t.g.node(t.g.add(std::move(spec))).outputs;
  return run(t.g, values, level)[0];
}

template <typename T>
std::vector<T> content(const Value& v) {
  return {v.tensor()->data<T>(), v.tensor()->data<T>() + v.tensor()->count()};
}

// Two images of one channel and three pixels; the second sample of each lies outside.
TEST(LiftedTypes, GridSampleGathersElementsOfAnyType) {
  const Tensor grid = Tensor::of<float>({2, 1, 2, 2}, {-0.9f, 0, 5, 0, 0.9f, 0, -5, 0});
  for (const OptimizationLevel level : kLevels) {
    for (const char* outside : {"zeros", "border"}) {
      const Attributes nearest{{"mode", std::string("nearest")}, {"padding_mode", std::string(outside)}};
      const bool zeros = outside == std::string_view("zeros");
      const Tensor words = Tensor::of<std::string>({2, 1, 1, 3}, {"a", "b", "c", "d", "e", "f"});
      const Value y = run_lifted("GridSample", 20, {words, grid}, nearest, level);
      EXPECT_EQ(y.tensor()->shape(), (Shape{2, 1, 1, 2}));
      EXPECT_EQ(content<std::string>(y), (std::vector<std::string>{"a", zeros ? "" : "c", "f", zeros ? "" : "d"}));
      const int64_t large = (int64_t(1) << 60) + 1;  // no float64
      const Tensor whole = Tensor::of<int64_t>({2, 1, 1, 3}, {large, 2, 3, 4, 5, large + 1});
      EXPECT_EQ(content<int64_t>(run_lifted("GridSample", 20, {whole, grid}, nearest, level)),
                (std::vector<int64_t>{large, zeros ? 0 : 3, large + 1, zeros ? 0 : 4}));
    }
  }
}

TEST(LiftedTypes, GridSampleDropsTheFractionOfIntegers) {
  const Tensor grid = Tensor::of<float>({1, 1, 2, 2}, {-0.5f, 0, 0.5f, 0});
  for (const OptimizationLevel level : kLevels) {
    const Tensor image = Tensor::of<int32_t>({1, 1, 1, 3}, {1, 4, -3});
    const Value y = run_lifted("GridSample", 20, {image, grid}, {{"align_corners", int64_t(1)}}, level);
    EXPECT_EQ(content<int32_t>(y), (std::vector<int32_t>{2, 0}));  // 2.5 and 0.5
    const Tensor words = Tensor::of<std::string>({1, 1, 1, 3}, {"a", "b", "c"});
    EXPECT_THROW(run_lifted("GridSample", 20, {words, grid}, {}, level), Error);
    const Tensor whole = Tensor::of<int32_t>({1, 1, 1, 2}, {0, 0});
    EXPECT_THROW(run_lifted("GridSample", 20, {image, whole}, {}, level), Error);
  }
}

template <typename T>
Tensor complex(DType dtype, Shape shape, const std::vector<std::complex<T>>& values) {
  Tensor t(dtype, std::move(shape));
  std::copy(values.begin(), values.end(), static_cast<std::complex<T>*>(t.mutable_data()));
  return t;
}

template <typename T>
std::vector<std::complex<T>> complex_content(const Value& v) {
  const auto* data = static_cast<const std::complex<T>*>(v.tensor()->data());
  return {data, data + v.tensor()->count()};
}

// The blocks [a, b] and [c, d] of an image of three pixels share the second one.
TEST(LiftedTypes, Col2ImOfStringsAndComplexNumbers) {
  const Tensor image = Tensor::of<int64_t>({1}, {3}), block = Tensor::of<int64_t>({1}, {2});
  for (const OptimizationLevel level : kLevels) {
    const Tensor words = Tensor::of<std::string>({1, 2, 2}, {"a", "c", "b", "d"});
    EXPECT_EQ(content<std::string>(run_lifted("Col2Im", 18, {words, image, block}, {}, level)),
              (std::vector<std::string>{"a", "cb", "d"}));
    const Tensor numbers = complex<double>(DType::complex128, {1, 2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}});
    EXPECT_EQ(complex_content<double>(run_lifted("Col2Im", 18, {numbers, image, block}, {}, level)),
              (std::vector<std::complex<double>>{{1, 2}, {8, 10}, {7, 8}}));
  }
}

TEST(LiftedTypes, ComplexNumbersAreInterpolated) {
  const Tensor pixels = complex<float>(DType::complex64, {1, 1, 1, 3}, {{1, 8}, {4, 2}, {-3, 0}});
  const Tensor grid = Tensor::of<float>({1, 1, 2, 2}, {-0.5f, 0, 0.5f, 0});
  const Tensor wide = complex<double>(DType::complex128, {2}, {{1, 8}, {4, 2}});
  const Tensor roi = Tensor::of<float>({2}, {0, 2}), sizes = Tensor::of<int64_t>({1}, {3});
  const Attributes crop{{"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
                        {"extrapolation_value", 9.0f},
                        {"mode", std::string("linear")}};
  using Numbers = std::vector<std::complex<float>>;
  for (const OptimizationLevel level : kLevels) {
    for (const char* mode : {"linear", "nearest"}) {
      const Attributes how{{"align_corners", int64_t(1)}, {"mode", std::string(mode)}};
      EXPECT_EQ(complex_content<float>(run_lifted("GridSample", 20, {pixels, grid}, how, level)),
                mode == std::string_view("linear") ? (Numbers{{2.5f, 5}, {0.5f, 1}}) : (Numbers{{1, 8}, {-3, 0}}));
    }
    // Positions 0, 1 and 2; the last lies outside, where the result is a real number.
    EXPECT_EQ(complex_content<double>(run_lifted("Resize", 19, {wide, roi, Tensor(), sizes}, crop, level)),
              (std::vector<std::complex<double>>{{1, 8}, {4, 2}, {9, 0}}));
  }
}

// [1, 2] · [[1, 0], [0.5, 2]] with a scale for each column, as 8-bit floats; 448 is the greatest.
TEST(LiftedTypes, QLinearMatMulOfFloat8) {
  const auto packed = [](Shape shape, const std::vector<uint8_t>& bits) {
    Tensor t(DType::f8e4m3fn, std::move(shape));
    std::copy(bits.begin(), bits.end(), static_cast<uint8_t*>(t.mutable_data()));
    return t;
  };
  const auto number = [](float v) { return Tensor::of<float>({}, {v}); };
  for (const OptimizationLevel level : kLevels) {
    const Value y =
        run_lifted("QLinearMatMul", 21,
                   {packed({1, 2}, {0x38, 0x40}), number(2), packed({}, {0}), packed({2, 2}, {0x38, 0, 0x30, 0x40}),
                    Tensor::of<float>({2}, {1, 1000}), packed({2}, {0, 0}), number(4), packed({}, {0})},
                   {}, level);
    EXPECT_EQ(y.tensor()->dtype(), DType::f8e4m3fn);
    const auto* bits = static_cast<const uint8_t*>(y.tensor()->data());
    EXPECT_EQ((std::vector<int>{bits[0], bits[1]}), (std::vector<int>{0x38, 0x7e}));  // 1, and 2000 as 448
  }
}

}  // namespace
}  // namespace retort
