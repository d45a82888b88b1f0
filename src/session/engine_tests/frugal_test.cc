// What sessions free and share, how much memory they may use, and their state after fork().
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/half.h"
#include "memory/access.h"
#include "memory/host.h"
#include "onnx/writer.h"
#include "session/binding.h"
#include "session/engine_tests/growing_testing.h"

namespace retort {
namespace {

constexpr size_t kMebibyte = size_t(1) << 20;

float last(const Value& v) { return v.tensor()->data<float>()[v.tensor()->count() - 1]; }

TEST(Trim, MemoryOfALargeResultIsFreedAfterSmallOnes) {
  const GrowingGraph t;
  const std::shared_ptr<Session> session = make_session(t.g, {});
  Binding binding(session);
  binding.bind_output("y", MemorySpace{});
  const auto run = [&](int64_t n) {
    binding.bind_input("x", ones_of(n));
    binding.run(nullptr);
  };
  run(4 * kMebibyte);
  EXPECT_GE(session->idle_bytes().workspaces, 16 * kMebibyte);
  for (int i = 0; i < 100; ++i) run(16);
  EXPECT_LT(session->idle_bytes().workspaces, kMebibyte);
  EXPECT_LT(binding.spare_bytes(), kMebibyte);
}

TEST(Trim, ARunMayFreeItsWorkspaceAtOnce) {
  const GrowingGraph t;
  const auto session = make_session(t.g, {});
  const Value x = ones_of(kMebibyte);
  const Value* inputs[] = {&x};
  Value y;
  Value* outputs[] = {&y};
  RunOptions options;
  options.config["memory.enable_memory_arena_shrinkage"] = "cpu:0";
  session->run(inputs, outputs, {}, nullptr);
  EXPECT_GE(session->idle_bytes().workspaces, 4 * kMebibyte);
  session->run(inputs, outputs, {}, &options);
  EXPECT_EQ(session->idle_bytes().workspaces, 0u);
  session->run(inputs, outputs, {}, nullptr);
  EXPECT_FLOAT_EQ(last(y), 1 + 1.0f / float(kMebibyte));
  options.config["memory.enable_memory_arena_shrinkage"] = "gpu:0";
  EXPECT_THROW(session->run(inputs, outputs, {}, &options), Error);
}

/// Bytes that a session keeps after two results of 16 MiB were released.
size_t kept_by(const SessionOptions& options, const RunOptions* run_options = nullptr) {
  const GrowingGraph t;
  const auto session = make_session(t.g, options);
  const Value x = ones_of(4 * kMebibyte);
  const Value* inputs[] = {&x};
  for (int i = 0; i < 2; ++i) {
    Value y;
    Value* outputs[] = {&y};
    session->run(inputs, outputs, {}, run_options);
  }
  return session->idle_bytes().results;
}

TEST(Results, ReleasedMemoryIsKeptForTheNextRun) {
  EXPECT_EQ(kept_by({}), kAccessIsChecked ? 0 : 16 * kMebibyte);
  const GrowingGraph t;
  const auto session = make_session(t.g, {});
  const void* last_address = nullptr;
  for (int i = 0; i < 3 && !kAccessIsChecked; ++i) {
    const std::vector<Value> y = run(*session, {ones_of(4 * kMebibyte)});
    EXPECT_FLOAT_EQ(last(y[0]), 1 + 0.25f / float(kMebibyte));
    EXPECT_TRUE(i == 0 || y[0].tensor()->data() == last_address);
    last_address = y[0].tensor()->data();
  }
}

TEST(Results, NothingIsKeptIfTheProgramWantsThat) {
  SessionOptions options;
  options.hints.cpu_arena = false;
  EXPECT_EQ(kept_by(options), 0u);
  options.hints.cpu_arena = true;
  options.config["session.memory_budget_bytes"] = std::to_string(64 * kMebibyte);
  EXPECT_EQ(kept_by(options), 0u);
  RunOptions shrinks;
  shrinks.config["memory.enable_memory_arena_shrinkage"] = "cpu:0";
  EXPECT_EQ(kept_by({}, &shrinks), 0u);
}

TEST(Results, OutliveTheSession) {
  const GrowingGraph t;
  std::vector<Value> y;
  {
    const auto session = make_session(t.g, {});
    y = run(*session, {ones_of(4 * kMebibyte)});
  }
  EXPECT_FLOAT_EQ(last(y[0]), 1 + 0.25f / float(kMebibyte));
}

std::string failure(Session& session, const Value& x) {
  try {
    run(session, {x});
  } catch (const Error& e) {
    return e.message();
  }
  return {};
}

TEST(Budget, ARunThatNeedsMoreFailsWithADetailedErrorAndTheNextWorks) {
  const GrowingGraph t;
  SessionOptions options;
  options.config["session.memory_budget_bytes"] = std::to_string(8 * kMebibyte);
  const auto session = make_session(t.g, options);
  EXPECT_EQ(failure(*session, ones_of(kMebibyte)), "");
  const std::string error = failure(*session, ones_of(4 * kMebibyte));
  EXPECT_CONTAINS(error, "session.memory_budget_bytes");
  EXPECT_CONTAINS(error, std::to_string(8 * kMebibyte));
  const size_t end = error.find(" bytes are needed");
  const size_t needed = std::stoull(error.substr(error.rfind(' ', end - 1)));
  EXPECT_GE(needed, 16 * kMebibyte);
  EXPECT_LE(needed, 16 * kMebibyte + (kAccessIsChecked ? 4096 : 0));  // red zones
  EXPECT_CONTAINS(error, "(Softmax)");
  EXPECT_FLOAT_EQ(last(run(*session, {ones_of(kMebibyte)})[0]), 1 + 1.0f / float(kMebibyte));
}

TEST(Budget, HoldsForScratchToo) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), t.symbol("n")});
  t.output(t.add("MatMul", {x, x}), "y");  // packs its second operand into scratch memory
  SessionOptions options;
  options.config["session.memory_budget_bytes"] = std::to_string(kMebibyte);
  const auto session = make_session(t.g, options);
  EXPECT_EQ(failure(*session, Tensor(DType::f32, {256, 256})), "");
  EXPECT_CONTAINS(failure(*session, Tensor(DType::f32, {1024, 1024})), "(MatMul)");
}

