// Shared by the tests of Gradient: compares derivatives with central differences.
#pragma once
#include <gtest/gtest.h>

#include <cmath>

#include "session/session_testing.h"

namespace retort {
namespace gradient_testing {

using Ids = std::vector<ValueId>;
using Ints = std::vector<int64_t>;
using Build = ValueId (*)(TestGraph& t, const Ids& x);

struct Case {
  std::string name;
  std::vector<Shape> shapes;  ///< of the inputs, float64
  Build build;
  double low = -2, high = 2;
};

inline constexpr const char* kTraining = "ai.onnx.preview.training";

inline Tensor drawn(const Shape& shape, unsigned seed, double low, double high) {
  std::mt19937 random(seed);
  Tensor t(DType::f64, shape);
  for (size_t i = 0; i < t.count(); ++i)
    t.mutable_data<double>()[i] = std::uniform_real_distribution<double>(low, high)(random);
  return t;
}

/// The sum of sin(y), and its derivatives by all inputs. Without the sine, all derivatives by y would be 1.
struct GradientModel : TestGraph {
  GradientModel(const Case& c, bool symbolic) {
    Ids xs;
    std::vector<std::string> names;
    for (size_t i = 0; i < c.shapes.size(); ++i) {
      names.push_back(cat("x{}", i));
      Shape shape = c.shapes[i];
      for (size_t d = 0; symbolic && d < shape.rank(); ++d) shape[d] = symbol(cat("x{}d{}", i, d));
      xs.push_back(input(names.back(), shape, DType::f64));
    }
    output(add("Sin", {c.build(*this, xs)}), "z");
    NodeSpec spec{.type = "Gradient", .inputs = xs, .domain = kTraining, .name = "gradient"};
    spec.attributes = {{"xs", names}, {"y", std::string("z")}};
    spec.outputs = xs.size();
    spec.version = 1;
    const Node& n = g.node(g.add(std::move(spec)));
    for (size_t i = 0; i < xs.size(); ++i) g.outputs.push_back(n.outputs[i]);
  }
};

inline double sum(const Value& v) {
  double total = 0;
  for (size_t i = 0; i < v.tensor()->count(); ++i) total += v.tensor()->data<double>()[i];
  return total;
}

inline void expect_central_differences(const Case& c, bool symbolic, OptimizationLevel level) {
  SCOPED_TRACE(cat("{}{} at level {}", c.name, symbolic ? " of unknown extents" : "", int(level)));
  const GradientModel model(c, symbolic);
  SessionOptions options;
  options.optimization = level;
  const auto session = make_session(model.g, options);
  std::vector<Tensor> xs;
  for (size_t i = 0; i < c.shapes.size(); ++i) xs.push_back(drawn(c.shapes[i], unsigned(i) + 5, c.low, c.high));
  const auto results = [&] { return run(*session, {xs.begin(), xs.end()}); };
  const std::vector<Value> at = results();
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Tensor& derivative = *at[i + 1].tensor();
    ASSERT_EQ(derivative.shape(), xs[i].shape());
    for (size_t k = 0; k < xs[i].count(); ++k) {
      double& x = xs[i].mutable_data<double>()[k];
      const double before = x;
      x = before + kStep;
      const double above = sum(results()[0]);
      x = before - kStep;
      const double below = sum(results()[0]);
      x = before;
      const double expected = (above - below) / (2 * kStep);
      EXPECT_NEAR(derivative.data<double>()[k], expected, 1e-6 * (1 + std::abs(expected)))
          << "x" << i << "[" << k << "]";
    }
  }
}

inline void expect_all(std::span<const Case> cases) {
  for (const Case& c : cases) {
    try {
      expect_central_differences(c, false, OptimizationLevel::all);
      expect_central_differences(c, true, OptimizationLevel::none);
    } catch (const Error& e) {
      ADD_FAILURE() << c.name << ": " << e.message();
    }
  }
}

template <size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&name)[N]) { std::copy_n(name, N, text); }  // NOLINT: implicit by design
};
/// An operator without attributes, of all inputs.
template <Name name>
ValueId plain(TestGraph& t, const Ids& x) {
  return t.add(name.text, x);
}

}  // namespace gradient_testing
}  // namespace retort
