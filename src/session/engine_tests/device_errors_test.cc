// Errors of providers, their devices and callers.
#include <gtest/gtest.h>

#include "session/device_session_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

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
                  "output 'y' is made in GPU 0 (vendor 0xbeef) and requested in the CPU");
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

TEST_F(DeviceTest, MemoryOfTheWrongShapeIsLeftAlone) {
  const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}));
  Binding binding(s);
  binding.bind_input("a", on_device({1, 5}));
  const Tensor y = on_device({7, 7, 7});
  binding.bind_output("y", y);
  EXPECT_CONTAINS(error_of([&] { binding.run(nullptr); }), "output 'y': the given buffer is float32[3]");
  EXPECT_EQ(content(y), (Floats{7, 7, 7}));
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
  EXPECT_CONTAINS(claiming({{0}, {0}}), "claimed node 0, which does not exist or was claimed before");
  EXPECT_CONTAINS(claiming({{0, 0}}), "claimed node 'make_c' (Add) twice");
  EXPECT_CONTAINS(claiming({{77}}), "claimed node 77, which does not exist");
  EXPECT_CONTAINS(claiming({{}}), "claimed a part without nodes");
  EXPECT_EQ(claiming({{0}, {2}}), "no error");
  EXPECT_EQ(claiming({{2, 0, 1}}), "no error");
}

// Two parts that are each valid, but neither of which could run first.
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
  control.faults.compile = "no such thing";
  EXPECT_CONTAINS(error_of([&] { session(model()); }),
                  "provider 'TestProvider' compiling part 'TestProvider_0' of 1 nodes: no such thing");
  control.faults.compile.clear();
  const auto s = session(model());
  control.faults.run = "device lost";
  const std::string lost = error_of([&] { run(*s, {host({1})}); });
  EXPECT_CONTAINS(lost, "TestProvider_0");
  EXPECT_CONTAINS(lost, "device lost");
  control.faults.run.clear();
  control.faults.no_output = true;
  EXPECT_CONTAINS(error_of([&] { run(*s, {host({1})}); }), "provider 'TestProvider' made no output 'y'");
  control.faults.no_output = false;
  EXPECT_EQ(content(run(*s, {host({1})})[0]), (Floats{3}));
  EXPECT_EQ(control.run_begins, control.run_ends);
}

TEST_F(DeviceTest, MemoryOfNoProvider) {
  const auto s = session(model_of({"a"}, {"y = Neg a"}, {"y"}));
  char elsewhere[8];
  const Tensor lost(DType::f32, {2}, elsewhere, nullptr, {DeviceType::npu, MemoryKind::device, 0x1234, 3, 0});
  EXPECT_CONTAINS(error_of([&] { run(*s, {lost}); }), "from NPU 3 (vendor 0x1234) to the CPU");
  Binding binding(s);
  EXPECT_CONTAINS(error_of([&] { binding.bind_input("a", lost); }), "NPU 3 (vendor 0x1234)");
}

// Results of an output that is bound to memory that exists nowhere lie in that of the CPU, and the log says so once.
TEST_F(DeviceTest, AnOutputInMemoryOfNoProvider) {
  std::vector<std::string> log;
  SessionOptions logging = options();
  logging.log.sink = [&](LogLevel level, auto, auto, auto, std::string_view message) {
    if (level == LogLevel::warning) log.emplace_back(message);
  };
  Binding binding(session(model_of({"a"}, {"y = Neg a"}, {"y"}), logging));
  const MemorySpace nowhere{DeviceType::npu, MemoryKind::device, 0x1234, 3, 0};
  for (float x = 1; x < 3; ++x) {
    binding.bind_input("a", host({x}));
    binding.bind_output("y", nowhere);
    binding.run(nullptr);
    EXPECT_EQ(binding.output_value(0).tensor()->space(), MemorySpace());
    EXPECT_EQ(content(binding.output_value(0)), (Floats{-x}));
  }
  ASSERT_EQ(log.size(), 1u);
  EXPECT_CONTAINS(log[0], "output 'y': no provider has memory of NPU 3 (vendor 0x1234)");
}

// Whatever fails, the run reports it, its results stay empty, and the next run works.
TEST_F(DeviceTest, EveryFunctionMayFail) {
  const auto s = session(model_of({"a"}, {"c = Add a two", "d = Neg c", "y = Mul d two"}, {"y", "d"}));
  for (const std::string function : {"make_stream", "run_begins", "run_ends", "copy", "wait", "allocate"}) {
    if (function != "wait" && function != "allocate") control.faults.functions = {function};
    control.faults.lost = function == "wait";
    factory->memory().full = function == "allocate";
    const Value a = function == "allocate" ? host({1, 1}) : host({1});  // more than is kept
    std::vector<Value> results(2);
    const Value* const in[] = {&a};
    Value* const out[] = {&results[0], &results[1]};
    EXPECT_CONTAINS(error_of([&] { s->run(in, out, {}, nullptr); }), function + " failed");
    EXPECT_TRUE(results[0].empty() && results[1].empty()) << function;
    EXPECT_EQ(control.run_begins, control.run_ends) << function;
    control.faults.functions.clear();
    control.faults.lost = factory->memory().full = false;
    s->run(in, out, {}, nullptr);
    EXPECT_EQ(content(results[0])[0], -6) << function;
  }
}

// The caller receives the part's own error, not one of the cleanup.
TEST_F(DeviceTest, TheFirstErrorIsReported) {
  const auto s = session(model_of({"a"}, {"y = Add a two"}, {"y"}));
  control.faults.run = "device lost";
  control.faults.lost = true;
  control.faults.functions = {"run_ends"};
  EXPECT_CONTAINS(error_of([&] { run(*s, {on_device({1})}); }), "device lost");
}

TEST_F(DeviceTest, PartsTakeAndMakeTensorsOnly) {
  control.claimed = {"SequenceConstruct"};
  const std::vector<std::string> nodes{"q = SequenceConstruct a a", "y = SequenceLength q"};
  EXPECT_CONTAINS(
      error_of([&] { session(model_of({"a"}, nodes, {"y"})); }),
      "provider 'TestProvider' claimed node 'make_q' (SequenceConstruct), whose output 'q' is not a tensor");
  control.claimed = {"SequenceLength"};
  EXPECT_CONTAINS(error_of([&] { session(model_of({"a"}, nodes, {"y"})); }),
                  "claimed node 'make_y' (SequenceLength), whose input 'q' is not a tensor");
}

}  // namespace
}  // namespace retort
