// Sessions whose nodes run in several memories, on a provider whose memory the host cannot access.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "session/device_session_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

TEST_F(DeviceTest, WholeModelOnTheDevice) {
  const auto s = session(model_of({"a", "b"}, {"c = Add a b", "y = Mul c two"}, {"y"}));
  const auto results = run(*s, {host({1, 2}), host({3, 4})});
  EXPECT_EQ(content(results[0]), (Floats{8, 12}));
  EXPECT_TRUE(results[0].tensor()->space().host_readable());
  EXPECT_EQ(control.runs, 1);
  EXPECT_EQ(control.copies_up, 2);
  EXPECT_EQ(control.copies_down, 1);
  const auto records = s->ledger().records();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].tensor, "a");
  EXPECT_EQ(records[0].cause, CopyCause::run_input);
  EXPECT_EQ(records[2].tensor, "y");
  EXPECT_EQ(records[2].cause, CopyCause::output);
  EXPECT_EQ(records[2].bytes, 8u);
  EXPECT_EQ(s->ledger().total_bytes(), 24u);
}

TEST_F(DeviceTest, BoundOnTheDeviceNothingIsCopied) {
  const auto s = session(model_of({"a", "b"}, {"c = Add a b", "y = Mul c two"}, {"y"}));
  Binding binding(s);
  binding.bind_input("a", on_device({1, 2}));
  binding.bind_input("b", on_device({3, 4}));
  const Tensor y = on_device({0, 0});
  binding.bind_output("y", y);
  binding.run(nullptr);
  EXPECT_EQ(content(y), (Floats{8, 12}));
  EXPECT_EQ(binding.output_value(0).tensor()->data(), y.data());
  const int before = factory->memory().allocations;
  control.copies_down = 0;
  for (int i = 0; i < 5; ++i) binding.run(nullptr);
  EXPECT_EQ(factory->memory().allocations, before);
  EXPECT_EQ(control.copies_up + control.copies_down + control.copies_across, 0);
  EXPECT_EQ(s->ledger().total_bytes(), 0u);
  EXPECT_EQ(content(y), (Floats{8, 12}));
}

TEST_F(DeviceTest, HostInputsAreCopiedOnceWhenTheyAreBound) {
  const auto s = session(model_of({"a", "b"}, {"y = Add a b"}, {"y"}));
  Binding binding(s);
  Tensor a = Tensor::of<float>({2}, {1, 2});
  binding.bind_input("a", a);
  binding.bind_input("b", on_device({3, 4}));
  binding.bind_output("y", control.space);
  a.mutable_data<float>()[0] = 100;  // the binding has the values of the time of binding
  control.copies_up = 0;
  for (int i = 0; i < 3; ++i) binding.run(nullptr);
  EXPECT_EQ(control.copies_up, 0);
  EXPECT_EQ(control.copies_down, 0);
  EXPECT_EQ(content(binding.output_value(0)), (Floats{4, 6}));
  const auto records = s->ledger().records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].cause, CopyCause::bind_input);
  EXPECT_EQ(records[0].count, 1u);
  binding.bind_input("a", a);
  binding.run(nullptr);
  EXPECT_EQ(content(binding.output_value(0)), (Floats{103, 6}));
}

TEST_F(DeviceTest, MemoryOfResultsIsUsedAgainUnlessItIsHeld) {
  const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}));
  Binding binding(s);
  binding.bind_output("y", control.space);
  binding.bind_input("a", on_device({1, 2, 3}));
  binding.run(nullptr);
  const void* first = binding.output_value(0).tensor()->data();
  binding.run(nullptr);
  EXPECT_EQ(binding.output_value(0).tensor()->data(), first);
  const Value held = binding.output_value(0);
  binding.bind_input("a", on_device({10}));
  binding.run(nullptr);
  EXPECT_NE(binding.output_value(0).tensor()->data(), first);
  EXPECT_EQ(content(held), (Floats{3, 4, 5}));
  EXPECT_EQ(content(binding.output_value(0)), (Floats{12}));
}

