#include "passes/passes_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

void one_window(TestGraph& t) {
  const ValueId x = t.input("x", {2, 3, 4, 5}), line = t.input("line", {2, 3, 7});
  t.output(t.add("AveragePool", {x}, {{"kernel_shape", Ints{4, 5}}, {"strides", Ints{2, 2}}}), "mean");
  t.output(t.add("MaxPool", {line}, {{"kernel_shape", Ints{7}}, {"pads", Ints{0, 0}}}), "most");
}
const RuleExample example_of_one_window("pools_of_one_window",
                                        {"global_pool_of_one_window", "global_max_pool_of_one_window"}, one_window,
                                        R"(graph(x: float32[2,3,4,5], line: float32[2,3,7]) {
  mean: float32[2,3,1,1] = GlobalAveragePool(x)
  most: float32[2,3,1] = GlobalMaxPool(line)
  return mean, most
}
)");

TEST(GlobalPool, OtherWindowsStay) {
  const std::vector<Attributes> others{
      {{"kernel_shape", Ints{4, 3}}},
      {{"kernel_shape", Ints{4, 5}}, {"pads", Ints{0, 0, 0, 1}}},
      {{"kernel_shape", Ints{4, 5}}, {"auto_pad", std::string("SAME_UPPER")}},
  };
  for (const Attributes& attributes : others) {
    TestGraph t;
    const ValueId x = t.input("x", {2, 3, 4, 5});
    t.output(t.add("AveragePool", {x}, attributes), "y");
    t.output(t.add("MaxPool", {x}, attributes), "z");
    expect_no_rewrite(t, {"global_pool_of_one_window", "global_max_pool_of_one_window"});
  }
}

TEST(GlobalPool, AWindowWhoseIndexIsReadStays) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 3, 4, 5});
  const auto results =
      t.add_multi({.type = "MaxPool", .inputs = {x}, .attributes = {{"kernel_shape", Ints{4, 5}}}, .outputs = 2});
  t.output(results[0], "most");
  t.output(results[1], "index");
  expect_no_rewrite(t, {"global_max_pool_of_one_window"});
}

}  // namespace
}  // namespace retort
