// Sessions whose nodes run in several memories, on a provider whose memory the host cannot touch.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "session/binding.h"
#include "session/device_testing.h"
#include "session/session_testing.h"

namespace retort {
namespace {

using testing::DeviceControl;
using testing::FencedMemory;
using testing::TestFactory;

/// A model of vectors of any length: nodes are written as "c = Add a b".
std::shared_ptr<Model> model_of(const std::vector<std::string>& inputs, const std::vector<std::string>& nodes,
                                const std::vector<std::string>& outputs) {
  auto model = std::make_shared<Model>();
  model->ir_version = 8;
  model->opsets[""] = 17;
  Graph& g = *model->graph;
  std::map<std::string, ValueId> values;
  for (const std::string& name : inputs) {
    values[name] = g.add_value(name, ValueType::tensor(DType::f32, Shape{model->dims->symbol("n")}));
    g.inputs.push_back(values[name]);
  }
  values["two"] = g.add_constant("two", Tensor::of<float>({1}, {2}));
  for (const std::string& line : nodes) {
    std::istringstream words(line);
    std::string out, equals, type, in;
    words >> out >> equals >> type;
    std::vector<ValueId> given;
    while (words >> in) given.push_back(values.at(in));
    const NodeId id = g.add({.type = type, .inputs = given, .name = "make_" + out, .version = 17});
    values[out] = g.node(id).outputs[0];
    g.value(values[out]).name = out;
  }
  for (const std::string& name : outputs) g.outputs.push_back(values.at(name));
  return model;
}

class DeviceTest : public ::testing::Test {
 protected:
  DeviceTest() { environment->devices()->add(factory); }

  SessionOptions options() {
    SessionOptions o;
    o.threads.intra_threads = 1;
    o.choose_providers = [this](const Model&) {
      std::vector<std::shared_ptr<Provider>> all;
      all.push_back(factory->make_provider({}, {}));
      return all;
    };
    return o;
  }
  std::shared_ptr<Session> session(const std::shared_ptr<Model>& model) { return session(model, options()); }
  std::shared_ptr<Session> session(const std::shared_ptr<Model>& model, const SessionOptions& o) {
    return std::make_shared<Session>(environment, model, o);
  }
  Tensor on_device(const std::vector<float>& content) {
    const Tensor host = Tensor::of<float>({int64_t(content.size())}, content);
    const auto memory = environment->devices()->allocate(control.space, host.bytes());
    Tensor t(DType::f32, host.shape(), memory.get(), memory, control.space);
    environment->devices()->copy(host, t, nullptr);
    control.copies_up = 0;
    return t;
  }
  std::vector<float> content(const Value& value) {
    const Tensor& t = *value.tensor();
    Tensor host(t.dtype(), t.shape());
    environment->devices()->copy(t, host, nullptr);
    return {host.data<float>(), host.data<float>() + host.count()};
  }
  static Value host(const std::vector<float>& v) { return Tensor::of<float>({int64_t(v.size())}, v); }
  static std::string error_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.message();
    }
    return "no error";
  }

  DeviceControl control;
  std::shared_ptr<TestFactory> factory = std::make_shared<TestFactory>(control);
  std::shared_ptr<Environment> environment = std::make_shared<Environment>(EnvironmentOptions{});
};

using Floats = std::vector<float>;

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
  a.mutable_data<float>()[0] = 100;  // what was bound is what it held then
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

