#include "passes/layout/layout_testing.h"
#include "passes/layout/min_cut.h"

namespace retort {
namespace {

Attributes same_conv() { return {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}; }

TEST(MinCut, CutsTheThinPlaces) {
  MinCut c;
  const uint32_t a = c.add_node(), b = c.add_node();
  c.add_edge(MinCut::kSource, a, MinCut::kInfinite);
  c.add_edge(a, b, 2);
  c.add_edge(a, MinCut::kSink, 1);
  c.add_edge(b, MinCut::kSink, 5);
  EXPECT_EQ(c.solve(), (std::vector<bool>{true, false, true, false}));
}

TEST(MinCut, TakesMoreNodesThanNecessaryIfThatIsFree) {
  MinCut c;
  const uint32_t a = c.add_node(), b = c.add_node(), apart = c.add_node();
  c.add_edge(MinCut::kSource, a, 2);
  c.add_edge(a, b, 2);
  c.add_edge(b, MinCut::kSink, 2);
  c.add_edge(apart, b, 1);
  EXPECT_EQ(c.solve(), (std::vector<bool>{true, false, true, true, false}));
}

TEST(Layout, ChainOfConvolutionsTurnsAtTheEnds) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 8, 6, 6});
  const ValueId a = t.add("Conv", {x, t.weight("w1", {8, 8, 3, 3}), t.weight("b1", {8})}, same_conv());
  const ValueId b = t.add("Relu", {a});
  const ValueId c = t.add("Conv", {b, t.weight("w2", {4, 8, 1, 1})});
  t.output(t.add("Add", {c, t.weight("k", {4, 1, 1})}), "y");
  expect_layout(t, R"(graph(x: float32[1,8,6,6]) {
  Transpose#1: float32[1,6,6,8] = Transpose(x) {perm=[0,2,3,1]}
  Conv#1: float32[1,6,6,8] = retort.Conv(Transpose#1, w1, b1) {pads=[1,1,1,1]}
  Relu#1: float32[1,6,6,8] = Relu(Conv#1)
  Conv#2: float32[1,6,6,4] = retort.Conv(Relu#1, w2)
  Add#1: float32[1,6,6,4] = Add(Conv#2, const#1)
  y: float32[1,4,6,6] = Transpose(Add#1) {perm=[0,3,1,2]}
  return y
}
)");
}

// A lone convolution of many pixels is not worth two moves of them, unless its weights are many or few its pixels.
TEST(Layout, LoneConvolutionOfManyPixelsStays) {
  TestGraph t;
  const Dim n = t.symbol("n");
  const ValueId x = t.input("x", {n, 8, 64, 64});
  t.output(t.add("Conv", {x, t.weight("w1", {64, 8, 1, 1})}), "wide");
  expect_layout(t, R"(graph(x: float32[n,8,64,64]) {
  wide: float32[n,64,64,64] = Conv(x, w1)
  return wide
}
)");
  const auto turns = [](Dim height, const std::vector<int64_t>& weights, bool active, bool bf16_products = false) {
    TestGraph other;
    const ValueId image = other.input("x", {1, 8, height, 64});
    const ValueId y = other.add("Conv", {image, other.weight("w", Shape(std::span(weights)))});
    other.output(active ? other.add("Relu", {y}) : y, "y");
    PassOptions options;
    options.bf16_products = bf16_products;
    PassContext context(options);
    pass_layout.run(other.g, context);
    return std::ranges::any_of(other.g.order(), [&](NodeId id) { return other.g.node(id).is("Conv", "retort"); });
  };
  EXPECT_FALSE(turns(64, {64, 8, 1, 1}, false));
  EXPECT_TRUE(turns(64, {64, 8, 1, 1}, false, true));  // only its channels-last form multiplies in bfloat16
  EXPECT_TRUE(turns(64, {64, 8, 1, 1}, true));
  EXPECT_TRUE(turns(64, {64, 8, 3, 3}, false));
  EXPECT_TRUE(turns(64, {8, 8, 1, 1}, false));
  EXPECT_TRUE(turns(31, {64, 8, 1, 1}, false));
  TestGraph apart;
  const ValueId image = apart.input("x", {1, 2, 200, 200});
  apart.output(apart.add("Conv", {image, apart.weight("w", {64, 2, 2, 2})}, {{"strides", std::vector<int64_t>{2, 2}}}),
               "y");
  expect_layout(apart, R"(graph(x: float32[1,2,200,200]) {
  Conv#1: float32[1,100,100,64] = retort.Conv(x, w) {input_nchw=1, strides=[2,2]}
  y: float32[1,64,100,100] = Transpose(Conv#1) {perm=[0,3,1,2]}
  return y
}
)");
}

