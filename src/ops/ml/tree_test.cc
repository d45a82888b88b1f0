#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/ml/ml_testing.h"

namespace retort::ops {
namespace {

using Items = std::vector<Attributes::Item>;

Attributes with(Attributes attributes, const Items& own) {
  for (const auto& [name, value] : own) attributes.set(name, value);
  return attributes;
}

// x0 <= 0 ? leaf 1 : x1 < 2 ? leaf 3 : leaf 4, and a tree that consists of leaf 0.
Attributes two_trees(const Items& own) {
  return with({{"nodes_treeids", Ints{0, 0, 0, 0, 0, 1}},
               {"nodes_nodeids", Ints{0, 1, 2, 3, 4, 0}},
               {"nodes_featureids", Ints{0, 0, 1, 0, 0, 0}},
               {"nodes_truenodeids", Ints{1, 0, 3, 0, 0, 0}},
               {"nodes_falsenodeids", Ints{2, 0, 4, 0, 0, 0}},
               {"nodes_modes", Strings{"BRANCH_LEQ", "LEAF", "BRANCH_LT", "LEAF", "LEAF", "LEAF"}},
               {"nodes_values", Floats{0, 0, 2, 0, 0, 0}}},
              own);
}
const Tensor kTreeRows = f32({4, 2}, {-1, 0, 1, 1, 1, 2, NAN, NAN});

Attributes tree_regressor(const Items& own) {
  return with(two_trees({{"n_targets", int64_t(2)},
                         {"target_treeids", Ints{0, 0, 0, 0, 1}},
                         {"target_nodeids", Ints{1, 3, 3, 4, 0}},
                         {"target_ids", Ints{0, 0, 1, 1, 0}},
                         {"target_weights", Floats{0.5f, 1, -1, 2, 0.25f}}}),
              own);
}
const OpTest tree_ensemble_regressor(
    "TreeEnsembleRegressor",
    {{.about = "sum; NaN takes the other side",
      .attributes = tree_regressor({}),
      .inputs = {kTreeRows},
      .outputs = {f32({4, 2}, {0.75f, 0, 1.25f, -1, 0.25f, 2, 0.25f, 2})},
      .fixed_types = true},
     {.about = "average, integers",
      .attributes = tree_regressor({{"aggregate_function", std::string("AVERAGE")}}),
      .inputs = {i64({1, 2}, {1, 1})},
      .outputs = {f32({1, 2}, {0.625f, -0.5f})},
      .fixed_types = true},
     {.about = "minimum of the weights",
      .attributes = tree_regressor({{"aggregate_function", std::string("MIN")}}),
      .inputs = {f64({2, 2}, {-1, 0, 1, 1})},
      .outputs = {f32({2, 2}, {0.25f, 0, 0.25f, -1})},
      .fixed_types = true},
     {.about = "maximum, base values, one row without a batch",
      .attributes = tree_regressor({{"aggregate_function", std::string("MAX")}, {"base_values", Floats{1, 10}}}),
      .inputs = {f32({2}, {1, 1})},
      .outputs = {f32({1, 2}, {2, 9})},
      .fixed_types = true},
     {.about = "missing values tracked",
      .attributes = tree_regressor({{"nodes_missing_value_tracks_true", Ints{1, 0, 0, 0, 0, 0}}}),
      .inputs = {kTreeRows},
      .outputs = {f32({4, 2}, {0.75f, 0, 1.25f, -1, 0.25f, 2, 0.75f, 0})},
      .fixed_types = true},
     {.about = "logistic",
      .attributes = tree_regressor({{"post_transform", std::string("LOGISTIC")}}),
      .inputs = {f32({1, 2}, {1, 1})},
      .outputs = {f32({1, 2}, {0.777299861f, 0.268941421f})},
      .fixed_types = true},
     {.about = "no rows", .attributes = tree_regressor({}), .inputs = {f32({0, 2}, {})}, .outputs = {f32({0, 2}, {})}}},
    {.domain = "ai.onnx.ml"});

// Leaves 1, 3 and 4 each vote for a class; the single leaf votes for class 0.
Attributes tree_classifier(const Ints& classes, const Floats& weights, const Items& own) {
  return with(two_trees({{"class_treeids", Ints{0, 0, 0, 1}},
                         {"class_nodeids", Ints{1, 3, 4, 0}},
                         {"class_ids", classes},
                         {"class_weights", weights}}),
              own);
}
const Items kLabels = {{"classlabels_int64s", Ints{7, 8}}};
Items labels_and(std::string transform) { return {kLabels[0], {"post_transform", std::move(transform)}}; }

const OpTest tree_ensemble_classifier(
    "TreeEnsembleClassifier",
    {{.about = "three classes",
      .attributes = tree_classifier({0, 1, 2, 0}, {0.5f, 1, 2, 0.25f},
                                    {{"classlabels_strings", Strings{"a", "b", "c"}}}),
      .inputs = {f32({3, 2}, {-1, 0, 1, 1, 1, 2})},
      .outputs = {strings({3}, {"a", "b", "c"}), f32({3, 3}, {0.75f, 0, 0, 0.25f, 1, 0, 0.25f, 0, 2})},
      .fixed_types = true},
     {.about = "two classes from the scores of one: probabilities",
      .attributes = tree_classifier({0, 0, 0, 0}, {0.125f, 0.5f, 0.25f, 0.125f}, kLabels),
      .inputs = {f32({3, 2}, {-1, 0, 1, 1, 1, 2})},
      .outputs = {i64({3}, {7, 8, 7}), f32({3, 2}, {0.75f, 0.25f, 0.375f, 0.625f, 0.625f, 0.375f})},
      .fixed_types = true},
     {.about = "weights below zero: scores for and against",
      .attributes = tree_classifier({0, 0, 0, 0}, {-0.5f, 0.5f, 0.25f, 0.25f}, kLabels),
      .inputs = {f32({2, 2}, {-1, 0, 1, 1})},
      .outputs = {i64({2}, {7, 8}), f32({2, 2}, {0.25f, -0.25f, -0.75f, 0.75f})},
      .fixed_types = true},
     {.about = "logistic of one score",
      .attributes = tree_classifier({0, 0, 0, 0}, {-0.5f, 0.5f, 0.25f, 0.25f}, labels_and("LOGISTIC")),
      .inputs = {f32({2, 2}, {-1, 0, 1, 1})},
      .outputs = {i64({2}, {7, 8}), f32({2, 2}, {0.562176501f, 0.437823499f, 0.320821301f, 0.679178699f})},
      .fixed_types = true},
     {.about = "two classes with scores of their own",
      .attributes = tree_classifier({0, 1, 1, 0}, {0.5f, 0.75f, 0.5f, 0.25f}, labels_and("SOFTMAX")),
      .inputs = {f32({1, 2}, {1, 1})},
      .outputs = {i64({1}, {8}), f32({1, 2}, {0.377540669f, 0.622459331f})},
      .fixed_types = true}},
    {.domain = "ai.onnx.ml"});

// Feature 0 is 1 or 3 ? leaf 0 : feature 1 > 0.5 ? leaf 1 : leaf 2.
const OpTest tree_ensemble("TreeEnsemble",
                           {{.about = "sets and leaves",
                             .attributes = {{"n_targets", int64_t(2)},
                                            {"tree_roots", Ints{0}},
                                            {"nodes_featureids", Ints{0, 1}},
                                            {"nodes_modes", u8({2}, {6, 3})},
                                            {"nodes_splits", f32({2}, {0, 0.5f})},
                                            {"nodes_truenodeids", Ints{0, 1}},
                                            {"nodes_trueleafs", Ints{1, 1}},
                                            {"nodes_falsenodeids", Ints{1, 2}},
                                            {"nodes_falseleafs", Ints{0, 1}},
                                            {"membership_values", f32({3}, {3, 1, NAN})},
                                            {"leaf_targetids", Ints{0, 1, 0}},
                                            {"leaf_weights", f32({3}, {1, 2, 3})}},
                             .inputs = {f32({4, 2}, {1, 0, 2, 1, 2, 0.5f, 3, 1})},
                             .outputs = {f32({4, 2}, {1, 0, 0, 2, 3, 0, 1, 0})}}},
                           {.domain = "ai.onnx.ml"});

// A forest as attributes, and its reference, node by node.
struct Forest {
  Ints tree, node, feature, yes, no, missing, target;
  Strings modes;
  Floats values, weights;