TEST_F(DeviceTest, MemoryOfResultsIsUsedAgainUnlessSomebodyHoldsIt) {
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
  EXPECT_EQ(control.copies_down, 2);  // c and y; a is read where it is
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

TEST_F(DeviceTest, ImplicitCopiesCanBeForbidden) {
  SessionOptions strict = options();
  strict.config["session.disallow_implicit_copies"] = "1";
  EXPECT_CONTAINS(error_of([&] {
                    session(model_of({"a"}, {"c = Add a two", "d = Neg c", "y = Add d two"}, {"y"}), strict);
                  }),
                  "'c' is made in GPU 0 (vendor 0xbeef) and read by node 'make_d' (Neg) in the CPU");
  const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}), strict);
  EXPECT_CONTAINS(error_of([&] { run(*s, {host({1})}); }),
                  "input 'a' lies in the CPU and is read in GPU 0 (vendor 0xbeef)");
  EXPECT_CONTAINS(error_of([&] { run(*s, {on_device({1})}); }),
                  "output 'y' is made in GPU 0 (vendor 0xbeef) and wanted in the CPU");
  Binding binding(s);
  EXPECT_CONTAINS(error_of([&] { binding.bind_input("a", host({1})); }), "session.disallow_implicit_copies forbids");
  binding.bind_input("a", on_device({1}));
  binding.bind_output("y", host({0}));
  EXPECT_CONTAINS(error_of([&] { binding.run(nullptr); }), "output 'y' would have to be copied from GPU 0");
  binding.bind_output("y", control.space);
  binding.run(nullptr);
  EXPECT_EQ(content(binding.output_value(0)), (Floats{3}));
  EXPECT_EQ(s->ledger().total_bytes(), 0u);
}

TEST_F(DeviceTest, OutputsGoWhereTheyAreWanted) {
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

TEST_F(DeviceTest, MemoryOfTheWrongShapeIsLeftAlone) {
  const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}));
  Binding binding(s);
  binding.bind_input("a", on_device({1, 5}));
  const Tensor y = on_device({7, 7, 7});
  binding.bind_output("y", y);
  EXPECT_CONTAINS(error_of([&] { binding.run(nullptr); }), "output 'y': the given buffer is float32[3]");
  EXPECT_EQ(content(y), (Floats{7, 7, 7}));
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

TEST_F(DeviceTest, StreamsWorkBesideTheHost) {
  control.delay = std::chrono::milliseconds(3);
  const auto s =
      session(model_of({"a", "b"}, {"c = Add a b", "d = Neg c", "e = Mul d a", "f = Abs e", "y = Add f b"}, {"y"}));
  for (float k = 1; k < 4; ++k) {
    const auto results = run(*s, {host({k, -2}), host({3, 4})});
    EXPECT_EQ(content(results[0]), (Floats{(k + 3) * k + 3, 4 + 4}));
  }
}

TEST_F(DeviceTest, RunsNeedNotWait) {
  control.delay = std::chrono::milliseconds(20);
  const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}));
  const auto stream = factory->make_stream(0, {});
  RunOptions run_options;
  run_options.stream = stream.get();
  run_options.config["disable_synchronize_execution_providers"] = "1";
  Binding binding(s);
  binding.bind_input("a", on_device({1}));
  const Tensor y = on_device({0});
  binding.bind_output("y", y);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) binding.run(&run_options);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(40)) << "three pieces of work of 20 ms";
  synchronize(*stream);
  EXPECT_EQ(content(y), (Floats{3}));
  run_options.config.clear();
  binding.run(&run_options);  // waits for the caller's stream
  EXPECT_EQ(control.runs, 4);
}

