#include "passes/layout/min_cut.h"
#include "passes/passes.h"
#include "passes/passes_testing.h"

namespace retort {
namespace {

const std::initializer_list<std::string_view> kCleanup{"identity",       "noop_transpose", "transpose_chain",
                                                       "transpose_unit", "noop_reshape",   "reshape_chain"};

void expect_layout(TestGraph& t, const std::string& after) {
  expect_change(t, after, [](Graph& g) {
    PassOptions options;
    PassContext context(options);
    const size_t before = g.node_count();
    pass_layout.run(g, context);
    resolve_new_nodes(g, before);
    rewrite(g, rules_named({kCleanup.begin(), kCleanup.size()}), context);
    pass_dead_code.run(g, context);
  });
}

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

/// A graph of operators on codes with one scale and zero point.
struct CodesGraph : TestGraph {
  ValueId scale = floats({}, {0.5f}), zero = g.add_constant("zero", Tensor::of<uint8_t>({}, {3}));
  ValueId signed_zero = g.add_constant("w_zero", Tensor::of<int8_t>({}, {0}));
  ValueId conv(ValueId x, Shape filters, Attributes attributes = {}) {
    Tensor w(DType::i8, std::move(filters));
    for (size_t i = 0; i < w.count(); ++i) w.mutable_data<int8_t>()[i] = int8_t(i % 7) - 3;
    return add("QLinearConv", {x, scale, zero, g.add_constant(g.unique_name("f"), w), scale, signed_zero, scale, zero},
               std::move(attributes));
  }
};

TEST(Layout, ChainOfConvolutionsOfCodes) {
  CodesGraph t;
  const ValueId x = t.input("x", {1, 3, 20, 20});
  const ValueId first = t.conv(t.add("QuantizeLinear", {x, t.scale, t.zero}), {16, 3, 3, 3});
  const ValueId pool = t.add("MaxPool", {first}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  const ValueId wide =
      t.conv(pool, {16, 1, 3, 3}, {{"group", int64_t(16)}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  const ValueId sum =
      t.add("QLinearAdd", {pool, t.scale, t.zero, wide, t.scale, t.zero, t.scale, t.zero}, {}, "retort");
  const ValueId real = t.add("DequantizeLinear", {t.conv(sum, {8, 16, 1, 1}), t.scale, t.zero});
  t.output(t.add("GlobalAveragePool", {real}), "y");
  expect_layout(t, R"(graph(x: float32[1,3,20,20]) {
  QuantizeLinear#1: uint8[1,3,20,20] = QuantizeLinear(x, w#1, zero)
  NhwcQLinearConv#1: uint8[1,18,18,16] = retort.NhwcQLinearConv(QuantizeLinear#1, w#1, zero, f#1, w#1, w_zero, w#1, zero) {input_nchw=1}
  MaxPool#1: uint8[1,17,17,16] = retort.MaxPool(NhwcQLinearConv#1) {kernel_shape=[2,2]}
  NhwcQLinearConv#2: uint8[1,17,17,16] = retort.NhwcQLinearConv(MaxPool#1, w#1, zero, f#2, w#1, w_zero, w#1, zero) {group=16, pads=[1,1,1,1]}
  QLinearAdd#1: uint8[1,17,17,16] = retort.QLinearAdd(MaxPool#1, w#1, zero, NhwcQLinearConv#2, w#1, zero, w#1, zero)
  NhwcQLinearConv#3: uint8[1,17,17,8] = retort.NhwcQLinearConv(QLinearAdd#1, w#1, zero, f#3, w#1, w_zero, w#1, zero)
  DequantizeLinear#1: float32[1,17,17,8] = DequantizeLinear(NhwcQLinearConv#3, w#1, zero)
  GlobalAveragePool#1: float32[1,1,1,8] = retort.GlobalAveragePool(DequantizeLinear#1)
  y: float32[1,8,1,1] = Reshape(GlobalAveragePool#1, shape#1)
  return y
}
)");
}

// Unsigned filters become signed ones of other zero points; depthwise ones with 0 would need more than two of 8 bits.
TEST(Layout, UnsignedFiltersOfCodes) {
  for (const int zero : {0, 3}) {
    CodesGraph t;
    const ValueId of_filters = t.g.add_constant("u_zero", Tensor::of<uint8_t>({}, {uint8_t(zero)}));
    const auto conv = [&](ValueId x, Shape shape, Attributes attributes = {}) {
      Tensor w(DType::u8, std::move(shape));
      for (size_t i = 0; i < w.count(); ++i) w.mutable_data<uint8_t>()[i] = uint8_t(i % 256);
      return t.add(
          "QLinearConv",
          {x, t.scale, t.zero, t.g.add_constant(t.g.unique_name("f"), w), t.scale, of_filters, t.scale, t.zero},
          std::move(attributes));
    };
    const ValueId x = t.add("QuantizeLinear", {t.input("x", {1, 3, 20, 20}), t.scale, t.zero});
    const ValueId wide = conv(conv(conv(x, {16, 3, 3, 3}), {16, 16, 1, 1}), {16, 1, 3, 3}, {{"group", int64_t(16)}});
    t.output(t.add("DequantizeLinear", {conv(wide, {8, 16, 1, 1}), t.scale, t.zero}), "y");
    PassOptions options;
    PassContext context(options);
    pass_layout.run(t.g, context);
    size_t last = 0;
    for (const NodeId id : t.g.order()) {
      const Node& n = t.g.node(id);
      if (!n.is("NhwcQLinearConv", "retort")) continue;
      ++last;
      EXPECT_TRUE(zero != 0 || n.attributes.get_or<int64_t>("group", 1) == 1);
      EXPECT_EQ(t.g.constant(n.inputs[5])->at<int8_t>(0), zero - 128);
      const Tensor& w = *t.g.constant(n.inputs[3]);
      for (size_t i = 0; i < w.count(); ++i) ASSERT_EQ(w.at<int8_t>(i), int8_t(int(i % 256) - 128));
    }
    EXPECT_TRUE(zero == 0 ? last >= 2 : last == 4) << last;
  }
}

// The scale of a dynamically quantised image, no image itself, is used as it is.
TEST(Layout, ConvolutionsOfIntegers) {
  TestGraph t;
  const auto convolved = [&](ValueId x, Shape filters) {
    const auto q = t.add_multi({.type = "DynamicQuantizeLinear", .inputs = {x}, .outputs = 3});
    Tensor w(DType::u8, std::move(filters));
    for (size_t i = 0; i < w.count(); ++i) w.mutable_data<uint8_t>()[i] = uint8_t(i % 256);
    const ValueId sums = t.add("ConvInteger", {q[0], t.g.add_constant(t.g.unique_name("w"), std::move(w)), q[2]});
    return t.add("Mul", {t.add("Cast", {sums}, {{"to", int64_t(DType::f32)}}), q[1]});
  };
  t.output(t.add("GlobalAveragePool", {convolved(convolved(t.input("x", {1, 3, 8, 7}), {16, 3, 3, 3}), {8, 16, 3, 3})}),
           "y");
  expect_layout(t, R"(graph(x: float32[1,3,8,7]) {
  DynamicQuantizeLinear#1: uint8[1,3,8,7], DynamicQuantizeLinear#2: float32[], DynamicQuantizeLinear#3: uint8[] = DynamicQuantizeLinear(x)
  NhwcConvInteger#1: int32[1,6,5,16] = retort.NhwcConvInteger(DynamicQuantizeLinear#1, const#1, DynamicQuantizeLinear#3, const#2) {input_nchw=1}
  Cast#1: float32[1,6,5,16] = Cast(NhwcConvInteger#1) {to=1}
  Mul#1: float32[1,6,5,16] = Mul(Cast#1, DynamicQuantizeLinear#2)
  DynamicQuantizeLinear#4: uint8[1,6,5,16], DynamicQuantizeLinear#5: float32[], DynamicQuantizeLinear#6: uint8[] = DynamicQuantizeLinear(Mul#1)
  NhwcConvInteger#2: int32[1,4,3,8] = retort.NhwcConvInteger(DynamicQuantizeLinear#4, const#3, DynamicQuantizeLinear#6, const#4)
  Cast#2: float32[1,4,3,8] = Cast(NhwcConvInteger#2) {to=1}
  Mul#2: float32[1,4,3,8] = Mul(Cast#2, DynamicQuantizeLinear#5)
  GlobalAveragePool#1: float32[1,1,1,8] = retort.GlobalAveragePool(Mul#2)
  y: float32[1,8,1,1] = Reshape(GlobalAveragePool#1, shape#1)
  return y
}
)");
}

TEST(Layout, ALoneConvolutionOfCodesStays) {
  CodesGraph t;
  const ValueId x = t.input("x", {1, 16, 20, 20}, DType::u8);
  t.output(t.conv(x, {16, 16, 3, 3}), "y");
  expect_layout(t, R"(graph(x: uint8[1,16,20,20]) {
  y: uint8[1,16,18,18] = QLinearConv(x, w#1, zero, f#1, w#1, w_zero, w#1, zero)
  return y
}
)");
}

}  // namespace
}  // namespace retort
