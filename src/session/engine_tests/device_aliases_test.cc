// Outputs of parts that lie over their inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "session/device_session_testing.h"

namespace retort {
namespace {

using namespace retort::testing;

struct Seen {
  int in_place = 0, elsewhere = 0;
};

/// One node: Identity, whose output is its input and which copies only where it lies elsewhere; Neg and Add, which may work in
/// the place of any input.
class Aliasing : public Compiled {
 public:
  Aliasing(const Partition& part, MemorySpace space, FencedMemory& memory, Seen& seen)
      : type_(part.graph->node(part.graph->order()[0]).type), space_(space), memory_(memory), seen_(seen) {
    for (size_t i = 0; i < part.graph->inputs.size(); ++i) aliases_.push_back({0, i, type_ == "Identity"});
  }
  MemorySpace input_space(size_t) const override { return space_; }
  MemorySpace output_space(size_t) const override { return space_; }
  std::span<const OutputAlias> aliases() const override { return aliases_; }

  void run(PartitionRun& run) const override {
    if (run.output_count() == 0) return;  // a node whose result nobody reads
    const Tensor& a = run.input(0);
    const Tensor& b = run.input(run.input_count() - 1);
    Tensor& y = run.output(0, DType::f32, a.shape());
    const bool in_place = y.data() == a.data() || y.data() == b.data();
    ++(in_place ? seen_.in_place : seen_.elsewhere);
    if (type_ == "Identity" && in_place) return;
    const FencedMemory::Open first(memory_, a.data()), second(memory_, b.data()), out(memory_, y.data());
    for (size_t i = 0; i < a.count(); ++i) {
      const float x = a.data<float>()[i], z = b.data<float>()[i];
      y.mutable_data<float>()[i] = type_ == "Identity" ? x : type_ == "Neg" ? -x : x + z;
    }
  }

 private:
  const std::string type_;
  const MemorySpace space_;
  FencedMemory& memory_;
  Seen& seen_;
  std::vector<OutputAlias> aliases_;
};

class DeviceAliases : public DeviceTest {
 protected:
  void work_in(MemorySpace space) {
    control.streams = false;
    control.one_by_one = true;
    control.claimed = {"Identity", "Neg", "Add"};
    control.compile = [this, space](const Partition& part, FencedMemory& memory) {
      return std::make_shared<Aliasing>(part, space, memory, seen);
    };
  }
  /// As the model has its nodes, so that none is folded away.
  SessionOptions plain(SessionOptions o) {
    o.optimization = OptimizationLevel::none;
    return o;
  }

  /// The results of a run whose first output is `first`, if that is given.
  static std::vector<Value> run_into(Session& session, const std::vector<Value>& given, const Value& first) {
    std::vector<const Value*> inputs;
    std::vector<Value*> outputs;
    std::vector<Value> results(session.outputs().size());
    results[0] = first;
    for (const Value& v : given) inputs.push_back(&v);
    for (Value& v : results) outputs.push_back(&v);
    session.run(inputs, outputs, {}, nullptr);
    return results;
  }

  /// Models of random nodes, of which the CPU has some, with random outputs: the same results as without a device.
  void compare_random_models() {
    std::mt19937 random(7);
    const auto below = [&](size_t n) { return size_t(random() % n); };
    const char* const types[] = {"Identity", "Identity", "Neg", "Neg", "Add", "Relu", "Abs", "Mul"};
    for (int model_number = 0; model_number < 150; ++model_number) {
      std::vector<std::string> values{"a", "b"}, nodes, outputs;
      for (size_t i = 0; i < 3 + below(8); ++i) {
        const std::string type = types[below(std::size(types))], name = cat("v{}", i);
        const auto any = [&] { return values[values.size() - 1 - below(std::min<size_t>(values.size(), 4))]; };
        const bool two = type == "Add" || type == "Mul";
        nodes.push_back(cat("{} = {} {} {}", name, type, any(), two ? any() : ""));
        values.push_back(name);
      }
      for (size_t i = 2; i < values.size(); ++i) {
        if (i + 1 == values.size() || below(5) == 0) outputs.push_back(values[i]);
      }
      SessionOptions o = plain(options());
      o.parallel_execution = model_number % 2 == 1;
      o.threads.intra_threads = 2;
      const auto with = session(model_of({"a", "b"}, nodes, outputs), o);
      const auto without = session(model_of({"a", "b"}, nodes, outputs), plain({}));
      for (float k = 1; k < 4; ++k) {
        const std::vector<Value> given{host({k, -2 * k, 3}), host({-k, 5, k * k})};
        const auto wanted = run(*without, given);
        // Every third model writes an output over an input, where the device or the host has it.
        const bool over = model_number % 3 == 0;
        const Value a =
            model_number % 2 == 1 && !control.space.host_readable() ? Value(on_device({k, -2 * k, 3})) : given[0];
        const auto made = run_into(*with, {a, given[1]}, over ? a : Value());
        for (size_t i = 0; i < outputs.size(); ++i)
          ASSERT_EQ(content(made[i]), content(wanted[i])) << outputs[i] << " of " << ::testing::PrintToString(nodes);
        EXPECT_TRUE(over || content(a) == (Floats{k, -2 * k, 3})) << ::testing::PrintToString(nodes);
      }
    }
    EXPECT_GT(seen.in_place, 300);
    EXPECT_GT(seen.elsewhere, 300);
  }

