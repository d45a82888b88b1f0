#include "passes/passes.h"
#include "passes/passes_testing.h"

namespace retort {
namespace {

/// A max pool whose node also has `indices` as an output. Returns what the pass counted.
std::map<std::string, size_t> counts(TestGraph& t, ValueId indices) {
  const ValueId x = t.input("x", {1, 1, 4, 4});
  const ValueId y = t.add("MaxPool", {x}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  t.output(y, "y");
  Node& pool = t.g.node(t.g.value(y).producer);
  pool.outputs.push_back(indices);
  PassOptions options;
  PassContext context(options);
  pass_unused_outputs.run(t.g, context);
  EXPECT_EQ(pool.outputs.size(), 1u);
  return context.take_counts();
}

TEST(UnusedOutputs, AnOutputWithoutConsumersIsOmitted) {
  TestGraph t;
  const ValueId indices = t.g.add_value("indices", ValueType::tensor(DType::i64, {1, 1, 3, 3}));
  EXPECT_EQ(counts(t, indices), (std::map<std::string, size_t>{{"output", 1}}));
}

TEST(UnusedOutputs, AnOutputThatTheModelListsWithoutANameIsRemovedAndCounted) {
  TestGraph t;
  EXPECT_EQ(counts(t, ValueId::none), (std::map<std::string, size_t>{{"omitted output", 1}}));
}

TEST(UnusedOutputs, AnOutputThatDecidesWhatTheNodeAcceptsStays) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 2}), w = t.weight("w", {4, 2}), bias = t.weight("bias", {4});
  const std::vector<ValueId> y = t.add_multi({.type = "MoEGroupRouter",
                                              .inputs = {x, bias, w},
                                              .attributes = {{"top_k", int64_t(1)}},
                                              .domain = "com.microsoft",
                                              .outputs = 3});
  t.output(y[0], "y");
  PassOptions options;
  PassContext context(options);
  pass_unused_outputs.run(t.g, context);
  EXPECT_EQ(t.g.node(t.g.value(y[0]).producer).outputs, y);
}

}  // namespace
}  // namespace retort
