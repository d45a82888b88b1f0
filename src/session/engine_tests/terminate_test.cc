// Tests runs that are terminated while they are inside one long operator.
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "session/session_testing.h"

namespace retort {
namespace {

/// The processor time of all threads of this process, since other programs may use the processors, too.
double worked() { return double(std::clock()) / CLOCKS_PER_SEC; }

void set_terminate(RunOptions& options) {
  ++options.terminations;
  options.terminate = true;
}

std::unique_ptr<Session> session_of(const Graph& graph, OptimizationLevel level, int threads) {
  SessionOptions options;
  options.optimization = level;
  options.threads.intra_threads = threads;
  return make_session(graph, options);
}

/// Runs one input; returns the error's message, or "" after success.
std::string run_one(Session& session, const Tensor& input, const RunOptions& options, Value& result) {
  const Value x(input);
  const Value* inputs[] = {&x};
  Value* outputs[] = {&result};
  try {
    session.run(inputs, outputs, {}, &options);
  } catch (const Error& e) {
    return e.message();
  }
  return {};
}

/// x [1, m, …] through one operator that takes seconds for a large m.
struct Long {
  const char* name;
  DType type;
  OptimizationLevel level;
  void (*build)(TestGraph& t, ValueId x);
  Shape large, small;
};

Attributes pads(int64_t p) { return {{"pads", std::vector<int64_t>{p, p, p, p}}}; }

const Long kLongRuns[] = {
    {"MatMul",
     DType::f32,
     OptimizationLevel::all,
     [](TestGraph& t, ValueId x) {
       t.output(t.add("MatMul", {x, t.weight("w", {4096, 4096})}), "y");
     },
     {8192, 4096},
     {1, 4096}},
    {"MatMul of doubles",
     DType::f64,
     OptimizationLevel::all,
     [](TestGraph& t, ValueId x) {
       t.output(t.add("MatMul", {x, x}), "y");
     },
     {4096, 4096},
     {3, 3}},
    {"Winograd",
     DType::f32,
     OptimizationLevel::all,
     [](TestGraph& t, ValueId x) {
       t.output(t.add("Conv", {x, t.weight("w", {1024, 1024, 3, 3})}, pads(1)), "y");
     },
     {1, 1024, 192, 192},
     {1, 1024, 9, 9}},
    {"convolution by rows",
     DType::f32,
     OptimizationLevel::all,
     [](TestGraph& t, ValueId x) {
       t.output(t.add("Conv", {x, t.weight("w", {256, 256, 5, 5})}, pads(2)), "y");
     },
     {1, 256, 384, 384},
     {1, 256, 9, 9}},
    {"convolution without optimisation",
     DType::f32,
     OptimizationLevel::none,
     [](TestGraph& t, ValueId x) {
       t.output(t.add("Conv", {x, t.weight("w", {256, 256, 5, 5})}, pads(2)), "y");
     },
     {1, 256, 384, 384},
     {1, 256, 9, 9}},
    {"Einsum by products",
     DType::f32,
     OptimizationLevel::all,
     [](TestGraph& t, ValueId x) {
       t.output(t.add("Einsum", {x, x}, {{"equation", std::string("ij,jk->ik")}}), "y");
     },
     {4096, 4096},
     {3, 3}},
    {"Einsum by loops",
     DType::i64,
     OptimizationLevel::all,
     [](TestGraph& t, ValueId x) {
       t.output(t.add("Einsum", {x, x}, {{"equation", std::string("ij,kj->")}}), "y");
     },
     {20000, 64},
     {3, 2}},
};

Tensor ones(DType type, const Shape& shape) {
  Tensor t(type, shape);
  if (type == DType::f32) std::fill_n(t.mutable_data<float>(), t.count(), 1.0f);
  if (type == DType::f64) std::fill_n(t.mutable_data<double>(), t.count(), 1.0);
  if (type == DType::i64) std::fill_n(t.mutable_data<int64_t>(), t.count(), int64_t(1));
  return t;
}

class Terminate : public ::testing::TestWithParam<int> {};

TEST_P(Terminate, EndsALongOperatorSoonWithAnError) {
  for (const Long& l : kLongRuns) {
    TestGraph t;
    Shape shape = l.large;
    for (size_t d = 0; d < shape.rank(); ++d) {
      if (l.large[d] != l.small[d]) shape[d] = t.symbol("n" + std::to_string(d));
    }
    l.build(t, t.input("x", shape, l.type));
    const auto session = session_of(t.g, l.level, GetParam());
    const Tensor large = ones(l.type, l.large), small = ones(l.type, l.small);
    RunOptions options;
    Value before, y, after;
    ASSERT_EQ(run_one(*session, small, options, before), "") << l.name;
    double asked = 0;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      asked = worked();
      set_terminate(options);
    });
    const std::string error = run_one(*session, large, options, y);
    const double end = worked();
    other.join();
    EXPECT_CONTAINS(error, "terminated") << l.name;
    EXPECT_TRUE(y.empty()) << l.name;
    // Usually a few milliseconds; uninterrupted, each would take longer than this even on two threads.
    EXPECT_LT(end - asked, 0.5 * GetParam()) << l.name;
    options.terminate = false;
    ASSERT_EQ(run_one(*session, small, options, after), "") << l.name;
    ASSERT_EQ(after.tensor()->bytes(), before.tensor()->bytes());
    EXPECT_EQ(std::memcmp(after.tensor()->data(), before.tensor()->data(), before.tensor()->bytes()), 0) << l.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Terminate, ::testing::Values(1, 2));

// A kernel may have seen the flag before it was reset.
TEST(TerminateFlag, EndsTheRunEvenIfItIsResetLater) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("m"), 1024});
  t.output(t.add("MatMul", {x, t.weight("w", {1024, 1024})}), "y");
  const auto session = session_of(t.g, OptimizationLevel::all, 2);
  RunOptions options;
  Value y;
  const Tensor large = ones(DType::f32, {16384, 1024});
  std::atomic<bool> ready{false}, over{false}, late{false};
  std::thread other([&] {
    ready.wait(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    late = over.load();
    set_terminate(options);
    options.terminate = false;
  });
  ready = true;
  ready.notify_one();
  const std::string error = run_one(*session, large, options, y);
  over = true;
  other.join();
  if (late) GTEST_SKIP() << "the run was over before it could be terminated";
  EXPECT_CONTAINS(error, "terminated");
  EXPECT_TRUE(y.empty());
}

}  // namespace
}  // namespace retort
