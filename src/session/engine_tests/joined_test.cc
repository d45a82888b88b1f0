// Values that lie inside others: values that Concat joins are written in place, and values that Split, Slice and Gather
// cut out are read in place. Results are those of the nodes one by one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/sanitized_testing.h"
#include "session/session_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

Attributes axis(int64_t a) { return {{"axis", a}}; }

/// The weights keep the magnitude of numbers.
ValueId scaled_conv(TestGraph& t, ValueId x, const std::string& w, Shape shape, int64_t pad = 0, int64_t group = 1) {
  const ValueId filters = t.weight(w, shape);
  const float scale = 1.7f / std::sqrt(float(shape[1] * shape[2] * shape[3]));
  Tensor& weights = t.g.value(filters).constant;
  for (size_t i = 0; i < weights.count(); ++i) weights.mutable_data<float>()[i] *= scale;
  return t.add("Conv", {x, filters, t.weight(w + "b", {shape[0]})},
               {{"pads", Ints{pad, pad, pad, pad}}, {"group", group}});
}

std::vector<Tensor> tensors(const std::vector<Value>& values) {
  std::vector<Tensor> list;
  for (const Value& v : values) list.push_back(*v.tensor());
  return list;
}

/// One session per optimisation level runs all inputs, in this order, twice; results are those of the nodes one by one.
void expect_as_interpreted(const TestGraph& t, const std::vector<std::vector<Value>>& runs, int threads = 1) {
  for (const OptimizationLevel level : {OptimizationLevel::none, OptimizationLevel::all}) {
    SessionOptions options;
    options.optimization = level;
    options.threads.intra_threads = threads;
    const auto session = make_session(t.g, options);
    for (size_t i = 0; i < 2 * runs.size(); ++i) {
      const std::vector<Value>& inputs = runs[i / 2];
      SCOPED_TRACE(cat("level {}, run {}", int(level), i));
      expect_equal_results(interpret(t.g, tensors(inputs)), tensors(run(*session, inputs)));
    }
  }
}

size_t workspace(const TestGraph& t, const std::vector<Value>& inputs) {
  SessionOptions options;
  options.threads.intra_threads = 1;
  const auto session = make_session(t.g, options);
  run(*session, inputs);
  return session->idle_bytes().workspaces;
}

TEST(Joined, AnyAxisAndNumberOfInputs) {
  for (int64_t a = 0; a < 3; ++a) {
    for (size_t n = 2; n <= 5; ++n) {
      SCOPED_TRACE(cat("axis {}, {} inputs", a, n));
      TestGraph t;
      std::vector<ValueId> parts;
      std::vector<Value> inputs;
      for (size_t i = 0; i < n; ++i) {
        Shape shape{a == 1 ? 1 : 3, 5, 7};
        shape[size_t(a)] = i == 2 ? 0 : int64_t(2 * i + 1);
        parts.push_back(t.add("Sin", {t.input(cat("x{}", i), shape)}));
        inputs.push_back(image(shape, unsigned(i)));
      }
      t.output(t.add("Cos", {t.add("Concat", parts, axis(a))}), "y");
      expect_as_interpreted(t, {inputs});
    }
  }
}

TEST(Joined, PartsOfTwoTypesAreRejected) {
  TestGraph t;
  const ValueId a = t.input("a", {2}), b = t.input("b", {2}, DType::i64);
  EXPECT_THROW(t.add("Concat", {a, b}, axis(0)), Error);
  EXPECT_THROW(t.add("Concat", {a, ValueId::none, a}, axis(0)), Error);
}

TEST(Joined, NeedsNoMemoryOfItsOwn) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 100, 1000});
  const ValueId sum = t.add("Concat", {t.add("Sin", {x}), t.add("Cos", {x})}, axis(1));
  t.output(t.add("ReduceMean", {sum}, {{"keepdims", int64_t(1)}}), "y");
  const size_t bytes = workspace(t, {image({1, 100, 1000})});
  EXPECT_LT(bytes, size_t(900'000));  // 800,000 for the joined value
  EXPECT_GE(bytes, size_t(800'000));
}

TEST(Joined, SameValueTwiceAndOtherReaders) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 3, 5});
  const ValueId a = t.add("Sin", {x}), b = t.add("Relu", {a});
  const ValueId y = t.add("Concat", {a, b, a}, axis(1)), z = t.add("Concat", {b, a}, axis(1));
  t.output(t.add("Relu", {y}), "y");
  t.output(t.add("Add", {z, t.add("Concat", {t.add("Cos", {a}), t.add("Cos", {b})}, axis(1))}), "z");
  t.output(t.add("Sin", {b}), "b");
  expect_as_interpreted(t, {{image({1, 3, 5})}});
}

