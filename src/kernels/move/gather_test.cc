#include "kernels/move/gather.h"

#include <cstring>

#include "kernels/move/move_testing.h"

namespace retort::kernels {
namespace {

using testing::count;
using testing::Dims;
using testing::numbered;
using testing::Random;

template <typename T>
class GatherKernel : public testing::MoveKernel<T> {};
TYPED_TEST_SUITE(GatherKernel, testing::ElementTypes);

TYPED_TEST(GatherKernel, GathersAlongAnAxis) {
  Random random(1);
  for (const GatherArgs& a : {GatherArgs{1, 5, 1, 3}, GatherArgs{3, 7, 1, 700}, GatherArgs{2, 50, 33, 9},
                              GatherArgs{4, 3, 2, 0}, GatherArgs{1, 40, 1, 40000}, GatherArgs{1, 1000, 64, 600}}) {
    const auto x = numbered<TypeParam>(a.outer * size_t(a.extent) * a.inner);
    const auto indices = random.integers<int64_t>(a.count, -a.extent, a.extent - 1);
    const std::vector<int32_t> narrow(indices.begin(), indices.end());
    std::vector<TypeParam> y(a.outer * a.count * a.inner), z(y.size());
    EXPECT_FALSE(gather(this->mover(), a, x.data(), indices.data(), y.data(), this->par()));
    EXPECT_FALSE(gather(this->mover(), a, x.data(), narrow.data(), z.data(), Parallel()));
    EXPECT_EQ(y, z);
    for (size_t i = 0; i < y.size(); ++i) {
      const int64_t k = indices[i / a.inner % a.count];
      const size_t row = i / a.inner / a.count * size_t(a.extent) + size_t(k < 0 ? k + a.extent : k);
      ASSERT_EQ(y[i], x[row * a.inner + i % a.inner]);
    }
  }
}

TEST(Gather, TakesDataAtAnyAddress) {
  constexpr GatherArgs kSlices{2, 50, 33, 9}, kElements{3, 70, 1, 20};
  for (const GatherArgs& a : {kSlices, kElements}) {
    const std::vector<int32_t> x = numbered<int32_t>(a.outer * size_t(a.extent) * a.inner);
    std::vector<char> moved(x.size() * sizeof(int32_t) + 1);
    std::memcpy(moved.data() + 1, x.data(), x.size() * sizeof(int32_t));
    const std::vector<int64_t> indices = Random(2).integers<int64_t>(a.count, -a.extent, a.extent - 1);
    std::vector<int32_t> y(a.outer * a.count * a.inner), z(y.size());
    EXPECT_FALSE(gather(byte_mover(4), a, x.data(), indices.data(), y.data(), Parallel()));
    EXPECT_FALSE(gather(byte_mover(4), a, moved.data() + 1, indices.data(), z.data(), Parallel()));
    EXPECT_EQ(y, z);
  }
}

TYPED_TEST(GatherKernel, GathersAndScattersTuples) {
  // Batches of [4, 5, 6]; tuples of two indices select rows of 6.
  TupleIndices t{.batches = 2, .tuples = 3, .depth = 2, .slice = 6};
  t.extents = {4, 5};
  const std::vector<int64_t> indices{0, 0, 3, 4, -1, -5, 1, 2, 0, -1, 2, 2};
  const auto x = numbered<TypeParam>(2 * 4 * 5 * 6);
  std::vector<TypeParam> y(2 * 3 * 6);
  EXPECT_FALSE(gather_nd(this->mover(), t, x.data(), indices.data(), y.data()));
  for (size_t n = 0; n < 6; ++n) {
    const int64_t i = indices[2 * n], j = indices[2 * n + 1];
    const size_t row = (n / 3 * 4 + size_t(i < 0 ? i + 4 : i)) * 5 + size_t(j < 0 ? j + 5 : j);
    for (size_t k = 0; k < 6; ++k) ASSERT_EQ(y[n * 6 + k], x[row * 6 + k]);
  }
  std::vector<TypeParam> z(x.size());
  EXPECT_FALSE(scatter_nd(this->mover(), t, indices.data(), y.data(), z.data()));
  std::vector<TypeParam> again(y.size());
  EXPECT_FALSE(gather_nd(this->mover(), t, z.data(), indices.data(), again.data()));
  EXPECT_EQ(y, again);
}

TYPED_TEST(GatherKernel, EmptyTuplesNameTheWholeTensor) {
  const TupleIndices t{.batches = 1, .tuples = 2, .depth = 0, .slice = 3};
  const auto x = numbered<TypeParam>(3);
  std::vector<TypeParam> y(6);
  EXPECT_FALSE(gather_nd(this->mover(), t, x.data(), static_cast<const int64_t*>(nullptr), y.data()));
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(y[i], x[i % 3]);
}

TYPED_TEST(GatherKernel, GathersAndScattersElements) {
  Random random(2);
  const Dims data{4, 5, 6};
  const auto x = numbered<TypeParam>(count(data));
  for (size_t axis = 0; axis < 3; ++axis) {
    Dims shape{3, 4, 5};
    shape[axis] = 41;  // may exceed the data along the axis; several blocks, not of whole rows
    const auto indices = random.integers<int32_t>(count(shape), -data[axis], data[axis] - 1);
    const ElementIndices e{data, shape, axis};
    std::vector<TypeParam> y(indices.size()), z(x.size()), want(x.size());
    EXPECT_FALSE(gather_elements(this->mover(), e, x.data(), indices.data(), y.data()));
    EXPECT_FALSE(scatter_elements(this->mover(), e, indices.data(), y.data(), z.data()));
    for (size_t i = 0; i < indices.size(); ++i) {
      Dims c = testing::coordinates(i, shape);
      c[axis] = indices[i] < 0 ? indices[i] + data[axis] : indices[i];
      ASSERT_EQ(y[i], x[testing::offset(c, data)]);
      want[testing::offset(c, data)] = y[i];
    }
    EXPECT_EQ(z, want);
  }
}

TEST(Gather, ReportsTheFirstBadIndex) {
  const std::vector<int32_t> x(12, 1);
  std::vector<int32_t> y(12);
  const std::vector<int64_t> indices{0, -4, 4, 9};
  const auto bad = gather(byte_mover(4), {1, 4, 3, 4}, x.data(), indices.data(), y.data(), Parallel());
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->position, 2u);
  EXPECT_EQ(bad->index, 4);
  EXPECT_EQ(bad->extent, 4);
  TupleIndices t{.tuples = 2, .depth = 2, .slice = 1};
  t.extents = {3, 4};
  const std::vector<int64_t> pairs{2, 3, 0, -5};
  EXPECT_EQ(gather_nd(byte_mover(4), t, x.data(), pairs.data(), y.data())->position, 3u);
  EXPECT_EQ(scatter_nd(byte_mover(4), t, pairs.data(), x.data(), y.data())->index, -5);
  const Dims data{3, 4}, shape{1, 2};
  const std::vector<int64_t> rows{2, 3};
  EXPECT_EQ(gather_elements(byte_mover(4), {data, shape, 0}, x.data(), rows.data(), y.data())->position, 1u);
  const std::vector<int64_t> huge{INT64_MIN};
  EXPECT_TRUE(gather(byte_mover(4), {1, 4, 3, 1}, x.data(), huge.data(), y.data(), Parallel()));
}

TEST(Scatter, LastOfEqualIndicesWins) {
  std::vector<int32_t> y(4, 0);
  const std::vector<int32_t> updates{1, 2, 3};
  const std::vector<int64_t> indices{2, -2, 2};
  const Dims data{4}, shape{3};
  EXPECT_FALSE(scatter_elements(byte_mover(4), {data, shape, 0}, indices.data(), updates.data(), y.data()));
  EXPECT_EQ(y, (std::vector<int32_t>{0, 0, 3, 0}));
}

}  // namespace
}  // namespace retort::kernels
