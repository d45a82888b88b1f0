// Names and indices of inputs and outputs, and the checks of values for them.
#include "session/ports.h"

#include "session/session_parts_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

TEST(Ports, OverridableInputsComeLast) {
  const SmallModel small;
  const Ports ports = ports_of(small.model);
  EXPECT_EQ(ports.inputs().size(), 2u);
  EXPECT_EQ(ports.overridable().size(), 1u);
  EXPECT_EQ(ports.input_count(), 3u);
  EXPECT_EQ(ports.input(2).name, "w");
  EXPECT_FALSE(ports.is_overridable(1));
  EXPECT_TRUE(ports.is_overridable(2));
}

TEST(Ports, ModelsMayDeclareThemInAnyOrder) {
  SmallModel small;
  std::ranges::rotate(small.model.graph->inputs, small.model.graph->inputs.end() - 1);  // w, a, b
  const Ports ports = ports_of(small.model);
  EXPECT_EQ(ports.index_in_model(0), 2u);
  EXPECT_EQ(ports.index_in_model(1), 0u);
  EXPECT_EQ(ports.index_in_model(2), 1u);
}

TEST(Ports, NamesHaveIndices) {
  const SmallModel small;
  const Ports ports = ports_of(small.model);
  EXPECT_EQ(ports.input_index("b"), 1);
  EXPECT_EQ(ports.input_index("w"), 2);
  EXPECT_EQ(ports.input_index("y"), -1);
  EXPECT_EQ(ports.output_index("y"), 0);
  EXPECT_EQ(ports.output_index("a"), -1);
  expect_part(ports.no_input("x"), "the model has no input 'x'; use");
  expect_part(ports.no_output("x"), "the model has no output 'x'; use 'y'");
}

TEST(Ports, WhatTheFileDoesNotSayOfOutputsIsLearnt) {
  Model model;
  Graph& g = *model.graph;
  const Dim n = model.dims->symbol("n"), unnamed = model.dims->fresh_extent();
  const auto output = [&](const char* name, ValueType type) {
    g.outputs.push_back(g.add_value(name, std::move(type)));
  };
  output("nothing", {});
  output("no shape", ValueType::tensor(DType::f32));
  output("no extent", ValueType::tensor(DType::f32, {7, unnamed, unnamed}));
  output("all", ValueType::tensor(DType::f32, {n}));
  Ports ports = ports_of(model);
  const Dim twice = model.dims->mul(2, n);  // which the table of the ports does not have
  for (const ValueId out : g.outputs) g.value(out).type = ValueType::tensor(DType::i64, {2, n, twice});
  ports.learn_outputs(g);
  const auto text = [&](size_t i) {
    const ValueType& type = ports.outputs()[i].type;
    std::string all = cat("{}:", dtype_name(type.dtype));
    for (const Dim d : type.shape) all += is_known(d) ? cat(" {}", d) : cat(" '{}'", ports.dims().symbol_name(d));
    return all;
  };
  EXPECT_EQ(text(0), "int64: 2 'n' ''");
  EXPECT_EQ(text(1), "float32: 2 'n' ''");
  EXPECT_EQ(text(2), "float32: 7 'n' ''");
  EXPECT_EQ(text(3), "float32: 'n'");
}

TEST(Ports, AnInputThatNothingReadsIsKnown) {
  SmallModel small;
  small.input("unread", ValueType::tensor(DType::f32, Shape{1}));
  const Ports ports = ports_of(small.model);
  EXPECT_TRUE(ports.is_read(0));
  EXPECT_FALSE(ports.is_read(2));
}

TEST(Ports, InputsAreChecked) {
  const SmallModel small;
  const Ports ports = ports_of(small.model);
  ports.check_input(0, vector({1, 2, 3}));
  expect_part(error_of([&] { ports.check_input(0, Tensor::of<int64_t>({1}, {1})); }),
              "input 'a' must be a tensor(float32), a tensor(int64) was given");
  expect_part(error_of([&] {
                ports.check_input(0, Tensor::of<float>({1, 1}, {1}));
              }),
              "input 'a' must have shape [n], [1,1] was given; reshape it to rank 1");
  expect_part(error_of([&] { ports.check_input(2, vector({1, 2})); }), "give it these extents");
  expect_part(error_of([&] { ports.check_input(0, Value(Sequence{})); }), "another kind of value was given");
}

TEST(Ports, AScalarMayHaveAnyShape) {
  SmallModel small;
  small.input("scalar", ValueType::tensor(DType::f32, Shape{}));
  const Ports ports = ports_of(small.model);
  ports.check_input(2, Tensor::of<float>({1, 1}, {1}));
  ports.check_input(2, vector({1, 2}));
}

TEST(Ports, OutputsAreCheckedForTheirKindOnly) {
  const SmallModel small;
  const Ports ports = ports_of(small.model);
  ports.check_output(0, Tensor::of<float>({1, 1}, {1}));
  expect_part(error_of([&] { ports.check_output(0, Value(Sequence{})); }), "output 'y' is");
}

TEST(Ports, MemoryThatNobodyCanCopyFromIsRefused) {
  const SmallModel small;
  const Ports ports = ports_of(small.model);
  const MemorySpace device{DeviceType::gpu, MemoryKind::device, 0xbeef, 0, 0};
  float unreachable = 0;
  const Value value = Tensor(DType::f32, {1}, &unreachable, nullptr, device);
  expect_part(error_of([&] { ports.check_input(0, value); }), "input 'a': no provider copies from or to");
  expect_part(error_of([&] { ports.check_output(0, value); }), "output 'y': no provider copies from or to");
}

TEST(Ports, LieOnTheHostUntilAPlanSaysOtherwise) {
  const SmallModel small;
  Ports ports = ports_of(small.model);
  EXPECT_TRUE(ports.input_spaces(2)[0].host_readable());
  EXPECT_TRUE(ports.output_space(0).host_readable());
  const MemorySpace device{DeviceType::gpu, MemoryKind::device, 0xbeef, 0, 0};
  ports.set_spaces({{{MemorySpace(), device}, {device}, {device}}, {device}});
  EXPECT_EQ(ports.input_spaces(0).size(), 2u);
  EXPECT_EQ(ports.output_space(0), device);
}

}  // namespace
}  // namespace retort
