// Reports of which provider runs which nodes: the line in the log, session.placement, errors of
// session.disable_cpu_ep_fallback.
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "session/device_session_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

class PlacementTest : public DeviceTest {
 protected:
  SessionOptions logging(LogLevel level, const std::string& placement = {}) {
    SessionOptions o = options();
    o.log.severity = int(level);
    o.log.sink = [this](LogLevel, auto, auto, auto, std::string_view message) { log.emplace_back(message); };
    if (!placement.empty()) o.config["session.placement"] = placement;
    return o;
  }
  /// A second provider behind the first one, which claims these operators.
  SessionOptions with_second(std::set<std::string> claimed) {
    second_control.name = "Second";
    second_control.space.device_id = 1;
    second_control.claimed = std::move(claimed);
    const auto second = std::make_shared<TestFactory>(second_control);
    environment->devices()->add(second);
    SessionOptions o = logging(LogLevel::error, "1");
    o.choose_providers = [this, second](const Model&) {
      return std::vector<std::shared_ptr<Provider>>{factory->make_provider({}, {}, nullptr),
                                                    second->make_provider({}, {}, nullptr)};
    };
    return o;
  }
  bool has_line(const std::string& start) const {
    return std::ranges::any_of(log, [&](const std::string& line) { return line.starts_with(start); });
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path);
    unlink(path.c_str());  // it stays open
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // 'y' needs both sides of the border; 'four' is known when the session is made.
  static std::shared_ptr<Model> mixed() {
    return model_of({"a"}, {"four = Exp two", "c = Add a two", "d = Neg c", "e = Mul d four", "y = Softmax e"}, {"y"});
  }

  DeviceControl second_control;
  std::vector<std::string> log;
};

TEST_F(PlacementTest, OneLinePerSession) {
  session(mixed(), logging(LogLevel::info));
  EXPECT_EQ(std::ranges::count(log,
                               "5 nodes: 2 on TestProvider in 2 parts, 2 on the CPU, 1 gone after optimisation; "
                               "3 copies at the borders"),
            1);
  log.clear();
  session(mixed(), logging(LogLevel::warning));
  EXPECT_TRUE(log.empty()) << log[0];
  SessionOptions plain = logging(LogLevel::info);
  plain.choose_providers = {};
  session(model_of({"a"}, {"y = Neg a"}, {"y"}), plain);
  EXPECT_EQ(std::ranges::count(log, "1 node: 1 on the CPU"), 1);
}

TEST_F(PlacementTest, IsLoggedAtEveryLevel) {
  control.why_not["Neg"] = "no kernel for it";
  session(mixed(), logging(LogLevel::error, "1"));
  EXPECT_TRUE(has_line("5 nodes: 2 on TestProvider"));
  EXPECT_TRUE(has_line("node 'make_c' (Add): TestProvider, part 'TestProvider_0'"));
  EXPECT_TRUE(
      has_line("node 'make_d' (Neg): CPUExecutionProvider; TestProvider: asked, did not claim it: no kernel for it"));
  EXPECT_TRUE(has_line("node 'make_four' (Exp): gone after optimisation"));
  EXPECT_TRUE(has_line(
      "node 'make_y' (Softmax): CPUExecutionProvider; TestProvider: asked, did not claim it; it reads 'e' float32[n]"));
  EXPECT_TRUE(has_line("'c' is copied from GPU 0 (vendor 0xbeef) to the CPU for node 'make_d' (Neg) in every run"));
  EXPECT_TRUE(has_line("input 'a': read in GPU 0 (vendor 0xbeef)"));
  EXPECT_TRUE(has_line("output 'y': made in the CPU"));
  log.clear();
  session(mixed(), logging(LogLevel::warning, "0"));
  EXPECT_TRUE(log.empty());
}

TEST_F(PlacementTest, SeveralProviders) {
  session(mixed(), with_second({"Neg", "Add"}));
  EXPECT_TRUE(
      has_line("5 nodes: 2 on TestProvider in 2 parts, 1 on Second in 1 part, 1 on the CPU, 1 gone after optimisation; "
               "3 copies"));
  EXPECT_TRUE(has_line(
      "node 'make_c' (Add): TestProvider, part 'TestProvider_0'; Second: not asked: TestProvider had it before"));
  EXPECT_TRUE(has_line("node 'make_d' (Neg): Second, part 'Second_0'; TestProvider: asked, did not claim it"));
}

