// Searches for token sequences in whole sessions, with models that can be followed by hand: the logits of the next
// token depend on the last token alone, and the caches keep all tokens. tests/conformance has random models of each
// kind.
#include <gtest/gtest.h>

#include <cmath>

#include "session/session_testing.h"

namespace retort {
namespace {

constexpr int64_t kTokens = 4;

Tensor ints(Shape shape, const std::vector<int32_t>& v) { return Tensor::of<int32_t>(std::move(shape), v); }
Tensor number(int32_t v) { return ints({}, {v}); }
Tensor real(float v) { return Tensor::of<float>({1}, {v}); }

std::vector<int32_t> tokens(const Value& v) {
  const Tensor& t = *v.tensor();
  return {t.data<int32_t>(), t.data<int32_t>() + t.count()};
}

std::vector<float> logarithms(std::vector<float> probabilities) {
  for (float& p : probabilities) p = std::log(p);
  return probabilities;
}

/// The probability of each token (column) after each token (row).
const std::vector<float> kChain = {.05f, .5f,  .4f,  .05f,  // 0: 1 is more likely than 2
                                   .3f,  .25f, .2f,  .25f,  // 1: nothing is likely
                                   .02f, .03f, .05f, .9f,   // 2: then 3
                                   .9f,  .02f, .03f, .05f};

/// The decoder, whose table of logits is given by `table`, for example a capture. `type` is that of logits and caches.
struct Chain : TestGraph {
  explicit Chain(std::shared_ptr<DimTable> dims, DType type = DType::f32) : TestGraph(std::move(dims)), type(type) {
    const Dim batch = symbol("batch"), rows = symbol("rows"), past = symbol("past");
    ids = input("input_ids", {batch, rows}, DType::i32);
    input("position_ids", {batch, rows}, DType::i32);
    mask = input("attention_mask", {batch, symbol("all")}, DType::i32);
    cache = input("past_0", {2, batch, 1, past, 1}, type);
  }
  void finish(ValueId table) {
    const ValueId known = add("Unsqueeze", {add("Cast", {ids}, {{"to", int64_t(type)}}), ints({0, 2, 4})});
    const ValueId both = add("Concat", {known, known}, {{"axis", int64_t(0)}});
    output(add("Cast", {add("Gather", {table, ids})}, {{"to", int64_t(type)}}), "logits");
    output(add("Concat", {cache, both}, {{"axis", int64_t(3)}}), "present_0");
  }
  const DType type;
  ValueId ids, mask, cache;
};

/// A graph of one search; inputs are added by the test. The table is a constant of the main graph, which the decoder
/// captures.
struct Search : TestGraph {
  explicit Search(DType type = DType::f32) : type(type), table(floats({kTokens, kTokens}, logarithms(kChain))) {}

