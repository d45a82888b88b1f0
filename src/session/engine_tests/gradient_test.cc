// Gradient beyond the rules of single operators: derivatives of derivatives, at other values, and errors.
#include "session/engine_tests/gradient_testing.h"

namespace retort {
namespace {

using gradient_testing::Ids;
using gradient_testing::kTraining;

NodeSpec gradient(Ids inputs, std::vector<std::string> xs, const std::string& y, std::vector<std::string> zs = {}) {
  NodeSpec spec{.type = "Gradient", .inputs = std::move(inputs), .domain = kTraining, .name = "gradient"};
  spec.outputs = xs.size();
  spec.attributes = {{"xs", std::move(xs)}, {"y", y}};
  if (!zs.empty()) spec.attributes.set("zs", std::move(zs));
  return spec;
}

float only(const Value& v) { return v.tensor()->data<float>()[0]; }
Value number(float v) { return Tensor::of<float>({}, {v}); }

// x³, whose second derivative is 6x.
TEST(Gradient, OfAGradient) {
  TestGraph t;
  const ValueId x = t.input("x", {});
  t.output(t.add("Mul", {x, t.add("Mul", {x, x})}), "y");
  const ValueId first = t.g.node(t.g.add(gradient({x}, {"x"}, "y"))).outputs[0];
  t.output(first, "dy");
  const ValueId second = t.g.node(t.g.add(gradient({x}, {"x"}, "dy"))).outputs[0];
  t.output(second, "ddy");
  const auto results = run(t.g, {number(5)}, OptimizationLevel::all);
  EXPECT_EQ(only(results[0]), 125);
  EXPECT_EQ(only(results[1]), 75);
  EXPECT_EQ(only(results[2]), 30);
}

// The derivative of h * z by h, at another h than the model computes; and y at that place stays what it was.
TEST(Gradient, AtOtherValues) {
  TestGraph t;
  const ValueId x = t.input("x", {}), z = t.input("z", {}), other = t.input("other", {});
  const ValueId h = t.add("Neg", {x});
  t.g.value(h).name = "h";
  t.output(t.add("Mul", {t.add("Mul", {h, h}), z}), "y");
  t.g.outputs.push_back(t.g.node(t.g.add(gradient({other, z}, {"h"}, "y", {"z"}))).outputs[0]);
  t.g.outputs.push_back(t.g.node(t.g.add(gradient({h, z}, {"h", "z"}, "y"))).outputs[1]);
  const auto results = run(t.g, {number(3), number(10), number(7)}, OptimizationLevel::all);
  EXPECT_EQ(only(results[0]), 90);
  EXPECT_EQ(only(results[1]), 140);
  EXPECT_EQ(only(results[2]), 9);
}

std::string refusal(TestGraph& t, NodeSpec spec) {
  t.g.outputs.push_back(t.g.node(t.g.add(std::move(spec))).outputs[0]);
  try {
    make_session(t.g, {});
  } catch (const Error& e) {
    return e.message();
  }
  return "accepted";
}

TEST(Gradient, NamesWhatItCannotDo) {
  {
    TestGraph t;
    const ValueId x = t.input("x", {3});
    t.output(t.add("CumSum", {x, t.ints({0})}), "y");
    const std::string told = refusal(t, gradient({x}, {"x"}, "y"));
    EXPECT_CONTAINS(told, "Gradient has no rule for CumSum");
  }
  {
    TestGraph t;
    const ValueId x = t.input("x", {3});
    t.output(t.add("Neg", {x}), "y");
    EXPECT_CONTAINS(refusal(t, gradient({x}, {"x"}, "yy")), "there is no value 'yy'");
  }
  {
    TestGraph t;
    const ValueId x = t.input("x", {3});
    t.output(t.add("Neg", {x}), "y");
    EXPECT_CONTAINS(refusal(t, gradient({x, x}, {"x"}, "y")), "has 2 inputs, but xs and zs name 1");
  }
  {
    TestGraph t;
    const ValueId x = t.input("x", {3}), w = t.input("w", {3});
    t.output(t.add("Neg", {x}), "y");
    EXPECT_CONTAINS(refusal(t, gradient({x, w}, {"x", "w"}, "y")), "'y' does not depend on 'w'");
  }
}

}  // namespace
}  // namespace retort