  Seen seen;
};

/// Three rounds of random nodes on what they carry, v, and on what they capture, k = -x; all that they make is told of each.
std::shared_ptr<Model> random_loop(std::mt19937& random) {
  auto model = std::make_shared<Model>();
  model->ir_version = 8;
  model->opsets[""] = 17;
  Graph& g = *model->graph;
  const auto below = [&](size_t n) { return size_t(random() % n); };
  const ValueType floats = ValueType::tensor(DType::f32, Shape{model->dims->symbol("n")});
  auto body = std::make_shared<Graph>(model->dims);
  const auto made_in = [](Graph& in, const char* type, std::vector<ValueId> inputs, std::string name) {
    return in.node(in.add({.type = type, .inputs = std::move(inputs), .name = std::move(name), .version = 17}))
        .outputs[0];
  };
  const ValueId go = body->add_value("go", ValueType::tensor(DType::boolean, Shape{}));
  std::vector<ValueId> values{body->add_value("v", floats), body->add_value("k", floats)};
  body->inputs = {body->add_value("i", ValueType::tensor(DType::i64, Shape{})), go, values[0], values[1]};
  body->captures = 1;
  body->outputs = {made_in(*body, "Not", {made_in(*body, "Not", {go}, "off")}, "on")};
  const char* const types[] = {"Identity", "Identity", "Neg", "Neg", "Add", "Relu", "Abs", "Mul"};
  for (size_t i = 0; i < 3 + below(7); ++i) {
    const std::string type = types[below(std::size(types))];
    std::vector<ValueId> from;
    for (size_t k = 0; k < (type == "Add" || type == "Mul" ? 2 : 1); ++k)
      from.push_back(values[values.size() - 1 - below(std::min<size_t>(values.size(), 4))]);
    values.push_back(made_in(*body, type.c_str(), from, cat("v{}", i)));
  }
  body->outputs.push_back(values.back());
  body->outputs.push_back(values[2 + below(values.size() - 3)]);
  const ValueId x = g.add_value("x", floats);
  g.inputs.push_back(x);
  const ValueId k = made_in(g, "Neg", {x}, "k"), start = made_in(g, "Identity", {x}, "start");
  Node loop{.type = "Loop", .inputs = {g.add_constant("m", Tensor::of<int64_t>({}, {3})), ValueId::none, start, k}};
  loop.name = "loop";
  loop.version = 17;
  loop.captures = 1;
  loop.outputs = {g.add_value("y"), g.add_value("each")};
  loop.bodies.push_back({"body", body});
  g.outputs = loop.outputs;
  g.outputs.push_back(made_in(g, "Add", {k, start}, "z"));
  g.add_node(std::move(loop));
  return model;
}

TEST_F(DeviceAliases, RandomLoops) {
  work_in(control.space);
  control.in_bodies = true;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    std::mt19937 with_seed(seed), again(seed);
    const auto with = session(random_loop(with_seed), plain(options()));
    const auto without = session(random_loop(again), plain({}));
    for (float k = 1; k < 3; ++k) {
      const auto made = run(*with, {host({k, -2 * k})}), wanted = run(*without, {host({k, -2 * k})});
      for (size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(content(made[i]), content(wanted[i])) << i << ", " << seed;
    }
  }
  EXPECT_GT(seen.in_place, 300);
}

TEST_F(DeviceAliases, RandomModelsOnTheDevice) {
  work_in(control.space);
  compare_random_models();
}

// Where the memory that outputs lie over is planned for the whole model.
TEST_F(DeviceAliases, RandomModelsInMemoryOfTheHost) {
  work_in({});
  compare_random_models();
}

TEST_F(DeviceAliases, MemoryIsUsedAgainByTheNextRun) {
  work_in(control.space);
  const auto s =
      session(model_of({"a"}, {"b = Neg a", "c = Identity b", "d = Neg c", "y = Neg d"}, {"y"}), plain(options()));
  run(*s, {host({1, 2})});
  const int before = factory->memory().allocations;
  for (float k = 2; k < 5; ++k) EXPECT_EQ(content(run(*s, {host({k, 2})})[0]), (Floats{-k, -2}));
  EXPECT_EQ(factory->memory().allocations, before);
  EXPECT_EQ(seen.in_place, 4 * 2);
}

// What a model gives for an input that calls leave out, and what calls give for it, is never written.
TEST_F(DeviceAliases, InputsOnTheDeviceStay) {
  work_in(control.space);
  const auto s = session(model_of({"a"}, {"b = Identity a", "c = Neg b", "y = Neg c"}, {"y"}), plain(options()));
  const Value a = on_device({1, 2});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(content(run(*s, {a})[0]), (Floats{1, 2}));
  EXPECT_EQ(content(a), (Floats{1, 2}));
}

}  // namespace
}  // namespace retort