  /// The modes that `drawn` names; `misses`: whether NaN may take the branch of a comparison that holds; `chains`:
  /// whether one child of every split is a leaf, so that leaves are near and far.
  Forest(uint32_t seed, const Strings& drawn, bool misses, bool chains, int64_t targets) {
    std::mt19937 random(seed);
    for (int64_t t = 0; t < 11; ++t) {
      // Node i leads to 2i + 1 and 2i + 2, deep nodes are leaves; or to i + 1, a leaf, and i + 2.
      const int64_t splits = int64_t(random() % 40);
      for (int64_t i = 0; i < 2 * splits + 1; ++i) {
        tree.push_back(t);
        node.push_back(i);
        feature.push_back(int64_t(random() % 5));
        target.push_back(i / 2 % targets);
        yes.push_back(chains ? i + 1 : 2 * i + 1);
        no.push_back(chains ? i + 2 : 2 * i + 2);
        missing.push_back(misses ? int64_t(random() % 2) : 0);
        const bool leaf = chains ? i % 2 == 1 || i == 2 * splits : i >= splits;
        modes.push_back(leaf ? "LEAF" : drawn[random() % drawn.size()]);
        values.push_back(float(random() % 5));
        weights.push_back(float(random() % 64) / 8);
      }
    }
  }