// Two concurrent runs need two workspaces, of which the budget allows one: each run works or reports an error.
TEST(Budget, IdleWorkspacesMakeRoom) {
  const GrowingGraph t;
  SessionOptions options;
  options.config["session.memory_budget_bytes"] = std::to_string(6 * kMebibyte);
  const auto session = make_session(t.g, options);
  std::atomic<int> worked{0}, refused{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        const std::string error = failure(*session, ones_of(kMebibyte));
        ++(error.empty() ? worked : refused);
        EXPECT_TRUE(error.empty() || error.find("session.memory_budget_bytes") != std::string::npos) << error;
      }
    });
  }
  for (auto& c : callers) c.join();
  EXPECT_GT(worked, 0);
  EXPECT_EQ(worked + refused, 90);
  EXPECT_EQ(failure(*session, ones_of(kMebibyte)), "");
}

TEST(Budget, MustBeANumber) {
  const GrowingGraph t;
  for (const char* text : {"a lot", "12k", "-1", "0"}) {
    SessionOptions options;
    options.config["session.memory_budget_bytes"] = text;
    EXPECT_THROW(make_session(t.g, options), Error) << text;
  }
}

/// Bytes of private memory of this process.
size_t private_bytes() {
  malloc_trim(0);
  std::ifstream maps("/proc/self/smaps_rollup");
  size_t total = 0;
  for (std::string line; std::getline(maps, line);) {
    size_t kib = 0;
    if (std::sscanf(line.c_str(), "Private_Clean: %zu", &kib) == 1 ||
        std::sscanf(line.c_str(), "Private_Dirty: %zu", &kib) == 1)
      total += kib << 10;
  }
  return total;
}