  void finish(const std::string& name, std::vector<ValueId> inputs, Attributes attributes, size_t outputs = 1) {
    Chain decoder(g.shared_dims(), type);
    decoder.finish(decoder.input("table", {kTokens, kTokens}));
    decoder.g.captures = 1;
    Node n;
    n.type = name;
    n.domain = "com.microsoft";
    n.attributes = std::move(attributes);
    n.inputs = std::move(inputs);
    n.inputs.push_back(table);
    n.captures = 1;
    n.bodies.push_back({"decoder", decoder.g.clone()});
    for (size_t i = 0; i < outputs; ++i) n.outputs.push_back(g.add_value(cat("y{}", i)));
    const NodeId id = g.add_node(std::move(n));
    resolve(g.node(id));
    infer_node(g, g.node(id));
    for (const ValueId v : g.node(id).outputs) output(v, g.value(v).name);
  }
  const DType type;
  ValueId table;
};

Attributes ends(int64_t end, Attributes more = {}) {
  more.set("eos_token_id", end);
  more.set("pad_token_id", int64_t(0));
  return more;
}

struct Greedy : Search {
  explicit Greedy(Attributes attributes = ends(-1), const std::string& name = "GreedySearch", DType type = DType::f32)
      : Search(type) {
    finish(name, {input("x", {symbol("b"), symbol("n")}, DType::i32), input("longest", {}, DType::i32)},
           std::move(attributes));
  }
};

TEST(GreedySearch, TakesTheMostLikelyToken) {
  const Greedy t;
  for (const OptimizationLevel level : kLevels) {
    const Value y = run(t.g, {ints({2, 2}, {3, 2, 1, 0}), number(6)}, level)[0];
    EXPECT_EQ(tokens(y), (std::vector<int32_t>{3, 2, 3, 0, 1, 0, 1, 0, 1, 0, 1, 0}));
  }
}

TEST(GreedySearch, LogitsAndCachesMayHave16Bits) {
  const Greedy t(ends(-1), "GreedySearch", DType::f16);
  for (const OptimizationLevel level : kLevels) {
    const Value y = run(t.g, {ints({2, 2}, {3, 2, 1, 0}), number(6)}, level)[0];
    EXPECT_EQ(tokens(y), (std::vector<int32_t>{3, 2, 3, 0, 1, 0, 1, 0, 1, 0, 1, 0}));
  }
}

TEST(GreedySearch, PadsSequencesAfterTheirEnd) {
  const Greedy t(ends(3));
  const Value y = run(t.g, {ints({2, 1}, {2, 1}), number(4)}, OptimizationLevel::all)[0];
  EXPECT_EQ(tokens(y), (std::vector<int32_t>{2, 0, 0, 0, 1, 0, 1, 0}));
  const Value all = run(t.g, {ints({1, 1}, {2}), number(4)}, OptimizationLevel::all)[0];
  EXPECT_EQ(tokens(all), (std::vector<int32_t>{2, 0, 0, 0}));
}

TEST(GreedySearch, AnEmptyBatchHasNoSequences) {
  const Value y = run(Greedy().g, {ints({0, 2}, {}), number(4)}, OptimizationLevel::all)[0];
  EXPECT_EQ(y.tensor()->shape(), (Shape{0, 4}));
}

TEST(GreedySearch, DoesNotRepeatPairsOfTokens) {
  const Greedy t(ends(-1, {{"no_repeat_ngram_size", int64_t(2)}}));
  const Value y = run(t.g, {ints({1, 3}, {0, 1, 0}), number(6)}, OptimizationLevel::all)[0];
  EXPECT_EQ(tokens(y), (std::vector<int32_t>{0, 1, 0, 2, 3, 0}));
}

// The message of the error that a run ends with.
TEST(GreedySearch, RejectsLengthsWithoutRoom) {
  const Greedy t;
  EXPECT_CONTAINS(failure(t.g, {ints({1, 2}, {3, 2}), number(2)}), "max_length is 2, expected more than the 2 tokens");
  EXPECT_CONTAINS(failure(t.g, {ints({1, 0}, {}), number(2)}), "at least one token");
  EXPECT_THROW(Greedy(ends(-1, {{"model_type", int64_t(1)}})), Error);
  EXPECT_THROW(Greedy(ends(-1, {{"vocab_size", int64_t(5)}})), Error);
}

// With top_p 0 and a token to keep, only the most likely one is left.
TEST(Sampling, WithoutAlternativesIsGreedy) {
  const Greedy t(ends(-1, {{"top_p", 0.0f}, {"min_tokens_to_keep", int64_t(1)}}), "Sampling");
  const Value y = run(t.g, {ints({1, 2}, {3, 2}), number(6)}, OptimizationLevel::all)[0];
  EXPECT_EQ(tokens(y), (std::vector<int32_t>{3, 2, 3, 0, 1, 0}));
}

// The frequencies of what follows token 1.
TEST(Sampling, DrawsTokensByTheirProbabilities) {
  const Greedy t(ends(-1, {{"top_p", 1.0f}}), "Sampling");
  constexpr int32_t kDraws = 4000;
  const Value y = run(t.g, {ints({kDraws, 1}, std::vector<int32_t>(kDraws, 1)), number(2)}, OptimizationLevel::all)[0];
  std::vector<int> counts(kTokens);
  for (size_t i = 1; i < 2 * kDraws; i += 2) ++counts[size_t(tokens(y)[i])];
  for (size_t i = 0; i < counts.size(); ++i) EXPECT_NEAR(double(counts[i]) / kDraws, kChain[kTokens + i], 0.03) << i;
}

struct Beam : Search {
  explicit Beam(Attributes attributes = ends(-1), size_t outputs = 2) {
    finish("BeamSearch",
           {input("x", {symbol("b"), symbol("n")}, DType::i32), input("longest", {}, DType::i32), ValueId::none,
            input("beams", {}, DType::i32), input("returned", {}, DType::i32), input("penalty", {1})},
           std::move(attributes), outputs);
  }
  std::vector<Value> search(const Tensor& begin, int32_t longest, int32_t beams, int32_t returned,
                            OptimizationLevel level = OptimizationLevel::all) const {
    return run(g, {begin, number(longest), number(beams), number(returned), real(1)}, level);
  }
};

// 0 1 is more likely than 0 2, but 0 2 3 is more likely than all that goes on from 0 1.
TEST(BeamSearch, FindsWhatGreedySearchMisses) {
  const Beam t;
  for (const OptimizationLevel level : kLevels) {
    const auto y = t.search(ints({1, 1}, {0}), 3, 2, 2, level);
    EXPECT_EQ(tokens(y[0]), (std::vector<int32_t>{0, 2, 3, 0, 1, 0}));
    EXPECT_NEAR(y[1].tensor()->data<float>()[0], std::log(.4 * .9) / 3, 1e-5);
    EXPECT_NEAR(y[1].tensor()->data<float>()[1], std::log(.5 * .3) / 3, 1e-5);
  }
}

TEST(BeamSearch, EntriesOfTheBatchAreIndependent) {
  const Beam t;
  const auto both = t.search(ints({2, 2}, {3, 0, 1, 2}), 6, 3, 2);
  for (int i = 0; i < 2; ++i) {
    const auto alone = t.search(ints({1, 2}, i ? std::vector<int32_t>{1, 2} : std::vector<int32_t>{3, 0}), 6, 3, 2);
    const auto all = tokens(both[0]);
    EXPECT_EQ(tokens(alone[0]), std::vector<int32_t>(all.begin() + i * 12, all.begin() + (i + 1) * 12));
  }
}

// A finished sequence is ranked by its length without the end token.
TEST(BeamSearch, ReturnsFinishedSequencesPadded) {
  const Beam t(ends(3));
  const auto y = t.search(ints({1, 1}, {0}), 5, 2, 1);
  EXPECT_EQ(tokens(y[0]), (std::vector<int32_t>{0, 2, 0, 0, 0}));
  EXPECT_NEAR(y[1].tensor()->data<float>()[0], std::log(.4 * .9) / 2, 1e-5);
}

TEST(BeamSearch, ReturnsTheScoresOfAllTokens) {
  const Beam t(ends(-1), 3);
  const Tensor scores = *t.search(ints({1, 1}, {0}), 3, 2, 1)[2].tensor();
  EXPECT_EQ(scores.shape(), (Shape{2, 1, 2, kTokens}));
  for (int i = 0; i < kTokens; ++i) {
    EXPECT_NEAR(scores.data<float>()[i], std::log(kChain[size_t(i)]), 1e-5);
    EXPECT_NEAR(scores.data<float>()[8 + i], std::log(.5 * kChain[kTokens + size_t(i)]), 1e-5);  // after 0 1
    EXPECT_NEAR(scores.data<float>()[12 + i], std::log(.4 * kChain[2 * kTokens + size_t(i)]), 1e-5);
  }
}

TEST(BeamSearch, RejectsNumbersOutOfRange) {
  const Beam t;
  const Tensor begin = ints({1, 1}, {0});
  const auto told = [&](int32_t longest, int32_t beams, int32_t returned) {
    return failure(t.g, {begin, number(longest), number(beams), number(returned), real(1)});
  };
  EXPECT_CONTAINS(told(1, 2, 1), "max_length is 1, expected 2 to 4096");
  EXPECT_CONTAINS(told(3, 129, 1), "num_beams is 129, expected 1 to 128");
  EXPECT_CONTAINS(told(3, 2, 3), "num_return_sequences is 3, expected 1 to 2");
}

// The graph of a decoder with inputs of other names.
TEST(BeamSearch, RejectsGraphsOfAnotherForm) {
  TestGraph t;
  Node n;
  n.type = "GreedySearch";
  n.domain = "com.microsoft";
  n.attributes = ends(-1);
  n.inputs = {t.input("x", {1, 1}, DType::i32), t.input("longest", {}, DType::i32)};
  TestGraph body(t.g.shared_dims());
  const ValueId x = body.input("tokens", {1, 1}, DType::i32);
  for (const char* name : {"position_ids", "attention_mask"}) body.input(name, {1, 1}, DType::i32);
  body.input("past_0", {2, 1, 1, 0, 1});
  body.output(body.add("Identity", {x}), "logits");
  body.output(body.add("Identity", {body.g.inputs[3]}), "present_0");
  n.bodies.push_back({"decoder", body.g.clone()});
  n.outputs = {t.g.add_value("y")};
  const NodeId id = t.g.add_node(std::move(n));
  resolve(t.g.node(id));
  try {
    infer_node(t.g, t.g.node(id));
    FAIL();
  } catch (const Error& e) {
    EXPECT_CONTAINS(e.message(), "input 0 of graph 'decoder' is 'tokens', expected 'input_ids'");
  }
}

}  // namespace
}  // namespace retort
