// Sparse matrices that a caller gives.
#include <gtest/gtest.h>

#include "session/session_testing.h"

namespace retort {
namespace {

struct SparseProduct : TestGraph {
  explicit SparseProduct(Attributes attributes, const std::string& type = "SparseToDenseMatMul") {
    ValueType sparse{.kind = ValueType::Kind::sparse, .dtype = DType::f32, .ranked = true, .shape = {}};
    sparse.shape = {symbol("rows"), symbol("columns")};
    const ValueId a = g.add_value("a", sparse);
    g.inputs.push_back(a);
    const ValueId b = input("b", {symbol("k"), symbol("n")});
    const bool own = type == "SparseToDenseMatMul";
    const Node& n = g.node(g.add({.type = type,
                                  .inputs = {a, b},
                                  .attributes = std::move(attributes),
                                  .domain = own ? "com.microsoft" : "",
                                  .name = "product"}));
    output(n.outputs[0], "y");
  }
};

// 0 2 0 / 0 0 3
SparseTensor coo(bool linear) {
  SparseTensor a;
  a.dense_shape = {2, 3};
  a.values = Tensor::of<float>({2}, {2, 3});
  a.indices = linear ? Tensor::of<int64_t>({2}, {1, 5}) : Tensor::of<int64_t>({2, 2}, {0, 1, 1, 2});
  return a;
}
SparseTensor csr() {
  SparseTensor a = coo(true);
  a.format = SparseTensor::Format::csr;
  a.inner_indices = Tensor::of<int64_t>({2}, {1, 2});
  a.indices = Tensor::of<int64_t>({3}, {0, 1, 2});
  return a;
}

const Tensor kB = Tensor::of<float>({3, 2}, {1, 2, 10, 20, 100, 200});

TEST(SparseInput, IsMultiplied) {
  const SparseProduct plain({});
  for (const SparseTensor& a : {coo(true), coo(false), csr()}) {
    const auto y = run(plain.g, {Value(SparseTensor(a)), kB}, OptimizationLevel::all);
    EXPECT_EQ(y[0].tensor()->shape(), (Shape{2, 2}));
    EXPECT_EQ(floats(y[0]), (std::vector<float>{20, 40, 300, 600}));
  }
}

// The extents of the result follow from a value that has no shape in the signature of a run.
TEST(SparseInput, MayChangeItsExtents) {
  const SparseProduct plain({});
  const auto session = make_session(plain.g, {});
  EXPECT_EQ(run(*session, {coo(true), kB})[0].tensor()->shape(), (Shape{2, 2}));
  SparseTensor taller = coo(true);
  taller.dense_shape = {3, 3};
  taller.indices = Tensor::of<int64_t>({2}, {1, 8});
  EXPECT_EQ(floats(run(*session, {taller, kB})[0]), (std::vector<float>{20, 40, 0, 0, 300, 600}));
}

TEST(SparseInput, IsTransposedAndScaled) {
  const SparseProduct product({{"transA", int64_t(1)}, {"transB", int64_t(1)}, {"alpha", 0.5f}});
  const Tensor b = Tensor::of<float>({1, 2}, {10, 100});
  const auto y = run(product.g, {coo(true), b}, OptimizationLevel::all);
  EXPECT_EQ(y[0].tensor()->shape(), (Shape{3, 1}));
  EXPECT_EQ(floats(y[0]), (std::vector<float>{0, 10, 150}));
}

void expect_refused(const Graph& g, SparseTensor a, const Tensor& b, std::string_view part) {
  try {
    run(g, {std::move(a), b}, OptimizationLevel::all);
    ADD_FAILURE() << "accepted: " << part;
  } catch (const Error& e) {
    EXPECT_CONTAINS(e.message(), part);
  }
}

TEST(SparseInput, IsChecked) {
  const SparseProduct plain({});
  expect_refused(plain.g, coo(true), Tensor::of<float>({2, 1}, {1, 2}), "the inner extents 3 and 2 must be equal");
  SparseTensor outside = coo(false);
  outside.indices = Tensor::of<int64_t>({2, 2}, {0, 1, 2, 0});
  expect_refused(plain.g, outside, kB, "value 1 of A is at [2, 0], outside of its shape [2,3]");
  SparseTensor falling = csr();
  falling.indices = Tensor::of<int64_t>({3}, {0, 2, 1});
  expect_refused(plain.g, falling, kB, "row start 2 of A is 1, expected 2 to 2");
  SparseTensor blocks = coo(true);
  blocks.format = SparseTensor::Format::block;
  expect_refused(plain.g, blocks, kB, "A consists of blocks");
}

TEST(SparseInput, IsForNoOtherOperator) {
  for (const char* type : {"MatMul", "Gather"})
    expect_refused(SparseProduct({}, type).g, coo(true), kB,
                   "only com.microsoft.SparseToDenseMatMul takes a sparse matrix");
}

}  // namespace
}  // namespace retort