/// A file with weights of every kind: packed for a product and for convolutions, read in place in runs, folded.
class SharedModel : public ::testing::Test {
 protected:
  static constexpr int64_t kWide = 2048;  // 16 MiB each
  SharedModel() {
    std::string name = (std::filesystem::temp_directory_path() / "retort_shared_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    TestGraph t;
    const ValueId x = t.input("x", {2, kWide});
    ValueId y = x;
    for (int i = 0; i < 3; ++i) {
      y = t.add("MatMul", {y, t.weight("w" + std::to_string(i), {kWide, kWide})});
      y = t.add("Mul", {y, t.scalar(0.001f)});
    }
    const ValueId table = t.weight("table", {kWide, kWide});
    t.output(t.add("Add", {y, t.add("Gather", {table, t.ints({3, 5})})}), "y");
    write(t, "model.onnx");
  }
  ~SharedModel() override { std::filesystem::remove_all(folder_); }
  void write(const TestGraph& t, const std::string& name) {
    write_model(writable_model(t.g), folder_ + "/" + name, {});
  }
  std::shared_ptr<Session> load(const SessionOptions& options = {}) {
    return std::make_shared<Session>(environment_, folder_ + "/model.onnx", options);
  }
  static Tensor compute(Session& session) {
    Tensor x(DType::f32, {2, kWide});
    for (size_t i = 0; i < x.count(); ++i) x.mutable_data<float>()[i] = float(i % 17) - 8;
    return *run(session, {x})[0].tensor();
  }
  static bool same(const Tensor& a, const Tensor& b) { return std::memcmp(a.data(), b.data(), a.bytes()) == 0; }

  std::string folder_;
  std::shared_ptr<Environment> environment_ = std::make_shared<Environment>(EnvironmentOptions{});
};

TEST_F(SharedModel, HasItsWeightsOnceForAllSessions) {
  if (kAccessIsChecked) GTEST_SKIP() << "AddressSanitizer keeps freed memory";
  constexpr size_t kWeights = 3 * kWide * kWide * sizeof(float);
  trim_heap();  // the heap may hold memory of the code that made the file, which the session would use
  const size_t before = private_bytes();
  auto first = load();
  const Tensor y = compute(*first);
  const size_t one = private_bytes();
  EXPECT_GT(one - before, kWeights / 2);
  SessionOptions other;
  other.threads.intra_threads = 1;
  auto second = load(), third = load(other);
  EXPECT_TRUE(same(compute(*second), y));
  EXPECT_TRUE(same(compute(*third), y));
  EXPECT_LT(private_bytes(), one + kWeights / 10);
  first.reset();
  second.reset();
  EXPECT_TRUE(same(compute(*third), y));
  third.reset();
  EXPECT_LT(private_bytes(), before + kWeights / 10);
}

// Weights that 16 bits represent exactly: products read them widened, a Gather reads them in place.
TEST_F(SharedModel, PacksExactWeightsInHalfTheMemory) {
  if (kAccessIsChecked) GTEST_SKIP() << "AddressSanitizer keeps freed memory";
  TestGraph t;
  const ValueId x = t.input("x", {2, kWide});
  ValueId y = x, w = ValueId::none;
  for (int i = 0; i < 3; ++i) {
    Tensor values(DType::f32, {kWide, kWide});
    for (size_t j = 0; j < values.count(); ++j)
      values.mutable_data<float>()[j] = float(bfloat16(float((j * 7919 + size_t(i)) % 201) / 1e5f));
    w = t.g.add_constant("w" + std::to_string(i), std::move(values));
    y = t.add("MatMul", {y, w});
  }
  t.output(t.add("Add", {y, t.add("Gather", {w, t.ints({3, 5})})}), "y");
  write(t, "model.onnx");
  std::vector<size_t> grown;
  std::vector<Tensor> results;
  for (const char* on : {"1", "0", static_cast<const char*>(nullptr)}) {
    SessionOptions options;
    options.threads.intra_threads = 1;
    if (on) options.config["session.weights_16bit"] = on;
    const size_t before = private_bytes();
    const auto session = load(options);
    results.push_back(compute(*session));
    grown.push_back(private_bytes() - before);
  }
  EXPECT_TRUE(same(results[0], results[1]));
  EXPECT_TRUE(same(results[0], results[2]));
  constexpr size_t kSaved = 3 * kWide * kWide * 2;
  EXPECT_GT(grown[1], grown[0] + kSaved / 2);
  EXPECT_GT(grown[1], grown[2] + kSaved / 2);
}

TEST_F(SharedModel, LoadsInSeveralThreadsAtOnce) {
  std::vector<std::shared_ptr<Session>> sessions(4);
  std::vector<std::thread> threads;
  for (auto& s : sessions) threads.emplace_back([&] { s = load(); });
  for (auto& t : threads) t.join();
  const Tensor y = compute(*sessions[0]);
  for (const auto& s : sessions) EXPECT_TRUE(same(compute(*s), y));
}

// A caller may write to memory that it lends.
TEST_F(SharedModel, DoesNotShareMemoryOfTheCaller) {
  TestGraph t;
  const ValueId x = t.input("x", {2}), k = t.weight("k", {2048});
  t.output(t.add("Add", {t.add("Gather", {k, t.add("Cast", {x}, {{"to", int64_t(DType::i64)}})}), x}), "y");
  Tensor lent(DType::f32, {2048}), own(DType::f32, {2048});
  std::fill_n(lent.mutable_data<float>(), lent.count(), 1.0f);
  std::fill_n(own.mutable_data<float>(), own.count(), 1.0f);
  SessionOptions lends, owns;
  lends.initializers.emplace("k", lent);
  owns.initializers.emplace("k", own);
  const auto model = [&] { return std::make_shared<Model>(model_with(t.g)); };
  Session first(environment_, model(), lends), second(environment_, model(), owns);
  std::fill_n(lent.mutable_data<float>(), lent.count(), 5.0f);
  const Tensor at = Tensor::of<float>({2}, {0, 1});
  EXPECT_EQ(last(run(second, {at})[0]), 2);
}

TEST(Fork, AChildRunsTheSessionsOfItsParentOnTwoThreads) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("m"), 512});
  t.output(t.add("MatMul", {x, t.weight("w", {512, 512})}), "y");
  SessionOptions options;
  options.threads.intra_threads = 2;
  const auto session = make_session(t.g, options);
  Tensor input(DType::f32, {256, 512});
  for (size_t i = 0; i < input.count(); ++i) input.mutable_data<float>()[i] = float(i % 13) - 6;
  const Tensor want = *run(*session, {input})[0].tensor();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool same = true;
    for (int i = 0; i < 3; ++i) {
      const Tensor got = *run(*session, {input})[0].tensor();
      same &= std::memcmp(got.data(), want.data(), want.bytes()) == 0;
    }
    const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
    const auto threads = std::distance(begin(tasks), end(tasks));
    _exit(!same ? 1 : threads != 2 ? 2 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace retort
