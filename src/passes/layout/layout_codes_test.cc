#include "passes/layout/image_op.h"
#include "passes/layout/layout_testing.h"

namespace retort {
namespace {

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

TEST(Layout, ConvolutionsOfIntegersWithoutAForm) {
  TestGraph t;
  const ValueId x = t.input("x", {1, 4, 8, 8}, DType::u8);
  const auto zeros = [&](const std::vector<int8_t>& list) {
    return t.g.add_constant(t.g.unique_name("z"), Tensor::of<int8_t>({int64_t(list.size())}, list));
  };
  const auto has_form = [&](Shape filters, ValueId zero, int64_t group = 1) {
    const ValueId w = t.g.add_constant(t.g.unique_name("w"), Tensor(DType::i8, std::move(filters)));
    const ValueId y = t.add("ConvInteger", {x, w, ValueId::none, zero}, {{"group", group}});
    return image_op(t.g, *t.g.producer(y)).has_value();
  };
  EXPECT_TRUE(has_form({3, 4, 3, 3}, zeros({2, 2, 2})));
  EXPECT_FALSE(has_form({3, 4, 3, 3}, zeros({2, 2, 3})));
  EXPECT_FALSE(has_form({3, 4, 3, 3}, t.input("zero", {3}, DType::i8)));
  EXPECT_FALSE(has_form({4, 2, 3, 3}, zeros({2}), 2));
  EXPECT_TRUE(has_form({4, 1, 3, 3}, zeros({-127}), 4));
  EXPECT_FALSE(has_form({4, 1, 3, 3}, zeros({-128}), 4));
}

TEST(Layout, OtherOperatorsWithoutAForm) {
  TestGraph t;
  const auto has_form = [&](const char* type, std::vector<ValueId> inputs) {
    return image_op(t.g, *t.g.producer(t.add(type, std::move(inputs)))).has_value();
  };
  const auto normal = [&](const char* name, DType type) {
    const ValueId scale = t.g.add_constant(t.g.unique_name("s"), Tensor(type, {4}));
    return has_form("InstanceNormalization", {t.input(name, {1, 4, 5}, type), scale, scale});
  };
  EXPECT_TRUE(normal("floats", DType::f32));
  EXPECT_FALSE(normal("doubles", DType::f64));
  const auto resize = [&](const char* name, const Shape& image) {
    return has_form("Resize", {t.input(name, image), ValueId::none,
                               t.floats({int64_t(image.rank())}, std::vector<float>(image.rank(), 1.0f))});
  };
  EXPECT_TRUE(resize("image", {1, 4, 5, 6}));
  EXPECT_FALSE(resize("volume", {1, 4, 5, 6, 7}));
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