  Attributes attributes(int64_t targets) const {
    return {{"nodes_treeids", tree},    {"nodes_nodeids", node},    {"nodes_featureids", feature},
            {"nodes_truenodeids", yes}, {"nodes_falsenodeids", no}, {"nodes_missing_value_tracks_true", missing},
            {"nodes_modes", modes},     {"nodes_values", values},   {"target_treeids", tree},
            {"target_nodeids", node},   {"target_ids", target},     {"target_weights", weights},
            {"n_targets", targets}};
  }

  bool holds(size_t n, float x) const {
    if (std::isnan(x) && missing[n]) return true;
    const std::string& mode = modes[n];
    const float v = values[n];
    return mode == "BRANCH_LEQ"   ? x <= v
           : mode == "BRANCH_LT"  ? x < v
           : mode == "BRANCH_GTE" ? x >= v
           : mode == "BRANCH_GT"  ? x > v
           : mode == "BRANCH_EQ"  ? x == v
                                  : x != v;
  }

  float score(const std::vector<size_t>& roots, const float* x, int64_t of) const {
    float sum = 0;
    for (const size_t root : roots) {
      size_t at = root;
      while (modes[at] != "LEAF") at = root - node[root] + size_t(holds(at, x[feature[at]]) ? yes[at] : no[at]);
      if (target[at] == of) sum += weights[at];
    }
    return sum;
  }
  /// The nodes that no other leads to.
  std::vector<size_t> roots() const {
    std::vector<bool> reached(node.size(), false);
    for (size_t i = 0; i < node.size(); ++i) {
      if (modes[i] == "LEAF") continue;
      for (const int64_t child : {yes[i], no[i]}) reached[i + size_t(child - node[i])] = true;
    }
    std::vector<size_t> roots;
    for (size_t i = 0; i < node.size(); ++i)
      if (!reached[i]) roots.push_back(i);
    return roots;
  }