TEST(Layout, FirstConvolutionReadsPlanesAndThePoolEndsInAReshape) {
  TestGraph t;
  const ValueId x = t.input("x", {t.symbol("n"), 3, 8, 8});
  const ValueId a = t.add("Conv", {x, t.weight("w", {16, 3, 3, 3})}, {{"strides", std::vector<int64_t>{2, 2}}});
  const ValueId m = t.add("MaxPool", {a}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  const ValueId p = t.add("GlobalAveragePool", {m});
  t.output(t.add("Flatten", {p}), "y");
  expect_layout(t, R"(graph(x: float32[n,3,8,8]) {
  Conv#1: float32[n,3,3,16] = retort.Conv(x, w) {input_nchw=1, strides=[2,2]}
  MaxPool#1: float32[n,2,2,16] = retort.MaxPool(Conv#1) {kernel_shape=[2,2]}
  GlobalAveragePool#1: float32[n,1,1,16] = retort.GlobalAveragePool(MaxPool#1)
  Reshape#1: float32[n,16,1,1] = Reshape(GlobalAveragePool#1, shape#1)
  y: float32[n,16] = Flatten(Reshape#1)
  return y
}
)");
}

TEST(Layout, VolumesTurnToo) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 3, 4, 6, 6});
  const ValueId a = t.add("Conv", {x, t.weight("w1", {8, 3, 3, 3, 3})}, {{"pads", std::vector<int64_t>(6, 1)}});
  const ValueId m = t.add("MaxPool", {t.add("Relu", {a})}, {{"kernel_shape", std::vector<int64_t>{2, 2, 2}}});
  const ValueId b =
      t.add("Conv", {m, t.weight("w2", {8, 8, 3, 1, 1})}, {{"pads", std::vector<int64_t>{1, 0, 0, 1, 0, 0}}});
  const ValueId c = t.add("Concat", {b, m}, {{"axis", int64_t(1)}});
  t.output(t.add("Conv", {c, t.weight("w3", {2, 16, 1, 1, 1})}), "y");  // too few channels
  expect_layout(t, R"(graph(x: float32[1,3,4,6,6]) {
  Transpose#1: float32[1,4,6,6,3] = Transpose(x) {perm=[0,2,3,4,1]}
  Conv#1: float32[1,4,6,6,8] = retort.Conv(Transpose#1, w1) {pads=[1,1,1,1,1,1]}
  Relu#1: float32[1,4,6,6,8] = Relu(Conv#1)
  MaxPool#1: float32[1,3,5,5,8] = retort.MaxPool(Relu#1) {kernel_shape=[2,2,2]}
  Conv#2: float32[1,3,5,5,8] = retort.Conv(MaxPool#1, w2) {pads=[1,0,0,1,0,0]}
  Concat#1: float32[1,3,5,5,16] = Concat(Conv#2, MaxPool#1) {axis=4}
  Transpose#2: float32[1,16,3,5,5] = Transpose(Concat#1) {perm=[0,4,1,2,3]}
  y: float32[1,2,3,5,5] = Conv(Transpose#2, w3)
  return y
}
)");
}