TEST_F(DeviceTest, CpuAndDeviceTakeTurns) {
  const auto s = session(
      model_of({"a", "b"}, {"c = Add a b", "d = Neg c", "e = Mul d a", "f = Abs a", "y = Add e f"}, {"y", "d"}));
  const auto results = run(*s, {host({1, -2}), host({3, 4})});
  EXPECT_EQ(content(results[0]), (Floats{-3, 6}));  // -(a+b)*a + |a|
  EXPECT_EQ(content(results[1]), (Floats{-4, -2}));
  EXPECT_EQ(control.runs, 3);
  EXPECT_EQ(control.copies_up, 4);    // a and b, d, f
  EXPECT_EQ(control.copies_down, 2);  // c and y; a is read in place
  // An input that is read in two memories can be bound once for both.
  Binding binding(s);
  binding.bind_input("a", on_device({1, -2}));
  binding.bind_input("b", on_device({3, 4}));
  binding.bind_output("y", control.space);
  control.copies_up = control.copies_down = 0;
  binding.run(nullptr);
  EXPECT_EQ(content(binding.output_value(0)), (Floats{-3, 6}));
  control.copies_down = 0;
  control.copies_up = 0;
  binding.run(nullptr);
  EXPECT_EQ(control.copies_up, 2);    // d and f
  EXPECT_EQ(control.copies_down, 1);  // c
}

TEST_F(DeviceTest, OutputsLieInTheRequestedMemory) {
  const auto s = session(model_of({"a"}, {"y = Add a two", "z = Neg a"}, {"y", "z", "a"}));
  Binding binding(s);
  binding.bind_input("a", on_device({1, 5}));
  Tensor y = Tensor::of<float>({2}, {0, 0});
  const Tensor z = on_device({0, 0});
  binding.bind_output("y", y);
  binding.bind_output("z", z);
  binding.bind_output("a", control.space);
  for (int i = 0; i < 2; ++i) binding.run(nullptr);
  EXPECT_EQ(content(y), (Floats{3, 7}));
  EXPECT_EQ(content(z), (Floats{-1, -5}));
  EXPECT_EQ(content(binding.output_value(2)), (Floats{1, 5}));
  EXPECT_FALSE(binding.output_value(2).tensor()->space().host_readable());
}

TEST_F(DeviceTest, OutputOverAnInputIsStaged) {
  const auto s = session(model_of({"a", "b"}, {"c = Add a b", "y = Mul c a"}, {"y"}));
  const Tensor a = on_device({1, 5});
  Binding binding(s);
  binding.bind_input("a", a);
  binding.bind_input("b", on_device({1, 1}));
  binding.bind_output("y", a);
  binding.run(nullptr);
  EXPECT_EQ(content(a), (Floats{2, 30}));
  EXPECT_EQ(control.copies_across, 1);
}

TEST_F(DeviceTest, BodiesReadValuesOfDevices) {
  // y = if any(c > 0) then c * 2 else -c; both bodies capture c
  auto model = model_of({"a"}, {"c = Add a two"}, {});
  Graph& g = *model->graph;
  const ValueId c = g.node(g.order()[0]).outputs[0];
  const auto body = [&](const char* type) {
    auto b = std::make_shared<Graph>(model->dims);
    const ValueId in = b->add_value("c", g.value(c).type);
    b->inputs = {in};
    b->captures = 1;
    b->outputs = b->node(b->add({.type = type, .inputs = {in}, .version = 17})).outputs;
    return b;
  };
  Node n;
  n.type = "If";
  n.version = 17;
  n.name = "choose";
  n.inputs = {g.add_value("cond", ValueType::tensor(DType::boolean, Shape{})), c};
  g.inputs.push_back(n.inputs[0]);
  n.captures = 1;
  n.bodies = {{"then_branch", body("Exp")}, {"else_branch", body("Neg")}};
  n.outputs = {g.add_value("y")};
  g.outputs = {n.outputs[0]};
  g.add_node(std::move(n));
  const auto s = session(model);
  const auto results = run(*s, {host({1, 4}), Tensor::of<bool>({}, {false})});
  EXPECT_EQ(content(results[0]), (Floats{-3, -6}));
}

TEST_F(DeviceTest, CpuModelsTakeTensorsOfDevices) {
  const auto s = session(model_of({"a"}, {"y = Neg a"}, {"y"}));
  EXPECT_EQ(content(run(*s, {on_device({1, 2})})[0]), (Floats{-1, -2}));
  const Tensor y = on_device({0, 0});
  Binding binding(s);
  binding.bind_input("a", on_device({4, 5}));
  binding.bind_output("y", y);
  for (int i = 0; i < 3; ++i) binding.run(nullptr);
  EXPECT_EQ(content(y), (Floats{-4, -5}));
}

