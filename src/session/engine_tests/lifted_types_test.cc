// Types that the lift converts, or whose elements it gathers.
#include <gtest/gtest.h>

#include "session/session_testing.h"

namespace retort {
namespace {

constexpr OptimizationLevel kLevels[] = {OptimizationLevel::none, OptimizationLevel::all};

/// One node in the form of an opset.
Value run_lifted(const char* type, int opset, const std::vector<Tensor>& inputs, const Attributes& attributes,
                 OptimizationLevel level) {
  TestGraph t;
  NodeSpec spec{.type = type, .attributes = attributes, .name = "node", .version = opset};
  std::vector<Value> values;
  for (const Tensor& x : inputs) {
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