TEST(Layout, VolumesThatAreCutIntoPatchesStay) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 8, 4, 6, 6});
  t.output(t.add("Conv", {x, t.weight("w", {8, 8, 2, 3, 3})}, {{"strides", std::vector<int64_t>{2, 3, 3}}}), "y");
  t.output(t.add("Conv", {x, t.weight("v", {8, 1, 3, 3, 3})}, {{"group", int64_t(8)}}), "z");
  expect_layout(t, R"(graph(x: float32[1,8,4,6,6]) {
  y: float32[1,8,2,2,2] = Conv(x, w) {strides=[2,3,3]}
  Transpose#1: float32[1,4,6,6,8] = Transpose(x) {perm=[0,2,3,4,1]}
  Conv#1: float32[1,2,4,4,8] = retort.Conv(Transpose#1, v) {group=8}
  z: float32[1,8,2,4,4] = Transpose(Conv#1) {perm=[0,4,1,2,3]}
  return y, z
}
)");
}

TEST(Layout, AxesFollow) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 6, 4, 4});
  const ValueId a = t.add("Conv", {x, t.weight("w", {6, 6, 1, 1})});
  const auto parts =
      t.add_multi({.type = "Split", .inputs = {a, t.ints({2, 4})}, .attributes = {{"axis", int64_t(1)}}, .outputs = 2});
  const ValueId s = t.add("Slice", {a, t.ints({1}), t.ints({3}), t.ints({1})});
  const ValueId joined = t.add("Concat", {parts[1], s, parts[0]}, {{"axis", int64_t(1)}});
  const ValueId padded = t.add("Pad", {joined, t.ints({0, 0, 1, 1, 0, 0, 1, 1})});
  const ValueId mean = t.add("ReduceMean", {padded, t.ints({1})});
  const ValueId gated = t.add("Mul", {padded, mean});
  t.output(t.add("Conv", {gated, t.weight("v", {3, 8, 3, 3})}), "y");
  expect_layout(t, R"(graph(x: float32[2,6,4,4]) {
  Transpose#1: float32[2,4,4,6] = Transpose(x) {perm=[0,2,3,1]}
  Conv#1: float32[2,4,4,6] = retort.Conv(Transpose#1, w)
  Split#1: float32[2,4,4,2], Split#2: float32[2,4,4,4] = Split(Conv#1, i#1) {axis=3}
  Slice#1: float32[2,4,4,2] = Slice(Conv#1, i#2, i#3, const#1)
  Concat#1: float32[2,4,4,8] = Concat(Split#2, Slice#1, Split#1) {axis=3}
  Pad#1: float32[2,6,6,8] = Pad(Concat#1, i#4, _, const#2)
  ReduceMean#1: float32[2,6,6,1] = ReduceMean(Pad#1, const#3)
  Mul#1: float32[2,6,6,8] = Mul(Pad#1, ReduceMean#1)
  Conv#2: float32[2,4,4,3] = retort.Conv(Mul#1, v)
  y: float32[2,3,4,4] = Transpose(Conv#2) {perm=[0,3,1,2]}
  return y
}
)");
}

TEST(Layout, ComputedPadsFollow) {
  TestGraph t;  // SAME padding of an image of any size
  const ValueId x = t.input("x", {1, 6, 4, 4});
  const ValueId pads = t.add("Mul", {t.input("by", {1}, DType::i64), t.ints({0, 0, 1, 1, 0, 0, 1, 1})});
  const ValueId a = t.add("Conv", {x, t.weight("w", {6, 6, 1, 1})});
  const ValueId padded = t.add("Pad", {a, pads});
  t.output(t.add("Conv", {padded, t.weight("v", {3, 6, 3, 3})}), "y");
  expect_layout(t, R"(graph(x: float32[1,6,4,4], by: int64[1]) {
  Mul#1: int64[8] = Mul(by, i#1)
  Transpose#1: float32[1,4,4,6] = Transpose(x) {perm=[0,2,3,1]}
  Conv#1: float32[1,4,4,6] = retort.Conv(Transpose#1, w)
  Pad#1: float32[?8,?9,?10,?11] = Pad(Conv#1, Mul#1, _, const#1)
  Conv#2: float32[?8,?9-2,?10-2,3] = retort.Conv(Pad#1, v)
  y: float32[?8,3,?9-2,?10-2] = Transpose(Conv#2) {perm=[0,3,1,2]}
  return y
}
)");
}