TEST_F(DeviceTest, BodiesReadWhatDevicesMade) {
  // y = if any(c > 0) then c * 2 else -c, both bodies capturing c
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

TEST_F(DeviceTest, WrongClaims) {
  const auto model = [] { return model_of({"a"}, {"c = Add a two", "d = Neg c", "y = Add d c"}, {"y"}); };
  const auto claiming = [&](std::vector<std::vector<uint32_t>> parts) {
    control.claim = [parts](const Graph&) {
      std::vector<Claim> claims;
      for (const auto& part : parts) {
        claims.emplace_back();
        for (const uint32_t id : part) claims.back().nodes.push_back(NodeId(id));
      }
      return claims;
    };
    return error_of([&] { session(model()); });
  };
  EXPECT_CONTAINS(claiming({{0, 2}}),
                  "provider 'TestProvider' claimed node 'make_y' (Add), which needs a result of node "
                  "'make_d' (Neg), which needs one of the same part");
  EXPECT_CONTAINS(claiming({{0}, {0}}), "claimed node 0, which is not there or was claimed before");
  EXPECT_CONTAINS(claiming({{0, 0}}), "claimed node 'make_c' (Add) twice");
  EXPECT_CONTAINS(claiming({{77}}), "claimed node 77, which is not there");
  EXPECT_CONTAINS(claiming({{}}), "claimed a part without nodes");
  EXPECT_EQ(claiming({{0}, {2}}), "no error");
  EXPECT_EQ(claiming({{2, 0, 1}}), "no error");
}

// Two parts that are each fine, but neither of which could run first.
TEST_F(DeviceTest, PartsThatNeedEachOther) {
  control.claim = [](const Graph&) {
    return std::vector<Claim>{{{NodeId(0), NodeId(3)}, ""}, {{NodeId(1), NodeId(2)}, ""}};
  };
  const std::string error = error_of([&] {
    session(model_of({"a", "b"}, {"p = Add a two", "q = Add p two", "r = Add b two", "s = Add r two"}, {"q", "s"}));
  });
  EXPECT_CONTAINS(error, "provider 'TestProvider' claimed");
}

TEST_F(DeviceTest, FailuresNameProviderAndPart) {
  const auto model = [] { return model_of({"a"}, {"y = Add a two"}, {"y"}); };
  control.fail_compile = "no such thing";
  EXPECT_CONTAINS(error_of([&] { session(model()); }),
                  "provider 'TestProvider' compiling part 'TestProvider_0' of 1 nodes: no such thing");
  control.fail_compile.clear();
  const auto s = session(model());
  control.fail_run = "device lost";
  const std::string lost = error_of([&] { run(*s, {host({1})}); });
  EXPECT_CONTAINS(lost, "TestProvider_0");
  EXPECT_CONTAINS(lost, "device lost");
  control.fail_run.clear();
  control.no_output = true;
  EXPECT_CONTAINS(error_of([&] { run(*s, {host({1})}); }), "provider 'TestProvider' made no output 'y'");
  control.no_output = false;
  EXPECT_EQ(content(run(*s, {host({1})})[0]), (Floats{3}));
  EXPECT_EQ(control.run_begins, control.run_ends);
}

TEST_F(DeviceTest, MemoryThatNobodyHas) {
  const auto s = session(model_of({"a"}, {"y = Neg a"}, {"y"}));
  char elsewhere[8];
  const Tensor lost(DType::f32, {2}, elsewhere, nullptr, {DeviceType::npu, MemoryKind::device, 0x1234, 3, 0});
  EXPECT_CONTAINS(error_of([&] { run(*s, {lost}); }), "from NPU 3 (vendor 0x1234) to the CPU");
  Binding binding(s);
  EXPECT_CONTAINS(error_of([&] { binding.bind_input("a", lost); }), "NPU 3 (vendor 0x1234)");
  EXPECT_CONTAINS(error_of([&] { binding.bind_output("y", lost.space()); }),
                  "output 'y': nobody has memory of NPU 3 (vendor 0x1234)");
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

TEST_F(DeviceTest, BindingsRunSideBySide) {
  control.delay = std::chrono::microseconds(200);
  const auto s = session(model_of({"a", "b"}, {"c = Add a b", "d = Neg c", "y = Mul d a"}, {"y"}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Binding binding(s);
      const float k = float(t);
      binding.bind_input("a", host({k, 1}));
      binding.bind_input("b", host({1, k}));
      binding.bind_output("y", control.space);
      for (int i = 0; i < 10; ++i) {
        binding.run(nullptr);
        EXPECT_EQ(content(binding.output_value(0)), (Floats{-(k + 1) * k, -(1 + k)}));
      }
    });
  }
  for (std::thread& t : threads) t.join();
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
  EXPECT_EQ(content(run(*s, {host({1, 2}), host({3})})[0]), (Floats{-4, -5}));  // on a plan of its own
}

TEST_F(DeviceTest, ConstantsThatAppearLaterAreUploadedOnce) {
  // "Neg two" is folded after the claim, so that a part has an input that is a constant.
  const auto s = session(model_of({"a"}, {"m = Neg two", "y = Mul a m"}, {"y"}));
  control.copies_up = 0;
  const Tensor a = on_device({3});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(content(run(*s, {a})[0]), (Floats{-6}));
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
  const std::string of_session = ::testing::TempDir() + "session_copies.json", of_run = of_session + ".run";
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

TEST_F(DeviceTest, ProfilesTellProvidersAndCopies) {
  SessionOptions o = options();
  o.profiling = true;
  o.profile_prefix = ::testing::TempDir() + "device_profile";
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