TEST(Joined, InsideEachOther) {
  TestGraph t;
  const ValueId x = t.input("x", {4, 6});
  ValueId all = t.add("Sin", {x});
  for (int i = 0; i < 4; ++i) all = t.add("Concat", {all, t.add("Cos", {all})}, axis(i % 2));
  t.output(t.add("Sin", {all}), "y");
  expect_as_interpreted(t, {{image({4, 6})}});
}

// Deeper than chains of hosts are followed.
TEST(Joined, LongChain) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 2});
  ValueId all = t.add("Sin", {x});
  for (int i = 0; i < 200; ++i) all = t.add("Concat", {all, t.add("Cos", {x})}, axis(1));
  for (int i = 0; i < 200; ++i) all = t.add("Slice", {all, t.ints({1}), t.ints({1000}), t.ints({1})});
  t.output(t.add("Sin", {all}), "y");
  expect_as_interpreted(t, {{image({1, 2})}});
}

// DenseNet: every value is joined with all earlier ones.
TEST(Joined, DenseBlocks) {
  TestGraph t;
  ValueId all = t.add("Relu", {scaled_conv(t, t.input("x", {2, 6, 9, 7}), "w", {8, 6, 1, 1})});
  for (int i = 0; i < 4; ++i) {
    const ValueId narrow = t.add("Relu", {scaled_conv(t, t.add("Relu", {all}), cat("a{}", i), {12, 8 + 6 * i, 1, 1})});
    all = t.add("Concat", {all, scaled_conv(t, narrow, cat("b{}", i), {6, 12, 3, 3}, 1)}, axis(1));
  }
  t.output(t.add("GlobalAveragePool", {all}), "y");
  expect_as_interpreted(t, {{image({2, 6, 9, 7})}});
}