TEST(Layout, NormalizationsOfGroupsFollow) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 6, 5, 5});
  const ValueId first = t.add("Conv", {x, t.weight("w", {8, 6, 3, 3})});
  const ValueId groups = t.add("GroupNormalization", {first, t.weight("g", {8}), t.weight("b", {8})},
                               {{"num_groups", int64_t(4)}, {"epsilon", 0.5f}, {"stash_type", int64_t(1)}});
  const ValueId each = t.add("InstanceNormalization", {groups, t.weight("s", {8}), t.weight("z", {8})});
  t.output(t.add("Conv", {each, t.weight("v", {6, 8, 1, 1})}), "y");
  expect_layout(t, R"(graph(x: float32[1,6,5,5]) {
  Transpose#1: float32[1,5,5,6] = Transpose(x) {perm=[0,2,3,1]}
  Conv#1: float32[1,3,3,8] = retort.Conv(Transpose#1, w)
  GroupNormalization#1: float32[1,3,3,8] = retort.GroupNormalization(Conv#1, g, b) {epsilon=0.5, num_groups=4}
  GroupNormalization#2: float32[1,3,3,8] = retort.GroupNormalization(GroupNormalization#1, s, z) {num_groups=8}
  Conv#2: float32[1,3,3,6] = retort.Conv(GroupNormalization#2, v)
  y: float32[1,6,3,3] = Transpose(Conv#2) {perm=[0,3,1,2]}
  return y
}
)");
}

TEST(Layout, TransposesOfTheModelCancel) {
  TestGraph t;  // ConvNeXt's block: depthwise convolution, normalisation over the channels
  const ValueId x = t.input("x", {1, 5, 5, 8});
  const ValueId first = t.add("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  const ValueId conv = t.add("Conv", {first, t.weight("w", {8, 1, 3, 3})},
                             {{"pads", std::vector<int64_t>{1, 1, 1, 1}}, {"group", int64_t(8)}});
  const ValueId last = t.add("Transpose", {conv}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  const ValueId norm = t.add("LayerNormalization", {last, t.weight("s", {8})});
  const ValueId back = t.add("Transpose", {norm}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  const ValueId sum = t.add("Add", {back, first});
  t.output(t.add("Transpose", {sum}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}}), "y");
  expect_layout(t, R"(graph(x: float32[1,5,5,8]) {
  Conv#1: float32[1,5,5,8] = retort.Conv(x, w) {group=8, pads=[1,1,1,1]}
  LayerNormalization#1: float32[1,5,5,8] = LayerNormalization(Conv#1, s)
  y: float32[1,5,5,8] = Add(LayerNormalization#1, x)
  return y
}
)");
}

TEST(Layout, TransposedConvolution) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 8, 4, 4});
  const Attributes two{{"strides", std::vector<int64_t>{2, 2}},
                       {"kernel_shape", std::vector<int64_t>{3, 3}},
                       {"auto_pad", std::string("NOTSET")}};
  t.output(t.add("ConvTranspose", {x, t.weight("w", {8, 6, 3, 3}), t.weight("b", {6})}, two), "y");
  expect_layout(t, R"(graph(x: float32[1,8,4,4]) {
  Transpose#1: float32[1,4,4,8] = Transpose(x) {perm=[0,2,3,1]}
  ConvTranspose#1: float32[1,9,9,6] = retort.ConvTranspose(Transpose#1, w, b) {strides=[2,2]}
  y: float32[1,6,9,9] = Transpose(ConvTranspose#1) {perm=[0,3,1,2]}
  return y
}
)");
}

