// Parts of a device inside bodies of Loop and If that the CPU runs.
#include <gtest/gtest.h>

#include "session/device_session_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

/// y = v after m iterations of v = v + k, and s = each v; k = -x is computed on the host, v starts with x.
struct Rounds {
  std::shared_ptr<Model> model = std::make_shared<Model>();

  explicit Rounds(int64_t m) {
    model->ir_version = 8;
    model->opsets[""] = 17;
    Graph& g = *model->graph;
    const ValueType floats = ValueType::tensor(DType::f32, Shape{model->dims->symbol("n")});
    const ValueId x = g.add_value("x", floats), count = g.add_constant("m", Tensor::of<int64_t>({}, {m}));
    g.inputs.push_back(x);
    const NodeId negative = g.add({.type = "Neg", .inputs = {x}, .name = "minus", .version = 17});
    Node loop;
    loop.type = "Loop";
    loop.name = "rounds";
    loop.version = 17;
    loop.inputs = {count, ValueId::none, x, g.node(negative).outputs[0]};
    loop.captures = 1;
    loop.outputs = {g.add_value("y"), g.add_value("s")};
    loop.bodies.push_back({"body", body(floats)});
    g.outputs = loop.outputs;
    g.add_node(std::move(loop));
  }

  std::shared_ptr<Graph> body(const ValueType& floats) const {
    auto g = std::make_shared<Graph>(model->dims);
    const ValueId go = g->add_value("go", ValueType::tensor(DType::boolean, Shape{})), v = g->add_value("v", floats),
                  k = g->add_value("k", floats);
    g->inputs = {g->add_value("i", ValueType::tensor(DType::i64, Shape{})), go, v, k};
    g->captures = 1;
    const NodeId on = g->add({.type = "Identity", .inputs = {go}, .name = "on", .version = 17});
    const NodeId sum = g->add({.type = "Add", .inputs = {v, k}, .name = "sum", .version = 17});
    const NodeId same = g->add({.type = "Relu", .inputs = {g->node(sum).outputs[0]}, .name = "each", .version = 17});
    g->outputs = {g->node(on).outputs[0], g->node(sum).outputs[0], g->node(same).outputs[0]};
    return g;
  }
};

struct DeviceBodies : DeviceTest {
  DeviceBodies() { control.in_bodies = true; }
};

TEST_F(DeviceBodies, PartsRunInEachRound) {
  const auto s = session(Rounds(3).model);
  for (int i = 0; i < 2; ++i) {
    control.runs = control.copies_up = control.copies_down = 0;
    const auto results = run(*s, {host({-1, 2})});
    EXPECT_EQ(content(results[0]), (Floats{2, -4}));
    EXPECT_EQ(content(results[1]), (Floats{0, 0, 1, 0, 2, 0}));
    EXPECT_EQ(control.runs, 3);
    EXPECT_EQ(control.copies_up, 4) << "v in each round, k once";
    EXPECT_EQ(control.copies_down, 6) << "v and its positive part";
  }
}

TEST_F(DeviceBodies, WithoutRoundsNothingIsCopied) {
  const auto s = session(Rounds(0).model);
  EXPECT_EQ(content(run(*s, {host({-1, 2})})[0]), (Floats{-1, 2}));
  EXPECT_EQ(control.runs + control.copies_up + control.copies_down, 0);
}

TEST_F(DeviceBodies, ErrorsNameTheNodeAndItsBody) {
  const auto s = session(Rounds(3).model);
  control.faults.run = "the device is tired";
  const std::string error = error_of([&] { run(*s, {host({-1, 2})}); });
  EXPECT_CONTAINS(error, "rounds");
  EXPECT_CONTAINS(error, "the device is tired");
  control.faults.run.clear();
  EXPECT_EQ(content(run(*s, {host({-1, 2})})[0]), (Floats{2, -4}));
}

TEST_F(DeviceBodies, CopiesOfIterationsAreReported) {
  SessionOptions o = options();
  o.config["session.disallow_implicit_copies"] = "1";
  const std::string error = error_of([&] { session(Rounds(3).model, o); });
  EXPECT_CONTAINS(error, "'v'");
  EXPECT_CONTAINS(error, "the body of node 'rounds' (Loop)");
}

}  // namespace
}  // namespace retort
