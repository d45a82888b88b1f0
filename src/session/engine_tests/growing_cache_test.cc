// Caches of keys and values that a caller hands from run to run grow in place, without a visible difference: values
// that the caller reads, writes, keeps or hands back twice are those that copies would have.
#include <gtest/gtest.h>

#include <thread>

#include "session/binding.h"
#include "session/session_testing.h"

namespace retort {
namespace {

constexpr int64_t kBatch = 2, kHeads = 3, kSize = 4;

/// y, keys, values = Attention(x, x, x, past keys, past values).
/// `gives_past`: past_k is also a result.
std::shared_ptr<Session> make_decoder(OptimizationLevel level = OptimizationLevel::all, bool gives_past = false) {
  TestGraph t;
  const Dim rows = t.symbol("rows"), past = t.symbol("past");
  const ValueId x = t.input("x", {kBatch, kHeads, rows, kSize});
  const ValueId k = t.input("past_k", {kBatch, kHeads, past, kSize}),
                v = t.input("past_v", {kBatch, kHeads, past, kSize});
  const auto out = t.add_multi({.type = "Attention",
                                .inputs = {x, x, t.add("Neg", {x}), ValueId::none, k, v},
                                .attributes = {{"is_causal", int64_t(1)}},
                                .outputs = 3});
  t.output(out[0], "y");
  t.output(out[1], "k");
  t.output(out[2], "v");
  if (gives_past) t.g.outputs.push_back(k);
  SessionOptions options;
  options.optimization = level;
  options.threads.intra_threads = 2;
  return make_session(t.g, options);
}

Tensor token(unsigned seed, int64_t rows = 1) { return *image({kBatch, kHeads, rows, kSize}, seed).tensor(); }

Tensor copy_of(const Tensor& t) {
  Tensor copy(t.dtype(), t.shape());
  std::memcpy(copy.mutable_data(), t.data(), t.bytes());
  return copy;
}

struct State {
  Tensor y, k, v;
};
State empty_state() { return {Tensor(), token(1, 0), token(1, 0)}; }

/// The state after one more run.
State step(Session& session, const Tensor& x, const State& s) {
  const std::vector<Value> out = run(session, {Value(x), Value(s.k), Value(s.v)});
  return {*out[0].tensor(), *out[1].tensor(), *out[2].tensor()};
}
/// The same with copies: no result is handed back.
State step_apart(Session& session, const Tensor& x, const State& s) {
  return step(session, x, {Tensor(), copy_of(s.k), copy_of(s.v)});
}

class GrowingCache : public ::testing::Test {
 protected:
  void expect_same(const State& want, const State& got) {
    expect_equal_results({want.y, want.k, want.v}, {copy_of(got.y), copy_of(got.k), copy_of(got.v)});
  }
  const std::shared_ptr<Session> plain_ = make_decoder(), session_ = make_decoder();
};

TEST_F(GrowingCache, RowsAreAddedInPlace) {
  State want = empty_state(), got = empty_state();
  size_t moves = 0;
  const void* block = nullptr;
  for (unsigned i = 0; i < 300; ++i) {
    const Tensor x = token(i, i % 7 == 3 ? 5 : 1);
    want = step_apart(*plain_, x, want);
    got = step(*session_, x, got);
    expect_equal_results({want.y}, {got.y});
    if (i < 2) continue;  // the second run shows that results are handed back
    ASSERT_TRUE(got.k.grown() && got.v.grown()) << i;
    moves += std::exchange(block, got.k.grown()->block()) != got.k.grown()->block();
  }
  EXPECT_LT(moves, 12u);
  expect_same(want, got);
}

TEST_F(GrowingCache, BoundOutputsToo) {
  Binding binding(session_);
  for (const char* name : {"y", "k", "v"}) binding.bind_output(name, MemorySpace{});
  State want = empty_state(), got = empty_state();
  for (unsigned i = 0; i < 60; ++i) {
    binding.bind_input("x", Value(token(i)));
    binding.bind_input("past_k", Value(got.k));
    binding.bind_input("past_v", Value(got.v));
    binding.run(nullptr);
    want = step_apart(*plain_, token(i), want);
    got = {*binding.output_value(0).tensor(), *binding.output_value(1).tensor(), *binding.output_value(2).tensor()};
    expect_equal_results({want.y}, {got.y});
  }
  EXPECT_TRUE(got.k.grown());
  EXPECT_EQ(binding.spare_bytes(), dtype_bytes(DType::f32, size_t(kBatch * kHeads * kSize)));  // of y alone
  expect_same(want, got);
}

// Beam search: one past, several continuations, and the past itself is unchanged.
TEST_F(GrowingCache, APastMayBeContinuedTwice) {
  State want = empty_state(), got = empty_state();
  for (unsigned i = 0; i < 10; ++i) want = step_apart(*plain_, token(i), want), got = step(*session_, token(i), got);
  const State left = step(*session_, token(50), got), right = step(*session_, token(60), got);
  EXPECT_NE(left.k.grown()->block(), right.k.grown()->block());
  const State last = step(*session_, token(51), left);
  EXPECT_EQ(left.k.grown()->block(), last.k.grown()->block());
  expect_same(step_apart(*plain_, token(60), want), right);
  const State other = step_apart(*plain_, token(50), want);
  expect_same(step_apart(*plain_, token(51), other), last);
  expect_same(other, left);
  expect_same(want, got);
}

// If a caller reads each result, caches stop growing after one run.
TEST_F(GrowingCache, ReadingEndsIt) {
  State want = empty_state(), got = empty_state();
  size_t blocks = 0;
  for (unsigned i = 0; i < 40; ++i) {
    want = step_apart(*plain_, token(i), want);
    got = step(*session_, token(i), got);
    blocks += got.k.grown() != nullptr;
    expect_same(want, got);
  }
  EXPECT_GT(blocks, 0u);
  EXPECT_LT(blocks, 5u);
}

TEST_F(GrowingCache, AnElementThatTheCallerWritesIsPartOfThePast) {
  State want = empty_state(), got = empty_state();
  for (unsigned i = 0; i < 12; ++i) {
    want = step_apart(*plain_, token(i), want), got = step(*session_, token(i), got);
    if (i % 4 != 3) continue;
    EXPECT_EQ(got.k.grown() != nullptr, i == 3);
    want.k = copy_of(want.k);
    want.k.mutable_data<float>()[i] = got.k.mutable_data<float>()[i] = 17;
  }
  expect_same(want, got);
}

TEST_F(GrowingCache, AnotherViewOfTheResult) {
  State got = empty_state();
  for (unsigned i = 0; i < 5; ++i) got = step(*session_, token(i), got);
  ASSERT_TRUE(got.k.grown());
  const Tensor flat = got.k.reshaped({kBatch * kHeads, 5, kSize});
  EXPECT_FALSE(flat.grown());
  EXPECT_EQ(flat.data(), got.k.data());
}

TEST_F(GrowingCache, GivenMemoryIsUsed) {
  State want = empty_state(), got = empty_state();
  for (unsigned i = 0; i < 6; ++i) want = step_apart(*plain_, token(i), want), got = step(*session_, token(i), got);
  Value y(token(0)), k(token(0, 7)), v(token(0, 7));
  const void* place = k.tensor()->data();
  const Value x(token(70)), past_k(got.k), past_v(got.v);
  const Value* inputs[] = {&x, &past_k, &past_v};
  Value* outputs[] = {&y, &k, &v};
  session_->run(inputs, outputs, {}, nullptr);
  EXPECT_EQ(k.tensor()->data(), place);
  EXPECT_TRUE(got.k.grown());  // it is not copied because the run reads it
  expect_same(step_apart(*plain_, token(70), want), {*y.tensor(), *k.tensor(), *v.tensor()});
}

TEST_F(GrowingCache, SeveralThreadsContinueOnePast) {
  State want = empty_state(), got = empty_state();
  for (unsigned i = 0; i < 9; ++i) want = step_apart(*plain_, token(i), want), got = step(*session_, token(i), got);
  constexpr unsigned kThreads = 4, kSteps = 40;
  std::vector<State> ends(kThreads);
  std::vector<std::thread> threads;
  for (unsigned n = 0; n < kThreads; ++n) {
    threads.emplace_back([&, n] {
      State s = got;
      for (unsigned i = 0; i < kSteps; ++i) s = step(*session_, token(1000 * n + i), s);
      ends[n] = s;
    });
  }
  for (std::thread& t : threads) t.join();
  for (unsigned n = 0; n < kThreads; ++n) {
    State s = want;
    for (unsigned i = 0; i < kSteps; ++i) s = step_apart(*plain_, token(1000 * n + i), s);
    expect_same(s, ends[n]);
  }
  expect_same(want, got);
}

// Any order of steps of one or more rows, from any earlier state, with reads and writes in between.
TEST_F(GrowingCache, AnyOrder) {
  std::mt19937 random(5);
  std::vector<std::pair<State, State>> states{{empty_state(), empty_state()}};
  for (unsigned i = 0; i < 300; ++i) {
    const bool latest = random() % 4 != 0;
    const size_t at = latest ? states.size() - 1 : random() % states.size();
    auto& [want, got] = states[at];
    const Tensor x = token(random(), int64_t(random() % 3));
    State next_want = step_apart(*plain_, x, want), next_got = step(*session_, x, got);
    expect_equal_results({next_want.y}, {next_got.y});
    if (random() % 10 == 0) expect_same(next_want, next_got);
    if (random() % 20 == 0 && next_want.k.count() > 0) {
      next_want.k.mutable_data<float>()[0] = next_got.k.mutable_data<float>()[0] = float(i);
    }
    states.emplace_back(next_want, next_got);
  }
  for (const auto& [want, got] : states) {
    if (want.y) expect_same(want, got);
  }
}

TEST_F(GrowingCache, WithoutOptimisationToo) {
  const std::shared_ptr<Session> session = make_decoder(OptimizationLevel::none);
  State want = empty_state(), got = empty_state();
  for (unsigned i = 0; i < 50; ++i) want = step_apart(*plain_, token(i), want), got = step(*session, token(i), got);
  EXPECT_TRUE(got.k.grown());
  expect_same(want, got);
}

TEST_F(GrowingCache, APastThatIsAResultToo) {
  const std::shared_ptr<Session> session = make_decoder(OptimizationLevel::all, true);
  State want = empty_state(), got = empty_state();
  for (unsigned i = 0; i < 10; ++i) {
    const std::vector<Value> out = run(*session, {Value(token(i)), Value(got.k), Value(got.v)});
    expect_equal_results({want.k}, {copy_of(*out[3].tensor())});
    want = step_apart(*plain_, token(i), want);
    got = {*out[0].tensor(), *out[1].tensor(), *out[2].tensor()};
  }
  expect_same(want, got);
}

// The same number of elements in other heads is not a past: in a block, they lie elsewhere.
TEST_F(GrowingCache, APastOfOtherHeadsIsRejected) {
  TestGraph t;
  const ValueId x = t.input("x", {kBatch, kHeads, 1, kSize});
  const Shape any{t.symbol("b"), t.symbol("h"), t.symbol("past"), t.symbol("size")};
  const ValueId k = t.input("k", any), v = t.input("v", any);
  t.output(t.add_multi({.type = "Attention", .inputs = {x, x, x, ValueId::none, k, v}, .outputs = 3})[0], "y");
  const auto session = make_session(t.g, {});
  const Value now(token(1)), past = image({kBatch, kHeads, 5, kSize}), other = image({kBatch, 1, 5, kHeads * kSize});
  EXPECT_NO_THROW(run(*session, {now, past, past}));
  EXPECT_THROW(run(*session, {now, other, past}), Error);
  EXPECT_THROW(run(*session, {now, past, other}), Error);
}

}  // namespace
}  // namespace retort
