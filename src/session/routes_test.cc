// The first route and the general one: which calls take which, and when the general one is made.
#include "session/routes.h"

#include <thread>

#include "session/session_parts_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

class RoutesTest : public PartsTest {
 protected:
  void make(SmallModel& small, ModelSource source = {}) {
    ports.emplace(small.model, std::make_unique<DimTable>(*small.model.dims), devices.devices);
    routes.emplace(*ports, options, logger, plans, nullptr);
    routes->make_first(small.model, std::move(source), plans.lower_options(nullptr), {"", nullptr, parts, {}});
  }
  /// The results of a run on the route that `inputs` take.
  std::vector<float> run(const std::vector<const Value*>& inputs) {
    const ChosenRoute chosen = routes->choose(inputs);
    FrameLease lease(chosen.route.frames(), false);
    std::vector<Value> views;
    Value y;
    Value* const outputs[] = {&y};
    chosen.route.order({inputs, outputs, {}, nullptr, {}}, lease.frame()->input_buffer(), views);
    lease.frame()->run({.inputs = lease.frame()->input_buffer(), .outputs = outputs});
    const float* data = y.tensor()->data<float>();
    return {data, data + y.tensor()->count()};
  }
  using Floats = std::vector<float>;

  std::vector<AssignedPart> parts;
  std::optional<Ports> ports;
  std::optional<Routes> routes;
  const Value one = vector({1}), two = vector({1, 2}), three = vector({1, 2, 3});
};

TEST_F(RoutesTest, OrdinaryCallsTakeTheFirst) {
  SmallModel small;
  make(small);
  EXPECT_EQ(run({&two, &two, nullptr}), (Floats{20, 40}));
  EXPECT_EQ(run({&three, &three, nullptr}), (Floats{20, 40, 60}));
  EXPECT_EQ(routes->choose(std::vector<const Value*>{&two, &two, nullptr}).general, nullptr);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(RoutesTest, TheGeneralOneIsMadeOnce) {
  SmallModel small(false);
  make(small);
  EXPECT_TRUE(routes->may_read_again());
  EXPECT_EQ(run({&one, &three}), (Floats{20, 30, 40}));
  const std::vector<const Value*> departing{&one, &two};
  const ChosenRoute first = routes->choose(departing), second = routes->choose(departing);
  EXPECT_EQ(first.general, second.general);
  ASSERT_EQ(warnings.size(), 1u);
  expect_part(warnings[0], "extent 'n' is 1 in input 'a' and 3 in input 'b': such calls run on a second plan");
}

TEST_F(RoutesTest, AnotherGeneralOneTakesTheOverriddenInputsOfAllCalls) {
  SmallModel small;
  make(small);
  EXPECT_FALSE(routes->may_read_again()) << "it keeps a copy of the model";
  const std::vector<const Value*> broken{&one, &two, nullptr}, overriding{&two, &two, &one};
  const std::shared_ptr<Route> without = routes->choose(broken).general;
  const std::shared_ptr<Route> with = routes->choose(overriding).general;
  EXPECT_NE(without, with);
  EXPECT_EQ(without->inputs().size(), 2u);
  EXPECT_EQ(with->inputs().size(), 3u);
  EXPECT_EQ(run(broken), (Floats{20, 30})) << "on the model's value";
  EXPECT_EQ(run(overriding), (Floats{2, 4}));
  EXPECT_EQ(routes->choose(broken).general, with);
}

TEST_F(RoutesTest, WithoutOptimisationTheFirstServesAllCalls) {
  options.optimization = OptimizationLevel::none;
  SmallModel small;
  make(small);
  EXPECT_EQ(run({&one, &two, nullptr}), (Floats{20, 30}));
  EXPECT_EQ(run({&two, &two, &one}), (Floats{2, 4}));
  EXPECT_EQ(routes->choose(std::vector<const Value*>{&two, &two, &one}).general, nullptr);
}

TEST_F(RoutesTest, AModelThatCannotBeReadAgainIsAnErrorOfTheCall) {
  SmallModel small(false);
  make(small, ModelSource("/nowhere/model.onnx"));
  const std::string message = error_of([&] { run({&one, &two}); });
  expect_part(message, "extent 'n' is 1 in input 'a' and 2 in input 'b'; such a call runs without optimisation");
  EXPECT_EQ(run({&two, &two}), (Floats{20, 40})) << "others go on";
}

TEST_F(RoutesTest, ThreadsThatDepartShareTheGeneralOne) {
  SmallModel small;
  make(small);
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&, i] {
      for (int n = 0; n < 20; ++n) {
        EXPECT_EQ(run({&one, &two, nullptr}), (Floats{20, 30}));
        if (i % 2) {
          EXPECT_EQ(run({&two, &two, &one}), (Floats{2, 4}));
        }
      }
    });
  for (std::thread& t : all) t.join();
  EXPECT_LE(warnings.size(), 2u);
}

TEST_F(RoutesTest, IdleFramesOfBothCount) {
  SmallModel small;
  make(small);
  EXPECT_EQ(routes->workspace_bytes(), 0u);
  Tensor content(DType::f32, {1 << 12});
  std::fill_n(content.mutable_data<float>(), content.count(), 1.0f);
  const Value many(content);
  run({&many, &one, nullptr});
  const size_t general = routes->workspace_bytes();
  run({&many, &many, nullptr});
  EXPECT_GE(routes->workspace_bytes(), general);
  routes->clear_idle_frames();
  EXPECT_EQ(routes->workspace_bytes(), 0u);
}

TEST_F(RoutesTest, ASessionThatOnlyCompilesHasNone) {
  const SmallModel small;
  ports.emplace(small.model, std::make_unique<DimTable>(*small.model.dims), devices.devices);
  routes.emplace(*ports, options, logger, plans, nullptr);
  EXPECT_FALSE(routes->has_first());
  routes->clear_idle_frames();
  EXPECT_EQ(routes->workspace_bytes(), 0u);
}

}  // namespace
}  // namespace retort
