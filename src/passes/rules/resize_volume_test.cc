#include "passes/passes_testing.h"

namespace retort {
namespace {

ValueId resized(TestGraph& t, std::string mode, std::vector<float> scales) {
  const ValueId list = t.g.add_constant("scales", Tensor::of({int64_t(scales.size())}, scales));
  return t.add("Resize", {t.input("x", {1, 2, 3, 4, 5}), ValueId::none, list}, {{"mode", std::move(mode)}});
}

const RuleExample example_of_scales(
    "resize_volume_by_scales", {"resize_volume"},
    [](TestGraph& t) {
      t.output(resized(t, "linear", {1, 1, 2, 1.5f, 2}), "y");
    },
    R"(graph(x: float32[1,2,3,4,5]) {
  Resize#1: float32[1,2,3,6,10] = Resize(x, _, const#1) {axes=[3,4], mode="linear"}
  y: float32[1,2,6,6,10] = Resize(Resize#1, _, const#2) {axes=[2], mode="linear"}
  return y
}
)");

const RuleExample example_of_sizes(
    "resize_volume_by_sizes", {"resize_volume"},
    [](TestGraph& t) {
      const ValueId x = t.input("x", {1, 2, 6, 4, 5});
      t.output(
          t.add("Resize", {x, ValueId::none, ValueId::none, t.ints({1, 2, 3, 4, 8})},
                {{"mode", std::string("cubic")}, {"coordinate_transformation_mode", std::string("align_corners")}}),
          "y");
    },
    R"(graph(x: float32[1,2,6,4,5]) {
  Resize#1: float32[1,2,6,4,8] = Resize(x, _, _, const#1) {axes=[3,4], coordinate_transformation_mode="align_corners", mode="cubic"}
  y: float32[1,2,3,4,8] = Resize(Resize#1, _, _, const#2) {axes=[2], coordinate_transformation_mode="align_corners", mode="cubic"}
  return y
}
)");

const RuleExample example_of_computed_sizes(
    "resize_volume_by_computed_sizes", {"resize_volume"},
    [](TestGraph& t) {
      const ValueId x = t.input("x", {1, 2, t.symbol("d"), t.symbol("h"), t.symbol("w")});
      const ValueId like = t.input("like", {1, 2, t.symbol("e"), t.symbol("f"), t.symbol("g")});
      const ValueId sizes = t.add("Shape", {like});
      t.output(t.add("Resize", {x, ValueId::none, ValueId::none, sizes}, {{"mode", std::string("linear")}}), "y");
    },
    R"(graph(x: float32[1,2,d,h,w], like: float32[1,2,e,f,g]) {
  Shape#1: int64[5] = Shape(like)
  Slice#1: int64[2] = Slice(Shape#1, const#1, const#2)
  Resize#1: float32[1,2,d,f,g] = Resize(x, _, _, Slice#1) {axes=[3,4], mode="linear"}
  Slice#2: int64[1] = Slice(Shape#1, const#3, const#4)
  y: float32[1,2,e,f,g] = Resize(Resize#1, _, _, Slice#2) {axes=[2], mode="linear"}
  return y
}
)");

TEST(ResizeVolume, OthersStay) {
  for (const auto& scales : {std::vector<float>{1, 2, 2, 2, 2}, {2, 1, 2, 2, 2}, {1, 1, 1, 2, 2}, {1, 1, 2, 2, 1}}) {
    TestGraph t;
    t.output(resized(t, "linear", scales), "y");
    expect_no_rewrite(t, {"resize_volume"});
  }
  TestGraph t;
  t.output(resized(t, "nearest", {1, 1, 2, 2, 2}), "y");
  expect_no_rewrite(t, {"resize_volume"});
}

/// A Resize by sizes with one thing that the rule does not know.
struct OtherSizes {
  std::vector<int64_t> sizes = {1, 2, 6, 8, 10};
  std::pair<std::string, Attribute> attribute = {"antialias", int64_t(0)};
  DType type = DType::f32;
  Shape image = {1, 2, 3, 4, 5};
};
void expect_sizes_stay(const OtherSizes& o) {
  TestGraph t;
  Attributes attributes{{"mode", std::string("linear")}};
  attributes.set(o.attribute.first, o.attribute.second);
  t.output(t.add("Resize", {t.input("x", o.image, o.type), ValueId::none, ValueId::none, t.ints(o.sizes)},
                 std::move(attributes)),
           "y");
  expect_no_rewrite(t, {"resize_volume"});
}
TEST(ResizeVolume, OtherSizesStay) {
  expect_sizes_stay({.sizes = {2, 2, 6, 8, 10}});
  expect_sizes_stay({.sizes = {1, 3, 6, 8, 10}});
  expect_sizes_stay({.sizes = {1, 2, 3, 8, 10}});
  expect_sizes_stay({.sizes = {1, 2, 6, 8, 5}});
  expect_sizes_stay({.sizes = {6, 8, 10}, .attribute = {"axes", std::vector<int64_t>{2, 3, 4}}});
  expect_sizes_stay({.attribute = {"antialias", int64_t(1)}});
  expect_sizes_stay({.attribute = {"keep_aspect_ratio_policy", std::string("not_larger")}});
  expect_sizes_stay({.type = DType::u8});
  expect_sizes_stay({.sizes = {1, 2, 6, 8}, .image = {1, 2, 3, 4}});
}

}  // namespace
}  // namespace retort