// Fire modules, C2f blocks and skips: convolutions, pools and Resize write and read channels of wider images.
TEST(Joined, Channels) {
  for (const int threads : {1, 3}) {
    TestGraph t;
    const ValueId x = t.input("x", {t.symbol("n"), 8, t.symbol("h"), t.symbol("w")});
    const ValueId skip = t.add("Relu", {scaled_conv(t, x, "s", {24, 8, 3, 3}, 1)});
    const ValueId down = t.add("MaxPool", {skip}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
    const ValueId fire = t.add("Concat",
                               {t.add("Relu", {scaled_conv(t, down, "e1", {20, 24, 1, 1})}),
                                t.add("Relu", {scaled_conv(t, down, "e3", {12, 24, 3, 3}, 1)}),
                                scaled_conv(t, down, "dw", {24, 1, 3, 3}, 1, 24)},
                               axis(1));
    // keeps the numbers small
    const ValueId wide = t.add("Tanh", {scaled_conv(t, fire, "c", {32, 56, 1, 1})});
    const auto halves = t.add_multi({.type = "Split", .inputs = {wide}, .attributes = axis(1), .outputs = 2});
    const ValueId inner = t.add("Relu", {scaled_conv(t, halves[1], "m1", {16, 16, 3, 3}, 1)});
    const ValueId sum = t.add("Add", {scaled_conv(t, inner, "m2", {16, 16, 3, 3}, 1), halves[1]});
    const ValueId c2f = t.add("Concat", {halves[0], halves[1], sum}, axis(1));
    const ValueId deep = t.add("Tanh", {scaled_conv(t, c2f, "d", {16, 48, 1, 1})});
    const ValueId up = t.add("Resize", {deep, ValueId::none, t.floats({4}, {1, 1, 2, 2})});
    const ValueId turned = t.add("ConvTranspose", {deep, t.weight("t", {16, 10, 2, 2})}, {{"strides", Ints{2, 2}}});
    const ValueId joined = t.add("Concat", {skip, up, turned}, axis(1));
    t.output(scaled_conv(t, joined, "o", {5, 50, 3, 3}, 1), "y");
    expect_as_interpreted(t, {{image({1, 8, 12, 20})}, {image({3, 8, 6, 10})}, {image({1, 8, 2, 2})}}, threads);
  }
}

TEST(Joined, ResultsOfTheCaller) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 4, 6}), part = t.add("Cos", {x});
  t.output(t.add("Concat", {t.add("Sin", {x}), part, x}, axis(1)), "y");
  t.output(t.add("Exp", {part}), "z");
  SessionOptions options;
  const auto session = make_session(t.g, options);
  const Value given = image({1, 4, 6});
  const std::vector<Tensor> want = interpret(t.g, tensors({given}));
  std::vector<float> memory(200);
  // `at`: number of floats from the input's memory to the output's
  const auto expect = [&](size_t input, size_t output) {
    SCOPED_TRACE(cat("input at {}, output at {}", input, output));
    std::memcpy(&memory[input], given.tensor()->data(), given.tensor()->bytes());
    const Value in = Tensor(DType::f32, {1, 4, 6}, &memory[input], nullptr);
    std::vector<Value> results{Tensor(DType::f32, {1, 12, 6}, &memory[output], nullptr), Value()};
    const Value* const inputs[] = {&in};
    Value* const outputs[] = {&results[0], &results[1]};
    session->run(inputs, outputs, {}, nullptr);
    EXPECT_EQ(static_cast<const void*>(results[0].tensor()->data()), &memory[output]);
    expect_equal_results(want, tensors(results));
  };
  expect(0, 100);
  expect(0, 101);  // not aligned for vectors
  expect(10, 10);
  expect(20, 0);
  expect(58, 10);  // next to the output
  expect(0, 100);
}

TEST(Joined, PiecesAreNotOverwritten) {
  TestGraph t;
  const ValueId x = t.input("x", {6, 5});
  for (const ValueId whole : {x, t.add("Sin", {x})}) {
    const auto parts = t.add_multi({.type = "Split", .inputs = {whole}, .attributes = axis(0), .outputs = 3});
    const ValueId up = t.add("Relu", {parts[0]}), square = t.add("Mul", {parts[1], parts[1]});
    const ValueId row = t.add("Gather", {whole, t.g.add_constant(t.g.unique_name("i"), Tensor::of<int64_t>({}, {-2}))});
    const ValueId rows = t.add("Slice", {whole, t.ints({1}), t.ints({4}), t.ints({0})});
    const ValueId more = t.add("Neg", {t.add("Relu", {rows})});
    t.output(t.add("Add", {t.add("Add", {up, square}), parts[2]}), t.g.unique_name("sum"));
    t.output(t.add("Add", {t.add("Relu", {row}), t.add("Relu", {whole})}), t.g.unique_name("row"));
    t.output(t.add("Add", {more, rows}), t.g.unique_name("rows"));
    t.output(parts[2], t.g.unique_name("piece"));
  }
  expect_as_interpreted(t, {{image({6, 5})}, {image({6, 5}, 4)}});
}

// A result that the caller binds over the input must not be written while pieces of the input are still read.
TEST(Joined, PieceOfAnInputThatIsWrittenOver) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 8});
  const auto parts = t.add_multi({.type = "Split", .inputs = {x}, .attributes = axis(0), .outputs = 2});
  const ValueId turned = t.add("Neg", {x});
  t.output(turned, "y");
  t.output(t.add("Add", {parts[0], t.add("ReduceSum", {turned}, {})}), "z");
  t.output(t.add("Sin", {parts[1]}), "w");
  SessionOptions options;
  const auto session = make_session(t.g, options);
  const Value given = image({2, 8});
  const std::vector<Tensor> want = interpret(t.g, tensors({given}));
  std::vector<float> memory(16);
  std::memcpy(memory.data(), given.tensor()->data(), given.tensor()->bytes());
  const Value in = Tensor(DType::f32, {2, 8}, memory.data(), nullptr);
  std::vector<Value> results{Tensor(DType::f32, {2, 8}, memory.data(), nullptr), Value(), Value()};
  const Value* const inputs[] = {&in};
  Value* const outputs[] = {&results[0], &results[1], &results[2]};
  session->run(inputs, outputs, {}, nullptr);
  expect_equal_results(want, tensors(results));
}