// Pixels that become blocks are as fast channels-first, so moving them there and back does not pay.
TEST(Layout, LoneTransposedConvolutionOfBlocksStays) {
  const Attributes two{{"strides", std::vector<int64_t>{2, 2}}};
  TestGraph alone;
  alone.output(alone.add("ConvTranspose", {alone.input("x", {1, 8, 4, 4}), alone.weight("w", {8, 6, 2, 2})}, two), "y");
  expect_layout(alone, renumbered(print(alone.g)));
  TestGraph t;
  const ValueId before = t.add("Conv", {t.input("x", {1, 8, 4, 4}), t.weight("v", {8, 8, 1, 1})});
  const ValueId large = t.add("ConvTranspose", {before, t.weight("w", {8, 8, 2, 2})}, two);
  t.output(t.add("Conv", {large, t.weight("u", {4, 8, 1, 1})}), "y");
  expect_layout(t, R"(graph(x: float32[1,8,4,4]) {
  Transpose#1: float32[1,4,4,8] = Transpose(x) {perm=[0,2,3,1]}
  Conv#1: float32[1,4,4,8] = retort.Conv(Transpose#1, v)
  ConvTranspose#1: float32[1,8,8,8] = retort.ConvTranspose(Conv#1, w) {strides=[2,2]}
  Conv#2: float32[1,8,8,4] = retort.Conv(ConvTranspose#1, u)
  y: float32[1,4,8,8] = Transpose(Conv#2) {perm=[0,3,1,2]}
  return y
}
)");
}

TEST(Layout, TransposedConvolutionWithAShapeToFillStays) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 8, 4, 4});
  t.output(t.add("ConvTranspose", {x, t.weight("w", {8, 6, 2, 2})}, {{"output_shape", std::vector<int64_t>{5, 5}}}),
           "y");
  expect_layout(t, renumbered(print(t.g)));
}

TEST(Layout, ResizesToSizesThatTheRunTells) {
  TestGraph t;
  const ValueId sizes = t.input("sizes", {4}, DType::i64);
  const ValueId conv = t.add("Conv", {t.input("x", {1, 4, 3, 3}), t.weight("w", {8, 4, 1, 1})});
  const ValueId resized =
      t.add("Resize", {conv, ValueId::none, ValueId::none, sizes}, {{"mode", std::string("linear")}});
  t.output(t.add("Conv", {resized, t.weight("v", {4, 8, 1, 1})}), "y");
  PassOptions options;
  PassContext context(options);
  const size_t before = t.g.node_count();
  pass_layout.run(t.g, context);
  resolve_new_nodes(t.g, before);
  EXPECT_NE(print(t.g).find(", _, _, sizes) {axes=[0,3,1,2], mode=\"linear\"}"), std::string::npos) << print(t.g);
}

TEST(Layout, NoConvolutionNoChange) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 3, 8, 8});
  t.output(t.add("MaxPool", {t.add("Relu", {x})}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}), "y");
  expect_layout(t, renumbered(print(t.g)));
}

TEST(Layout, APoolOfATurnedImageIsReasonEnough) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 8, 8, 3});
  const ValueId first = t.add("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  const ValueId pool = t.add("MaxPool", {first}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  t.output(t.add("Transpose", {pool}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}}), "y");
  expect_layout(t, R"(graph(x: float32[1,8,8,3]) {
  y: float32[1,7,7,3] = retort.MaxPool(x) {kernel_shape=[2,2]}
  return y
}
)");
}

TEST(ChannelMultiplier, RepeatsTheChannels) {
  TestGraph t;
  Attributes a;
  a.set("group", int64_t(3));
  t.output(t.add("Conv", {t.input("x", {2, 5, 5, 3}), t.weight("w", {6, 1, 3, 3}), t.weight("b", {6})}, a, "retort"),
           "y");
  expect_rewrite(t, {"channel_multiplier"}, R"(graph(x: float32[2,5,5,3]) {
  Gather#1: float32[2,5,5,6] = Gather(x, const#1) {axis=3}
  y: float32[2,3,3,6] = retort.Conv(Gather#1, w, b) {group=6}
  return y
}
)");
}

TEST(ChannelMultiplier, LeavesOtherGroupsAlone) {
  for (const auto& [group, w] : {std::pair<int64_t, Shape>{3, {3, 1, 3, 3}}, {1, {4, 3, 3, 3}}, {3, {6, 2, 3, 3}}}) {
    TestGraph t;
    Attributes a;
    a.set("group", group);
    t.output(t.add("Conv", {t.input("x", {2, 5, 5, w[1] * group}), t.weight("w", w)}, a, "retort"), "y");
    expect_no_rewrite(t, {"channel_multiplier"});
  }
}

}  // namespace
}  // namespace retort
