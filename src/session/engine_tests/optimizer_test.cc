// An optimised model computes the same as the original: every example with all passes, with each stage alone, and
// without each pass or rule is compared with the graph without passes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "passes/optimize.h"
#include "session/engine_tests/optimizer_examples_testing.h"
#include "session/session_testing.h"

namespace retort {
namespace {

// The names of all stages and rules.
std::set<std::string> pass_names() {
  std::set<std::string> names;
  for (const std::vector<std::string>& stage : pass_stages()) names.insert(stage.begin(), stage.end());
  return names;
}

// The stages and rules that change this example.
std::set<std::string> effective_passes(const OptimizerExample& example, bool round_products = false) {
  TestGraph t;
  example.build(t);
  std::set<std::string> effective;
  PassOptions options;
  options.round_products = round_products;
  options.report = [&](const PassReport& r) {
    if (r.changes()) effective.emplace(r.name);
    for (const auto& [what, times] : r.counts) effective.insert(what);
  };
  optimize(t.g, options);
  return effective;
}

std::string joined(const std::set<std::string>& names) {
  std::string list;
  for (const std::string& n : names) list += n + ";";
  return list;
}

// Rounded products have tests of their own.
SessionOptions without(const std::set<std::string>& names) {
  SessionOptions options;
  options.config["session.qdq_matmulnbits_accuracy_level"] = "0";
  options.threads.intra_threads = 1;
  options.config["optimization.disable_specified_optimizers"] = joined(names);
  return options;
}

class Optimizer : public ::testing::TestWithParam<OptimizerExample> {
 protected:
  Optimizer() {
    GetParam().build(t_);
    for (Tensor& in : random_inputs(t_.g)) inputs_.emplace_back(std::move(in));
    plain_ = tensors(run(t_.g, inputs_, OptimizationLevel::none));
  }
  static std::vector<Tensor> tensors(const std::vector<Value>& values) {
    std::vector<Tensor> list;
    for (const Value& v : values) list.push_back(*v.tensor());
    return list;
  }
  void expect_same(const SessionOptions& options) {
    expect_equal_results(plain_, tensors(run(*make_session(t_.g, options), inputs_)));
  }

  TestGraph t_;
  std::vector<Value> inputs_;
  std::vector<Tensor> plain_;
};

TEST_P(Optimizer, EveryLevel) {
  for (const OptimizationLevel level :
       {OptimizationLevel::basic, OptimizationLevel::extended, OptimizationLevel::layout, OptimizationLevel::all}) {
    SCOPED_TRACE(int(level));
    SessionOptions options = without({});
    options.optimization = level;
    expect_same(options);
  }
}

TEST_P(Optimizer, SavedAndLoadedAgain) {
  const std::string file = cat("{}retort_optimizer_{}.onnx", ::testing::TempDir(), getpid());
  for (const OptimizationLevel level : {OptimizationLevel::none, OptimizationLevel::basic, OptimizationLevel::extended,
                                        OptimizationLevel::layout, OptimizationLevel::all}) {
    SCOPED_TRACE(int(level));
    SessionOptions options = without({});
    options.optimization = level;
    options.optimized_model_path = file;
    make_session(t_.g, options);
    Session again(std::make_shared<Environment>(EnvironmentOptions{}), file, without({}));
    unlink(file.c_str());
    expect_equal_results(plain_, tensors(run(again, inputs_)));
  }
}

TEST_P(Optimizer, EachStageAlone) {
  for (const std::vector<std::string>& stage : pass_stages()) {
    SCOPED_TRACE(stage[0]);
    std::set<std::string> others = pass_names();
    for (const std::string& name : stage) others.erase(name);
    expect_same(without(others));
  }
}

// Leaving out one that changes nothing would be the same run again.
TEST_P(Optimizer, EachPassLeftOut) {
  const std::set<std::string> names = pass_names();
  for (const std::string& name : effective_passes(GetParam())) {
    if (!names.contains(name)) continue;  // a kind of change that has no switch
    SCOPED_TRACE(name);
    expect_same(without({name}));
  }
}

std::string example_name(const ::testing::TestParamInfo<OptimizerExample>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Examples, Optimizer,
                         ::testing::ValuesIn(optimizer_examples().begin(), optimizer_examples().end()), example_name);

TEST(OptimizerExamples, MakeEveryPassDoSomething) {
  std::set<std::string> done;
  for (const OptimizerExample& example : optimizer_examples()) {
    for (const bool round_products : {false, true}) done.merge(effective_passes(example, round_products));
  }
  for (const std::string& name : pass_names()) EXPECT_TRUE(done.contains(name)) << name << " changed no example";
}

}  // namespace
}  // namespace retort