  /// Splits lead to any later nodes of their trees, often to the same ones with the same feature, as sets are written.
  void share(uint32_t seed) {
    std::mt19937 random(seed);
    const auto often = [&] { return random() % 4 != 0; };
    for (size_t i = 0; i < node.size(); ++i) {
      if (modes[i] == "LEAF") continue;
      size_t last = i;
      while (last + 1 < node.size() && tree[last + 1] == tree[i]) ++last;
      const auto later = [&] { return node[i] + 1 + int64_t(random() % (last - i)); };
      yes[i] = later();
      no[i] = often() ? node[i] + 1 : later();
      if (i == 0 || tree[i - 1] != tree[i] || !often()) continue;
      feature[i] = feature[i - 1];
      missing[i] = missing[i - 1];
      if (yes[i - 1] > node[i]) yes[i] = yes[i - 1];
    }
  }
};

void expect_scores(const Forest& forest, int64_t targets, uint32_t seed, float scale = 1) {
  const std::vector<size_t> roots = forest.roots();
  for (const int64_t rows : {1, 2, 7, 8, 9, 65, 200}) {
    Tensor x = random({rows, 5}, seed, -1, 6);
    for (size_t i = 0; i < x.count(); i += 3) x.mutable_data<float>()[i] = std::floor(x.data<float>()[i]);
    for (size_t i = 0; i < x.count(); ++i) x.mutable_data<float>()[i] *= scale;
    for (size_t i = 0; i < x.count(); i += 13) x.mutable_data<float>()[i] = NAN;
    for (const DType type : {DType::f32, DType::f64}) {
      OpRun run("ai.onnx.ml", "TreeEnsembleRegressor", forest.attributes(targets), {cast_to(x, type)}, 1);
      const Tensor y = run.run()[0];
      for (int64_t i = 0; i < rows * targets; ++i) {
        ASSERT_EQ(y.data<float>()[i], forest.score(roots, x.data<float>() + i / targets * 5, i % targets))
            << "seed " << seed << " element " << i << " of " << dtype_name(type);
      }
    }
  }
}

TEST(TreeEnsemble, WalksAsItsNodesSay) {
  const std::vector<Strings> modes = {
      {"BRANCH_LEQ"},
      {"BRANCH_LT"},
      {"BRANCH_GTE"},
      {"BRANCH_GT"},
      {"BRANCH_LEQ", "BRANCH_GT"},
      {"BRANCH_LT", "BRANCH_GTE"},
      {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}};
  for (uint32_t seed = 0; seed < 8 * modes.size(); ++seed) {
    const int64_t targets = 1 + seed / 4 % 2;
    expect_scores(Forest(seed, modes[seed / 8], seed % 2 == 1, seed / 2 % 2 == 1, targets), targets, seed);
  }
}

TEST(TreeEnsemble, NodesMayShareAChild) {
  const std::vector<Strings> modes = {{"BRANCH_EQ"}, {"BRANCH_EQ", "BRANCH_EQ", "BRANCH_LEQ"}, {"BRANCH_LEQ"}};
  for (uint32_t seed = 0; seed < 4 * modes.size(); ++seed) {
    const int64_t targets = 1 + seed % 2;
    Forest forest(seed, modes[seed / 4], seed / 2 % 2 == 1, false, targets);
    forest.share(seed);
    for (const float scale : {1.0f, 0.5f, -1.0f, 100.0f, 5000.0f}) {  // sets of small integers, and others
      Forest scaled = forest;
      for (float& v : scaled.values) v *= scale;
      expect_scores(scaled, targets, seed, scale);
    }
  }
}

void expect_refused(const Attributes& attributes, std::string_view word) {
  try {
    OpRun run("ai.onnx.ml", "TreeEnsembleRegressor", attributes, {kTreeRows}, 1);
    run.run();
    FAIL() << "accepted; expected an error with " << word;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
  }
}

TEST(TreeEnsemble, RejectsInvalidTrees) {
  // x0 <= 0 ? leaf 1 : node 2, which leads back to itself, or to node 3 and back.
  expect_refused(tree_regressor({{"nodes_truenodeids", Ints{1, 0, 2, 0, 0, 0}}}), "in a cycle");
  expect_refused(
      tree_regressor({{"nodes_truenodeids", Ints{1, 0, 3, 2, 0, 0}},
                      {"nodes_falsenodeids", Ints{2, 0, 4, 4, 0, 0}},
                      {"nodes_modes", Strings{"BRANCH_LEQ", "LEAF", "BRANCH_LT", "BRANCH_LT", "LEAF", "LEAF"}},
                      {"target_nodeids", Ints{1, 4, 4, 4, 0}}}),
      "in a cycle");
  // A chain of comparisons that never ends.
  expect_refused(
      tree_regressor({{"nodes_truenodeids", Ints{1, 0, 4, 4, 0, 0}},
                      {"nodes_falsenodeids", Ints{2, 0, 3, 2, 0, 0}},
                      {"nodes_modes", Strings{"BRANCH_LEQ", "LEAF", "BRANCH_EQ", "BRANCH_EQ", "LEAF", "LEAF"}},
                      {"target_nodeids", Ints{1, 4, 4, 4, 0}}}),
      "in a cycle");
  expect_refused(tree_regressor({{"nodes_truenodeids", Ints{1, 0, 0, 0, 0, 0}}}), "not reached from any root");
  expect_refused(tree_regressor({{"nodes_falsenodeids", Ints{2, 0, 9, 0, 0, 0}}}), "does not exist");
  expect_refused(tree_regressor({{"nodes_values", Floats{0}}}), "nodes_values has 1");
  expect_refused(tree_regressor({{"target_ids", Ints{0, 0, 2, 1, 0}}}), "target 2");
  expect_refused(tree_regressor({{"nodes_featureids", Ints{0, 0, 2, 0, 0, 0}}}), "3 features");
  expect_refused(tree_regressor({{"nodes_featureids", Ints{0, 0, -1, 0, 0, 0}}}), "feature -1");
  expect_refused(tree_regressor({{"nodes_modes", Strings{"?", "LEAF", "LEAF", "LEAF", "LEAF", "LEAF"}}}), "\"?\"");
}

}  // namespace
}  // namespace retort::ops