TEST(Joined, ExtentsThatChange) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), t.symbol("c"), 4});
  const ValueId all = t.add("Concat", {t.add("Sin", {x}), t.add("Cos", {x})}, axis(1));
  const auto parts = t.add_multi({.type = "Split", .inputs = {all}, .attributes = axis(1), .outputs = 2});
  t.output(t.add("Mul", {t.add("Relu", {parts[1]}), parts[0]}), "y");
  t.output(t.add("Exp", {all}), "all");
  expect_as_interpreted(t, {{image({1, 3, 4})},
                            {image({2, 3, 4})},
                            {image({1, 3, 4})},
                            {image({2, 1, 4})},
                            {image({1, 0, 4})},
                            {image({0, 3, 4})},
                            {image({3, 2, 4})}});
}

// What Slice cuts out is known only in the middle of a run: its step and later ones are laid out again in each run.
TEST(Joined, PiecesThatTheDataTells) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 6, 4}), first = t.input("first", {1}, DType::i64);
  const ValueId a = t.add("Sin", {x});
  const ValueId start = t.add("Add", {first, t.add("Mul", {first, first})});
  const ValueId part = t.add("Slice", {a, start, t.ints({6}), t.ints({1})});
  const ValueId of_input = t.add("Slice", {x, start, t.ints({6}), t.ints({1})});
  const ValueId all = t.add("Concat", {t.add("Relu", {part}), t.add("Cos", {of_input}), part}, axis(1));
  t.output(t.add("Exp", {all}), "y");
  t.output(t.add("Sin", {a}), "a");
  std::vector<std::vector<Value>> runs;
  for (const int64_t i : {0, 1, 2, 0, 1})
    runs.push_back({image({1, 6, 4}, unsigned(i)), Tensor::of<int64_t>({1}, {i})});
  expect_as_interpreted(t, runs);
}

TEST(Joined, BatchesInStretches) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 6, 150, 150});
  const ValueId wide = t.add("Relu", {scaled_conv(t, x, "a", {24, 6, 1, 1})});
  const ValueId deep = t.add("Relu", {scaled_conv(t, wide, "d", {24, 1, 3, 3}, 1, 24)});
  const ValueId left = scaled_conv(t, deep, "l", {6, 24, 1, 1}),
                right = t.add("Relu", {scaled_conv(t, x, "r", {10, 6, 1, 1})});
  const ValueId all = t.add("Concat", {left, right}, axis(1));
  const auto parts =
      t.add_multi({.type = "Split", .inputs = {all, t.ints({6, 10})}, .attributes = axis(1), .outputs = 2});
  const ValueId again = t.add(
      "Relu", {scaled_conv(t, t.add("Relu", {scaled_conv(t, parts[1], "p", {24, 10, 1, 1})}), "q", {6, 24, 1, 1})});
  t.output(t.add("GlobalAveragePool", {t.add("Add", {again, parts[0]})}), "y");
  // the rows of three images are close enough for channels of `all` to be guests, those of five are not
  expect_as_interpreted(t, {{image({5, 6, 150, 150})}, {image({3, 6, 150, 150})}, {image({1, 6, 150, 150})}});
}

TEST(Joined, Strings) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 2}, DType::string);
  const ValueId a = t.add("Identity", {x});
  const ValueId all = t.add("Concat", {a, x, a}, axis(1));
  const auto parts = t.add_multi({.type = "Split", .inputs = {all}, .attributes = axis(1), .outputs = 3});
  t.output(t.add("Concat", {parts[2], parts[0]}, axis(0)), "y");
  const Value in = Tensor::of<std::string>({1, 2}, {"one", "two, which is longer than what lies inside of a string"});
  for (const OptimizationLevel level : {OptimizationLevel::none, OptimizationLevel::all}) {
    const std::vector<Value> results = run(t.g, {in}, level);
    const Tensor& y = *results[0].tensor();
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(y.data<std::string>()[i], in.tensor()->data<std::string>()[i % 2]);
  }
}

