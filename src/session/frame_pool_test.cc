// Which frames a run gets, and what idle frames hold.
#include "session/frame_pool.h"

#include <set>

#include "plan/plan_testing.h"

namespace retort {
namespace {

std::shared_ptr<const Plan> plan_of_one() {
  PlanGraph p;
  p.output(p.add("y", "Abs", {p.input("x", {2})}));
  return p.plan();
}

TEST(FramePool, GivesTheFrameThatWasUsedLast) {
  FramePool pool(plan_of_one());
  auto first = pool.take(), second = pool.take();
  Frame *const a = first.get(), *const b = second.get();
  EXPECT_NE(a, b);
  pool.give(std::move(first));
  EXPECT_EQ(pool.take().get(), a);
}

TEST(FramePool, KeepsFramesOfConcurrentRuns) {
  FramePool pool(plan_of_one());
  auto first = pool.take(), second = pool.take();
  const std::set<Frame*> given{first.get(), second.get()};
  pool.give(std::move(first));
  pool.give(std::move(second));
  auto third = pool.take(), fourth = pool.take();
  EXPECT_EQ((std::set<Frame*>{third.get(), fourth.get()}), given);
}

TEST(FrameLease, GivesTheFrameBackUnlessTheCallerKeepsIt) {
  FramePool pool(plan_of_one());
  Frame* used = nullptr;
  {
    FrameLease lease(pool, false);
    used = lease.frame().get();
  }
  std::unique_ptr<Frame> kept;
  {
    FrameLease lease(pool, false);
    EXPECT_EQ(lease.frame().get(), used);
    kept = std::move(lease.frame());
  }
  EXPECT_NE(pool.take(), kept);
}

TEST(FrameLease, MayFreeTheMemoryOfAllIdleFrames) {
  PlanGraph p;
  p.output(p.add("y", "Abs", {p.add("softmax", "Softmax", {p.input("x", {1 << 16})})}));
  FramePool pool(p.plan());
  const Value x = Tensor(DType::f32, {1 << 16});
  const Value* const inputs[] = {&x};
  const auto run = [&](bool shrinks) {
    FrameLease lease(pool, shrinks);
    Value y;
    Value* const outputs[] = {&y};
    lease.frame()->run({.inputs = inputs, .outputs = outputs});
  };
  run(false);
  EXPECT_GT(pool.workspace_bytes(), 0u);
  run(true);
  EXPECT_EQ(pool.workspace_bytes(), 0u);
}

}  // namespace
}  // namespace retort