TEST_F(DeviceTest, ValuesOutliveTheSession) {
  Value kept;
  {
    const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}));
    Binding binding(s);
    binding.bind_input("a", on_device({1}));
    binding.bind_output("y", control.space);
    binding.run(nullptr);
    kept = binding.output_value(0);
  }
  EXPECT_EQ(content(kept), (Floats{3}));
  EXPECT_EQ(factory->memory().blocks(), 1u);
}

TEST_F(DeviceTest, ExtentsOfOneNameThatDiffer) {
  const auto s = session(model_of({"a", "b"}, {"c = Add a b", "y = Neg c"}, {"y"}));
  EXPECT_EQ(content(run(*s, {host({1, 2}), host({3, 4})})[0]), (Floats{-4, -6}));
  EXPECT_EQ(content(run(*s, {host({1, 2}), host({3})})[0]), (Floats{-4, -5}));  // on a separate plan
}

TEST_F(DeviceTest, ConstantsThatAppearLaterAreUploadedOnce) {
  // The shape of "e" is known only when "g" is a constant, which happens before the claim, so "m" becomes a constant only
  // after it: parts have an input that is a constant.
  control.one_by_one = true;
  auto model = model_of(
      {"a"},
      {"g = ArgMax two", "e = Unsqueeze a g", "t = Shape e", "m = ConstantOfShape t", "b = Add a m", "y = Mul b m"},
      {"y", "b"});
  model->graph->value(model->graph->inputs[0]).type = ValueType::tensor(DType::f32, Shape{1});
  const auto s = session(model);
  EXPECT_EQ(control.copies_up, 1) << "once for both";
  control.copies_up = 0;
  const Tensor a = on_device({3});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(content(run(*s, {a})[1]), (Floats{3}));
  EXPECT_EQ(control.copies_up, 0);
}

TEST_F(DeviceTest, ResultsThatTheDataSizesLieInTheCallersMemory) {
  auto model = model_of({"a"}, {"y = NonZero a"}, {"y"});
  const auto s = session(model);
  Tensor y = Tensor::of<int64_t>({1, 2}, {9, 9});
  Binding binding(s);
  binding.bind_input("a", host({0, 5, 6}));
  binding.bind_output("y", y);
  binding.run(nullptr);
  EXPECT_EQ(y.at<int64_t>(0), 1);
  EXPECT_EQ(y.at<int64_t>(1), 2);
  EXPECT_EQ(s->ledger().total_bytes(), 0u);
  binding.bind_input("a", host({7, 5, 6}));
  EXPECT_CONTAINS(error_of([&] { binding.run(nullptr); }), "output 'y': the given buffer is int64[1,2]");
  EXPECT_EQ(y.at<int64_t>(0), 1);
}

TEST_F(DeviceTest, CopiesAreWrittenToFiles) {
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::remove(path.c_str());
    return text;
  };
  const std::string of_session = cat("{}session_copies_{}.json", ::testing::TempDir(), getpid()),
                    of_run = of_session + ".run";
  SessionOptions o = options();
  o.config["session.copy_ledger_file"] = of_session;
  auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}), o);
  run(*s, {host({1})});
  RunOptions r;
  r.config["copy_ledger_file"] = of_run;
  {
    Binding binding(s);
    binding.bind_input("a", host({1}));
    binding.bind_output("y", MemorySpace());
    binding.run(&r);
  }
  EXPECT_EQ(read(of_run),
            "{\"total_bytes\":4,\"copies\":[{\"tensor\":\"y\",\"cause\":\"output\",\"direction\":"
            "\"device_to_host\",\"from\":\"GPU 0 (vendor 0xbeef)\",\"to\":\"the CPU\",\"bytes\":4,\"count\":1}]}\n");
  s = nullptr;
  const std::string all = read(of_session);
  EXPECT_CONTAINS(all, "{\"total_bytes\":16,");
  EXPECT_CONTAINS(all, "\"cause\":\"run_input\"");
  EXPECT_CONTAINS(all, "\"cause\":\"bind_input\"");
}

TEST_F(DeviceTest, ProfilesNameProvidersAndCopies) {
  SessionOptions o = options();
  o.profiling = true;
  o.profile_prefix = cat("{}device_profile_{}", ::testing::TempDir(), getpid());
  const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}), o);
  run(*s, {host({1})});
  const std::string path = s->end_profiling();
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_CONTAINS(text, "\"provider\":\"TestProvider\"");
  EXPECT_CONTAINS(text, "\"name\":\"copy a\",\"args\":{\"bytes\":4,\"cause\":\"run_input\",\"from\":\"the CPU\"");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace retort