// The first provider is also asked about nodes that the second has claimed, including bodies.
TEST_F(PlacementTest, NodesOfBodiesWithinParts) {
  const auto model = model_of({"a"}, {"c = Add a two"}, {});
  Graph& g = *model->graph;
  const ValueId c = g.node(g.order()[0]).outputs[0];
  const auto body = [&](const char* type) {
    auto b = std::make_shared<Graph>(model->dims);
    b->inputs = {b->add_value("c", g.value(c).type)};
    b->captures = 1;
    b->outputs = b->node(b->add({.type = type, .inputs = b->inputs, .name = "within", .version = 17})).outputs;
    return b;
  };
  Node choose;
  choose.type = "If";
  choose.version = 17;
  choose.name = "choose";
  choose.inputs = {g.add_value("cond", ValueType::tensor(DType::boolean, Shape{})), c};
  choose.captures = 1;
  g.inputs.push_back(choose.inputs[0]);
  choose.bodies = {{"then_branch", body("Exp")}, {"else_branch", body("Neg")}};
  choose.outputs = g.outputs = {g.add_value("y", g.value(c).type)};
  g.add_node(std::move(choose));
  control.claimed = {};
  session(model, with_second({"If"}));
  EXPECT_TRUE(has_line("node 'within' (Exp): Second, part 'Second_0'; TestProvider: asked, did not claim it"));
}

TEST_F(PlacementTest, AsJson) {
  const std::string file = cat("{}retort_placement_{}.json", ::testing::TempDir(), getpid());
  const auto model = mixed();
  for (const ValueId in : model->graph->inputs) model->graph->value(in).type = ValueType::tensor(DType::f32, Shape{6});
  session(model, logging(LogLevel::error, file));
  const std::string json = read(file);
  EXPECT_TRUE(log.empty());
  EXPECT_CONTAINS(json, R"j("providers":["TestProvider"])j");
  EXPECT_CONTAINS(
      json,
      R"j({"name":"make_c","op":"Add","domain":"","provider":"TestProvider","part":"TestProvider_0","others":[]})j");
  EXPECT_CONTAINS(json,
                  R"j({"name":"make_four","op":"Exp","domain":"","provider":"CPUExecutionProvider","gone":true,)j");
  EXPECT_CONTAINS(json,
                  R"j("from":"GPU 0 (vendor 0xbeef)","to":"the CPU","reader":"node 'make_d' (Neg)","bytes":24})j");
  EXPECT_CONTAINS(json, R"j("inputs":[{"name":"a","memory":["GPU 0 (vendor 0xbeef)"]}])j");
  EXPECT_CONTAINS(error_of([&] { session(mixed(), logging(LogLevel::error, "/nowhere/at/all")); }),
                  "cannot write the report of session.placement '/nowhere/at/all': No such file or directory; choose a "
                  "writable path");
}

// A provider that claims every Cast does not get one to the type that its input has.
TEST_F(PlacementTest, CastsThatChangeNothing) {
  const std::string file = cat("{}retort_placement_casts_{}.json", ::testing::TempDir(), getpid());
  for (const auto& [to, gone] : {std::pair(DType::f32, true), std::pair(DType::f64, false)}) {
    const auto model = model_of({"a"}, {"c = Cast a", "y = Exp c"}, {"y"});
    model->graph->node(model->graph->order()[0]).attributes = {{"to", int64_t(to)}};
    control.claimed = {"Cast"};
    session(model, logging(LogLevel::error, file));
    const std::string cast = R"j({"name":"make_c","op":"Cast","domain":"","provider":)j";
    EXPECT_CONTAINS(read(file), cast + (gone ? R"j("CPUExecutionProvider","gone":true)j" : R"j("TestProvider")j"));
  }
}

// Nodes that are removed before any run need no provider; the others are named, and the report is written anyway.
TEST_F(PlacementTest, WithoutTheCpu) {
  const std::string file = cat("{}retort_placement_strict_{}.json", ::testing::TempDir(), getpid());
  SessionOptions strict = logging(LogLevel::error, file);
  strict.config["session.disable_cpu_ep_fallback"] = "1";
  EXPECT_CONTAINS(
      error_of([&] { session(mixed(), strict); }),
      "no provider takes node 'make_d' (Neg), node 'make_y' (Softmax), and session.disable_cpu_ep_fallback");
  EXPECT_CONTAINS(read(file), R"("name":"make_d")");
  const auto folded = [] { return model_of({"a"}, {"four = Exp two", "c = Add a four", "y = Identity c"}, {"y"}); };
  const auto s = session(folded(), strict);
  EXPECT_EQ(content(run(*s, {host({1})})[0]), (Floats{1 + std::exp(2.0f)}));
  strict.optimization = OptimizationLevel::none;  // then all nodes run
  EXPECT_CONTAINS(error_of([&] { session(folded(), strict); }),
                  "no provider takes node 'make_four' (Exp), node 'make_y' (Identity), and");
  std::vector<std::string> many;
  for (int i = 0; i < 11; ++i) many.push_back(cat("y{} = Erf {}", i, i ? cat("y{}", i - 1) : "a"));
  EXPECT_CONTAINS(error_of([&] { session(model_of({"a"}, many, {"y10"}), strict); }),
                  "node 'make_y7' (Erf) and 3 more, and session.disable_cpu_ep_fallback");
}

}  // namespace
}  // namespace retort