/// Random operators in random order on images with equal spatial extents.
class RandomJoins {
 public:
  explicit RandomJoins(unsigned seed) : random_(seed) {
    const Shape shape{pick(2) + 1, 4 + pick(3), 1 + pick(4), 1 + pick(3)};
    for (int i = 0; i < 2; ++i) {
      values_.push_back({t.input(cat("x{}", i), shape), shape});
      inputs.push_back(image(shape, seed + unsigned(i)));
    }
    for (int i = 0; i < 18; ++i) add_node();
    for (size_t i = 0; i < 3; ++i) t.output(t.add("Abs", {any().value}), cat("y{}", i));
    if (pick(2)) t.output(values_.back().value, "last");
  }
  TestGraph t;
  std::vector<Value> inputs;

 private:
  struct Made {
    ValueId value;
    Shape shape;
  };
  int64_t pick(int64_t n) { return int64_t(random_() % unsigned(n)); }
  const Made& any() {
    const size_t from = pick(3) ? values_.size() - std::min<size_t>(values_.size(), 6) : 0;
    return values_[from + size_t(pick(int64_t(values_.size() - from)))];
  }
  // A value that fits `like` on all axes except `along`.
  const Made* fitting(const Shape& like, size_t along) {
    for (int tries = 0; tries < 12; ++tries) {
      const Made& m = any();
      bool fits = true;
      for (size_t d = 0; d < 4; ++d) fits = fits && (d == along || m.shape[d] == like[d]);
      if (fits) return &m;
    }
    return nullptr;
  }
  void add_node() {
    const Made x = any();
    const size_t along = pick(2) ? 1 : size_t(pick(4));
    Shape y = x.shape;
    switch (pick(6)) {
      case 0: {  // Concat
        std::vector<ValueId> parts{x.value};
        for (int64_t i = 0; i <= pick(3); ++i) {
          const Made* m = fitting(x.shape, along);
          if (!m || y[along] + m->shape[along] > 40) continue;
          parts.push_back(m->value);
          y[along] += m->shape[along];
        }
        return made(t.add("Concat", parts, axis(int64_t(along))), y);
      }
      case 1: {  // Split
        const int64_t first = pick(y[along] + 1), rest = y[along] - first;
        const auto parts = t.add_multi({.type = "Split",
                                        .inputs = {x.value, t.ints({first, rest})},
                                        .attributes = axis(int64_t(along)),
                                        .outputs = 2});
        for (const size_t i : {0, 1}) {
          y[along] = i ? rest : first;
          if (y[along] > 0) made(parts[i], y);
        }
        return;
      }
      case 2: {  // Slice
        const int64_t first = pick(y[along]);
        y[along] -= first;
        return made(t.add("Slice", {x.value, t.ints({first}), t.ints({1000}), t.ints({int64_t(along)})}), y);
      }
      case 3:
        return made(t.add(pick(2) ? "Relu" : "Neg", {x.value}), y);
      case 4: {
        const Made* m = fitting(x.shape, 4);
        return made(t.add("Add", {x.value, m ? m->value : x.value}), y);
      }
      default: {
        const int64_t k = pick(2) ? 3 : 1, channels = 1 + pick(20);
        const ValueId z = scaled_conv(t, x.value, t.g.unique_name("w"), {channels, y[1], k, k}, k / 2);
        y[1] = channels;
        // keeps the numbers small
        return made(t.add("Tanh", {z}), y);
      }
    }
  }
  void made(ValueId v, const Shape& shape) { values_.push_back({v, shape}); }

  std::mt19937 random_;
  std::vector<Made> values_;
};

TEST(Joined, AnyGraph) {
  for (unsigned seed = 0; seed < (sanitized() ? 30 : 150); ++seed) {
    SCOPED_TRACE(seed);
    RandomJoins g(seed);
    expect_as_interpreted(g.t, {g.inputs});
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace retort
