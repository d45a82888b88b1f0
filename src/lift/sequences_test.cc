// Sequences whose elements are known become tensors.
#include "lift/lift_testing.h"

namespace retort {
namespace {

using namespace lift_testing;  // NOLINT: the words of these tests

/// The text of a graph with `x` split into a sequence of which element `at` is taken. An extent of -1 is unknown.
std::string element(Shape x, std::optional<Tensor> split, Attributes attributes, int64_t at) {
  Graph g(std::make_shared<DimTable>());
  for (Dim& d : x) d = d < 0 ? g.dims().symbol("n") : d;
  g.inputs = {g.add_value("x", ValueType::tensor(DType::f32, std::move(x)))};
  NodeSpec spec{.type = "SplitToSequence", .inputs = g.inputs, .attributes = std::move(attributes), .version = 17};
  if (split) spec.inputs.push_back(g.add_constant("split", *split));
  const ValueId sequence = g.node(g.add(std::move(spec))).outputs[0];
  const ValueId position = g.add_constant("at", Tensor::of<int64_t>({}, {at}));
  const NodeId taken = g.add({.type = "SequenceAt", .inputs = {sequence, position}, .name = "y", .version = 17});
  g.outputs = {g.node(taken).outputs[0]};
  lift(g);
  verify(g);
  return text(g);
}

void expect_part(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Sequences, APartOfASplitIsAnOutputOfSplit) {
  const Attributes last{{"axis", int64_t(-1)}};
  expect_part(element({2, 5}, Tensor::of<int64_t>({}, {2}), last, -1), "Split(x, [2,2,1]) axis=1\n");
  expect_part(element({2, 5}, Tensor::of<int64_t>({2}, {4, 1}), last, 0), "Split(x, [4,1]) axis=1\n");
  expect_part(element({2, 5}, Tensor::of<int32_t>({2}, {4, 1}), last, 0), "Split(x, [4,1]) axis=1\n");
  const std::string rows = element({2, 5}, std::nullopt, {{"keepdims", int64_t(0)}}, 1);
  expect_part(rows, "Split(x, [1,1]) axis=0\n");
  expect_part(rows, "Squeeze(");
  EXPECT_EQ(rows.find("SequenceAt"), std::string::npos);
}

TEST(Sequences, StayIfOnlyARunTellsTheirElements) {
  for (const std::string& kept : {element({-1, 5}, std::nullopt, {}, 0),                      // how many
                                  element({2, 5}, Tensor::of<int64_t>({2}, {1, 2}), {}, 0),   // does not add up
                                  element({2, 5}, Tensor::of<int64_t>({}, {0}), {}, 0),       // no size
                                  element({1000, 5}, std::nullopt, {}, 0),                    // many
                                  element({2, 5}, std::nullopt, {{"axis", int64_t(2)}}, 0)})  // no axis
    expect_part(kept, "SplitToSequence(x");
  expect_part(element({2, 5}, std::nullopt, {}, 2), "SequenceAt(");  // no such element: a run reports it
}

TEST(Sequences, JoinedElementsAreConcatenated) {
  for (const int64_t fresh : {0, 1}) {
    Graph g(std::make_shared<DimTable>());
    for (const char* name : {"a", "b"}) g.inputs.push_back(g.add_value(name, ValueType::tensor(DType::f32, {2, 3})));
    const NodeId made = g.add({.type = "SequenceConstruct", .inputs = g.inputs, .version = 17});
    const NodeId joined = g.add({.type = "ConcatFromSequence",
                                 .inputs = g.node(made).outputs,
                                 .attributes = {{"axis", int64_t(-1)}, {"new_axis", fresh}},
                                 .name = "y",
                                 .version = 17});
    g.outputs = {g.node(joined).outputs[0]};
    lift(g);
    verify(g);
    expect_part(text(g), fresh ? "Unsqueeze(a, [-1])" : "Concat(a, b) axis=-1");
    EXPECT_EQ(g.value(g.outputs[0]).type.shape, fresh ? (Shape{2, 3, 2}) : (Shape{2, 6}));
  }
}

}  // namespace
}  // namespace retort
