#include <limits>

#include "passes/passes_testing.h"

namespace retort {
namespace {

ValueId one_hot(TestGraph& t, ValueId indices, ValueId numbers) {
  return t.add("Cast", {t.add("Equal", {indices, numbers})}, {{"to", int64_t(1)}});
}
ValueId numbers_up_to(TestGraph& t, int32_t end) {
  std::vector<int32_t> numbers;
  for (int32_t i = 0; i < end; ++i) numbers.push_back(i);
  return t.g.add_constant("numbers", Tensor::of<int32_t>({1, 1, end}, numbers));
}

// Indices are 0, 1 and 2, and choose among two rows.
void an_embedding_of_jax(TestGraph& t) {
  const ValueId ids = t.add("Cast", {t.input("ids", {2, 5, 1}, DType::i64)}, {{"to", int64_t(DType::i32)}});
  t.output(t.add("MatMul", {one_hot(t, ids, numbers_up_to(t, 2)), t.floats({2, 3}, {1, 2, 3, 4, 5, 6})}), "y");
}
const RuleExample jax("an_embedding_of_jax", {"one_hot_product"}, an_embedding_of_jax,
                      R"(graph(ids: int64[2,5,1]) {
  Cast#1: int32[2,5,1] = Cast(ids) {to=6}
  Squeeze#1: int32[2,5] = Squeeze(Cast#1, axes#1)
  Clip#1: int32[2,5] = Clip(Squeeze#1, const#1, const#2)
  y: float32[2,5,3] = Gather(rows#1, Clip#1) {axis=0}
  return y
}
)");

// Numbers first, and indices below 0.
void indices_of_64_bits(TestGraph& t) {
  const ValueId ids = t.add("Sub", {t.input("ids", {5, 1}, DType::i64), t.ints({1})});
  t.output(t.add("MatMul", {one_hot(t, t.ints({0, 1}), ids), t.floats({2, 1}, {3, -2})}), "y");
}
const RuleExample wide("indices_of_64_bits", {"one_hot_product"}, indices_of_64_bits,
                       R"(graph(ids: int64[5,1]) {
  Sub#1: int64[5,1] = Sub(ids, i#1)
  Squeeze#1: int64[5] = Squeeze(Sub#1, axes#1)
  Clip#1: int64[5] = Clip(Squeeze#1, const#1, const#2)
  y: float32[5,1] = Gather(rows#1, Clip#1) {axis=0}
  return y
}
)");

// The product of one-hot rows over `numbers` and `weights`.
void multiply(TestGraph& t, int64_t columns, const std::vector<int64_t>& numbers, const std::vector<float>& weights) {
  const ValueId rows = one_hot(t, t.input("ids", {5, columns}, DType::i64), t.ints(numbers));
  t.output(t.add("MatMul", {rows, t.floats({int64_t(weights.size()), 1}, weights)}), "y");
}

TEST(OneHotProduct, OtherProductsStay) {
  TestGraph gap;  // number 1 has no row
  multiply(gap, 1, {0, 2}, {3, 4});
  expect_no_rewrite(gap, {"one_hot_product"});
  TestGraph rows;  // each column has indices of its own
  multiply(rows, 2, {0, 1}, {3, 4});
  expect_no_rewrite(rows, {"one_hot_product"});
  TestGraph infinite;  // rows that do not choose infinity become NaN
  multiply(infinite, 1, {0, 1}, {3, std::numeric_limits<float>::infinity()});
  const std::string before = print(infinite.g);
  PassOptions options;
  PassContext context(options);
  const std::string_view names[] = {"one_hot_product"};
  rewrite(infinite.g, rules_named(names), context);
  EXPECT_EQ(print(infinite.g), before);
}

}  // namespace
}  // namespace retort
