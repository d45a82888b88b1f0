#include "kernels/move/strided_copy.h"

#include <algorithm>
#include <numeric>

#include "kernels/move/move_testing.h"

namespace retort::kernels {
namespace {

using testing::coordinates;
using testing::count;
using testing::Dims;
using testing::numbered;

template <typename T>
class StridedCopyKernel : public testing::MoveKernel<T> {
 protected:
  /// Checks that y[i] is x[source(coordinates of i)].
  template <typename Source>
  void check(const StridedCopy& plan, const Dims& shape, const Dims& out, const Source& source) {
    const auto x = numbered<T>(count(shape));
    std::vector<T> y(count(out) + 1);
    ASSERT_EQ(plan.count, count(out));
    strided_copy(this->mover(), plan, y.data(), x.data(), this->par());
    for (size_t i = 0; i + 1 < y.size(); ++i) {
      ASSERT_EQ(y[i], x[testing::offset(source(coordinates(i, out)), shape)]) << "element " << i;
    }
    EXPECT_EQ(y.back(), T());
  }

  void check_transpose(const Dims& shape, const Dims& perm) {
    Dims out;
    for (const int64_t p : perm) out.push_back(shape[size_t(p)]);
    const auto plan = StridedCopy::transpose(shape, perm);
    ASSERT_TRUE(plan);
    check(*plan, shape, out, [&](const Dims& c) {
      Dims s(c.size());
      for (size_t d = 0; d < c.size(); ++d) s[size_t(perm[d])] = c[d];
      return s;
    });
  }
};
TYPED_TEST_SUITE(StridedCopyKernel, testing::ElementTypes);

TYPED_TEST(StridedCopyKernel, Transposes) {
  for (const Dims& shape :
       {Dims{1, 1}, Dims{3, 5}, Dims{16, 16}, Dims{33, 70}, Dims{130, 257}, Dims{5, 0}, Dims{300, 3}, Dims{3, 300},
        Dims{2, 37}, Dims{37, 2}, Dims{4, 9}, Dims{9, 4}, Dims{7, 33}, Dims{33, 7}, Dims{12, 1500}, Dims{1500, 12}}) {
    this->check_transpose(shape, {1, 0});
    this->check_transpose(shape, {0, 1});
  }
  this->check_transpose({}, {});
  this->check_transpose({7}, {0});
  this->check_transpose({2, 19, 5, 8}, {0, 2, 1, 3});   // heads: runs
  this->check_transpose({2, 19, 5, 8}, {0, 2, 3, 1});   // heads and transposed keys
  this->check_transpose({2, 17, 20, 3}, {0, 3, 1, 2});  // NHWC to NCHW
  this->check_transpose({2, 3, 17, 20}, {0, 2, 3, 1});
  this->check_transpose({2, 64, 12, 9}, {0, 2, 3, 1});
  this->check_transpose({30, 20, 2}, {1, 0, 2});  // runs of two elements become one wider element
  this->check_transpose({4, 3, 5, 2, 6}, {4, 2, 0, 3, 1});
}

// The dimensions of the source's order: no dimension of the destination is contiguous until they are sorted by it.
TYPED_TEST(StridedCopyKernel, DimensionsInTheOrderOfTheSource) {
  for (const Dims& e : {Dims{2, 3, 4, 5}, Dims{3, 1, 33, 2}, Dims{1, 7, 16, 3}, Dims{2, 2, 70, 4}}) {
    const Dims shape{e[0] * e[1] * e[2] * e[3]}, out{e[3], e[1], e[0], e[2]};
    StridedCopy plan;
    const ptrdiff_t a = e[2], b = e[0] * a, c = e[1] * b;  // strides of `out`
    plan.append(size_t(e[0]), a, e[1] * e[2] * e[3]);
    plan.append(size_t(e[1]), b, e[2] * e[3]);
    plan.append(size_t(e[2]), 1, e[3]);
    plan.append(size_t(e[3]), c, 1);
    this->check(plan, shape, out,
                [&](const Dims& at) { return Dims{((at[2] * e[1] + at[1]) * e[2] + at[3]) * e[3] + at[0]}; });
  }
}

TYPED_TEST(StridedCopyKernel, EveryPermutationOfRankFour) {
  Dims perm{0, 1, 2, 3};
  do {
    this->check_transpose({3, 4, 5, 6}, perm);
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TYPED_TEST(StridedCopyKernel, Slices) {
  struct Slice {
    Dims shape, starts, steps, out;
  };
  for (const Slice& s :
       {Slice{{10}, {2}, {3}, {3}}, Slice{{10}, {9}, {-1}, {10}}, Slice{{10}, {9}, {-4}, {3}},
        Slice{{4, 6, 8}, {0, 1, 0}, {1, 2, 1}, {4, 3, 8}}, Slice{{4, 6, 8}, {3, 0, 7}, {-1, 1, -2}, {2, 6, 4}},
        Slice{{200, 300}, {10, 0}, {1, 1}, {150, 300}}, Slice{{200, 300}, {0, 299}, {1, -1}, {200, 300}},
        Slice{{4, 5}, {1, 1}, {1, 1}, {0, 3}}}) {
    const auto plan = StridedCopy::slice(s.shape, s.starts, s.steps, s.out);
    ASSERT_TRUE(plan);
    this->check(*plan, s.shape, s.out, [&](const Dims& c) {
      Dims from(c.size());
      for (size_t d = 0; d < c.size(); ++d) from[d] = s.starts[d] + c[d] * s.steps[d];
      return from;
    });
  }
}

TYPED_TEST(StridedCopyKernel, ExpandsAndTiles) {
  for (const auto& [shape, out] : std::vector<std::pair<Dims, Dims>>{{{}, {5}},
                                                                     {{1}, {40000}},
                                                                     {{3, 1}, {3, 4}},
                                                                     {{2, 1, 3}, {5, 2, 7, 3}},
                                                                     {{4}, {3, 4}},
                                                                     {{1, 0}, {3, 0}},
                                                                     {{1, 3}, {20000, 3}},
                                                                     {{3, 1, 5}, {3, 4000, 5}},
                                                                     {{1, 3, 1}, {4, 3, 40}},
                                                                     {{1, 9000}, {3, 9000}}}) {
    const auto plan = StridedCopy::expand(shape, out);
    ASSERT_TRUE(plan);
    this->check(*plan, shape, out, [&, s = shape, o = out](const Dims& c) {
      Dims from;
      for (size_t d = 0; d < s.size(); ++d) from.push_back(s[d] == 1 ? 0 : c[d + o.size() - s.size()]);
      return from;
    });
  }
  for (const auto& [shape, repeats] : std::vector<std::pair<Dims, Dims>>{{{5}, {3}},
                                                                         {{2, 3}, {1, 4}},
                                                                         {{2, 3}, {4, 1}},
                                                                         {{2, 3, 4}, {3, 2, 5}},
                                                                         {{100, 1}, {1, 300}},
                                                                         {{2, 3}, {0, 1}}}) {
    const auto plan = StridedCopy::tile(shape, repeats);
    ASSERT_TRUE(plan);
    Dims out(shape.size());
    for (size_t d = 0; d < out.size(); ++d) out[d] = shape[d] * repeats[d];
    this->check(*plan, shape, out, [&, s = shape](const Dims& c) {
      Dims from(c.size());
      for (size_t d = 0; d < c.size(); ++d) from[d] = c[d] % s[d];
      return from;
    });
  }
}

TYPED_TEST(StridedCopyKernel, ConcatAndSplitAreInverse) {
  for (const auto& [outer, inner] : std::vector<std::pair<size_t, size_t>>{{1, 1}, {1, 7}, {30, 1}, {5, 600}, {0, 3}}) {
    const std::vector<size_t> extents{3, 1, 0, 20};
    std::vector<std::vector<TypeParam>> inputs, outputs;
    std::vector<AxisPart> from, to;
    const size_t total = 24;
    for (const size_t e : extents) {
      inputs.emplace_back(outer * e * inner);
      outputs.emplace_back(outer * e * inner);
    }
    size_t at = 0;
    for (size_t p = 0; p < extents.size(); ++p) {
      for (size_t i = 0; i < inputs[p].size(); ++i) {
        const size_t run = extents[p] * inner;
        inputs[p][i] = testing::element<TypeParam>(i / run * total * inner + at * inner + i % run);
      }
      at += extents[p];
      from.push_back({inputs[p].data(), extents[p]});
      to.push_back({outputs[p].data(), extents[p]});
    }
    std::vector<TypeParam> joined(outer * total * inner);
    concat(this->mover(), from, outer, inner, joined.data(), this->par());
    EXPECT_EQ(joined, numbered<TypeParam>(joined.size()));
    split(this->mover(), joined.data(), outer, inner, to, this->par());
    EXPECT_EQ(inputs, outputs);
  }
}

// Runs of every length of the loops for short ones, in both directions: nothing is written around them.
TYPED_TEST(StridedCopyKernel, RunsOfEveryLength) {
  for (size_t run = 1; run <= 260; run += run < 40 ? 1 : 11) {
    for (const size_t gap : {1, 3}) {
      const size_t outer = run < 9 ? 5000 : 21, total = run + gap;
      const auto x = numbered<TypeParam>(outer * total);
      std::vector<TypeParam> rest(outer * gap), part(outer * run), joined(outer * total);
      const std::vector<AxisPart> parts{{rest.data(), gap}, {part.data(), run}};
      split(this->mover(), x.data(), outer, 1, parts, this->par());
      for (size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], x[i / run * total + gap + i % run]) << run;
      concat(this->mover(), parts, outer, 1, joined.data(), this->par());
      EXPECT_EQ(joined, x) << run;
    }
  }
}

// Tests the vectorised tile at each level, at every corner of a block and at unaligned addresses.
class TransposeLevels : public testing::PerIsa {};

template <typename T>
void check_transpose_tile(int64_t rows, int64_t columns) {
  const auto x = numbered<T>(size_t(rows * columns) + 1);
  std::vector<T> y(size_t(rows * columns) + 2, T(7));
  const Dims shape{rows, columns}, perm{1, 0};
  strided_copy(byte_mover(sizeof(T)), *StridedCopy::transpose(shape, perm), y.data() + 1, x.data() + 1, Parallel());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c)
      ASSERT_EQ(y[size_t(c * rows + r) + 1], x[size_t(r * columns + c) + 1]) << rows << " by " << columns;
  }
  ASSERT_EQ(y.front(), T(7));
  ASSERT_EQ(y.back(), T(7));
}

TEST_P(TransposeLevels, AllSizesUpToTwoVectors) {
  for (int64_t rows = 1; rows <= 37; ++rows) {
    for (int64_t columns = 1; columns <= 37; ++columns) check_transpose_tile<uint32_t>(rows, columns);
  }
}

TEST_P(TransposeLevels, EverySizeOfElements) {
  const Dims extents{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 70, 129};
  for (const int64_t rows : extents) {
    for (const int64_t columns : extents) {
      check_transpose_tile<uint8_t>(rows, columns);
      check_transpose_tile<uint16_t>(rows, columns);
      check_transpose_tile<uint64_t>(rows, columns);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Levels, TransposeLevels, testing::all_isas(), testing::isa_label);

TEST(StridedCopy, MergesDimensionsThatMoveTogether) {
  EXPECT_EQ(StridedCopy::transpose(Dims{2, 3, 4, 5}, Dims{2, 3, 0, 1})->rank, 2u);
  EXPECT_EQ(StridedCopy::transpose(Dims{2, 3, 4}, Dims{0, 1, 2})->rank, 1u);
  EXPECT_EQ(StridedCopy::slice(Dims{2, 3, 4}, Dims{0, 1, 0}, Dims{1, 1, 1}, Dims{2, 2, 4})->rank, 2u);
}

TEST(StridedCopy, ReportsTooManyDimensions) {
  Dims shape(17, 2), perm(17);
  std::iota(perm.rbegin(), perm.rend(), 0);
  EXPECT_FALSE(StridedCopy::transpose(shape, perm));
}

}  // namespace
}  // namespace retort::kernels
