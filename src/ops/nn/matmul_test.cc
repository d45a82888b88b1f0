#include <atomic>
#include <cmath>
#include <limits>

#include "base/cpu.h"
#include "ops/nn/common/matrix.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

Tensor a23() { return f32({2, 3}, {1, 2, 3, 4, 5, 6}); }
Tensor b32() { return f32({3, 2}, {1, 0, 2, -1, 0, 1}); }
const std::vector<float> kProduct{5, 1, 14, 1};  // a23 · b32

const OpTest matmul(
    "MatMul",
    {{.about = "two matrices", .inputs = {a23(), b32()}, .outputs = {f32({2, 2}, kProduct)}},
     {.about = "a row and a column", .inputs = {f32({3}, {1, 2, 3}), f32({3}, {4, 5, 6})}, .outputs = {f32({}, {32})}},
     {.about = "a row", .inputs = {f32({3}, {1, 2, 3}), b32()}, .outputs = {f32({2}, {5, 1})}},
     {.about = "a column", .inputs = {a23(), f32({3}, {1, 0, -1})}, .outputs = {f32({2}, {-2, -2})}},
     {.about = "a batch and one matrix",
      .inputs = {f32({2, 1, 2}, {1, 2, 3, 4}), f32({2, 2}, {0, 1, 1, 0})},
      .outputs = {f32({2, 1, 2}, {2, 1, 4, 3})}},
     {.about = "batches that broadcast both ways", .inputs = {random({2, 1, 5, 7}), random({3, 7, 4}, 2)}},
     {.about = "a row and a batch", .inputs = {random({7}), random({3, 7, 4}, 2)}},
     {.about = "a batch and a column", .inputs = {random({3, 5, 7}), random({7}, 2)}},
     {.about = "no terms", .inputs = {f32({2, 0}, {}), f32({0, 3}, {})}, .outputs = {f32({2, 3}, {0, 0, 0, 0, 0, 0})}},
     {.about = "no rows", .inputs = {f32({0, 2}, {}), f32({2, 3}, {1, 2, 3, 4, 5, 6})}, .outputs = {f32({0, 3}, {})}},
     {.about = "no products", .inputs = {f32({0, 2, 3}, {}), f32({3, 2}, {1, 2, 3, 4, 5, 6})}},
     {.about = "NaN and infinities stay in their row and column",
      .inputs = {f32({2, 2}, {kNaN, 1, 1, 1}), f32({2, 2}, {1, kInf, 1, 2})},
      .outputs = {f32({2, 2}, {kNaN, kNaN, 2, kInf})}},
     {.about = "zero times infinity",
      .inputs = {f32({1, 1}, {0}), f32({1, 1}, {kInf})},
      .outputs = {f32({1, 1}, {kNaN})}},
     {.about = "one row", .inputs = {random({1, 130}), random({130, 67}, 2)}},
     {.about = "one long row", .inputs = {random({1, 70}), random({70, 1500}, 2)}},
     {.about = "a few rows", .inputs = {random({3, 67}), random({67, 35}, 2)}},
     {.about = "as many rows as are not packed at AVX2", .inputs = {random({8, 37}), random({37, 35}, 2)}},
     {.about = "as many rows as are not packed at AVX-512", .inputs = {random({16, 37}), random({37, 35}, 2)}},
     {.about = "one row more", .inputs = {random({17, 37}), random({37, 35}, 2)}},
     {.about = "many small products", .inputs = {random({301, 3, 4}), random({301, 4, 5}, 2)}},
     {.about = "many small products with a column", .inputs = {random({301, 3, 4}), random({301, 4, 1}, 2)}},
     {.about = "a row and a column of 0 terms", .inputs = {f32({3, 1, 0}, {}), f32({3, 0, 1}, {})}},
     {.about = "a long column", .inputs = {random({1500, 70}), random({70, 1}, 2)}},
     {.about = "one column", .inputs = {random({67, 130}), random({130, 1}, 2)}},
     {.about = "odd sizes", .inputs = {random({13, 67}), random({67, 35}, 2)}},
     {.about = "several blocks", .inputs = {random({131, 300}), random({300, 97}, 2)}, .fixed_types = true},
     {.about = "integers wrap",
      .inputs = {i32({1, 2}, {INT32_MAX, 1}), i32({2, 1}, {2, 3})},
      .outputs = {i32({1, 1}, {1})},
      .fixed_types = true}},
    {.tolerance = 8});

const OpTest gemm(
    "Gemm",
    {{.about = "without C", .inputs = {a23(), b32()}, .outputs = {f32({2, 2}, kProduct)}},
     {.about = "a row of C", .inputs = {a23(), b32(), f32({2}, {10, 20})}, .outputs = {f32({2, 2}, {15, 21, 24, 21})}},
     {.about = "a column of C",
      .inputs = {a23(), b32(), f32({2, 1}, {10, 20})},
      .outputs = {f32({2, 2}, {15, 11, 34, 21})}},
     {.about = "a scalar C, scaled",
      .attributes = {{"alpha", 2.0f}, {"beta", 0.5f}},
      .inputs = {a23(), b32(), f32({}, {10})},
      .outputs = {f32({2, 2}, {15, 7, 33, 7})}},
     {.about = "both transposed",
      .attributes = {{"transA", int64_t(1)}, {"transB", int64_t(1)}},
      .inputs = {f32({3, 2}, {1, 4, 2, 5, 3, 6}), f32({2, 3}, {1, 2, 0, 0, -1, 1}), f32({2, 2}, {1, 2, 3, 4})},
      .outputs = {f32({2, 2}, {6, 3, 17, 5})}},
     {.about = "one column and a scalar C",
      .inputs = {a23(), f32({3, 1}, {1, 0, -1}), f32({}, {10})},
      .outputs = {f32({2, 1}, {8, 8})}},
     {.about = "beta 0 hides a NaN of C",
      .attributes = {{"beta", 0.0f}},
      .inputs = {a23(), b32(), f32({2}, {std::nanf(""), 20})},
      .outputs = {f32({2, 2}, kProduct)}},
     {.about = "no terms: only C",
      .inputs = {f32({2, 0}, {}), f32({0, 2}, {}), f32({2}, {1, 2})},
      .outputs = {f32({2, 2}, {1, 2, 1, 2})}},
     {.about = "no rows", .inputs = {f32({0, 3}, {}), b32()}, .outputs = {f32({0, 2}, {})}},
     {.about = "odd sizes", .inputs = {random({13, 67}), random({67, 35}, 2), random({35}, 3)}},
     {.about = "odd sizes, A transposed",
      .attributes = {{"transA", int64_t(1)}, {"alpha", 0.5f}},
      .inputs = {random({67, 13}), random({67, 35}, 2), random({13, 35}, 3)}},
     {.about = "odd sizes, B transposed",
      .attributes = {{"transB", int64_t(1)}, {"beta", -1.0f}},
      .inputs = {random({13, 67}), random({35, 67}, 2), random({1, 35}, 3)}},
     {.about = "one row", .attributes = {{"transB", int64_t(1)}}, .inputs = {random({1, 130}), random({67, 130}, 2)}},
     {.about = "one row and a row of C",
      .attributes = {{"transB", int64_t(1)}},
      .inputs = {random({1, 130}), random({67, 130}, 2), random({67}, 3)}},
     {.about = "three rows and a row of C", .inputs = {random({3, 33}), random({33, 21}, 2), random({21}, 3)}},
     {.about = "one column and one element of C", .inputs = {random({21, 33}), random({33, 1}, 2), random({1}, 3)}}},
    {.tolerance = 8});

const OpTest fused_matmul("FusedMatMul",
                          {{.about = "scaled",
                            .attributes = {{"alpha", 0.5f}},
                            .inputs = {a23(), b32()},
                            .outputs = {f32({2, 2}, {2.5f, 0.5f, 7, 0.5f})}},
                           {.about = "both transposed",
                            .attributes = {{"transA", int64_t(1)}, {"transB", int64_t(1)}},
                            .inputs = {f32({3, 2}, {1, 4, 2, 5, 3, 6}), f32({2, 3}, {1, 2, 0, 0, -1, 1})},
                            .outputs = {f32({2, 2}, kProduct)}},
                           {.about = "the batch axis of A comes last but one",
                            .attributes = {{"transBatchA", int64_t(1)}},
                            .inputs = {f32({1, 2, 3}, {1, 2, 3, 4, 5, 6}), f32({2, 3, 1}, {1, 1, 1, 1, 0, -1})},
                            .outputs = {f32({2, 1, 1}, {6, -2})}},
                           {.about = "batches", .inputs = {random({2, 5, 67}), random({2, 67, 9}, 2)}},
                           {.about = "batches, A transposed and scaled",
                            .attributes = {{"transA", int64_t(1)}, {"alpha", -0.25f}},
                            .inputs = {random({3, 67, 35}), random({3, 67, 41}, 2)}},
                           {.about = "every axis moves",
                            .attributes = {{"transA", int64_t(1)},
                                           {"transB", int64_t(1)},
                                           {"transBatchA", int64_t(1)},
                                           {"transBatchB", int64_t(1)}},
                            .inputs = {random({17, 3, 5}), random({9, 3, 17}, 2)}},
                           {.about = "B transposed in place",
                            .attributes = {{"transB", int64_t(1)}},
                            .inputs = {random({3, 5, 67}), random({9, 67}, 2)}},
                           {.about = "vectors are unchanged",
                            .attributes = {{"transA", int64_t(1)}, {"transB", int64_t(1)}},
                            .inputs = {f32({3}, {1, 2, 3}), f32({3}, {4, 5, 6})},
                            .outputs = {f32({}, {32})}}},
                          {.domain = "com.microsoft", .tolerance = 8});

TEST(PackMatrices, EndWhenLoadingIsCancelled) {
  const Tensor b = random({64, 96});
  const std::vector<const ValueType*> types{nullptr, nullptr};
  const std::vector<const Tensor*> constants{nullptr, &b};
  std::atomic<bool> cancelled = false;
  const Parallel parallel(nullptr, &cancelled);
  const PrepareContext context(types, constants, parallel, {});
  EXPECT_NE(pack_matrices(context, b, 1, 64, 96, {96, 1}), nullptr);
  cancelled = true;
  try {
    pack_matrices(context, b, 1, 64, 96, {96, 1});
    FAIL() << "packed";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::model_load_canceled);
  }
}

TEST(PackMatrices, OnlyASingleMatrixHasMarksOfSums) {
  constexpr int64_t kSize = 1024;
  const Tensor b = random({2, kSize, kSize});
  const std::vector<const ValueType*> types{nullptr, nullptr};
  const std::vector<const Tensor*> constants{nullptr, &b};
  const Parallel serial;
  const PrepareContext context(types, constants, serial, {});
  const auto several = pack_matrices(context, b, 2, kSize, kSize, {kSize, 1});
  EXPECT_EQ(several->fit, 0u);
  EXPECT_EQ(several->matrix(1).fit, nullptr);
  for (const Isa isa : {Isa::v2, Isa::avx2, Isa::avx512}) {
    if (isa > best_isa()) continue;
    const ScopedIsa scoped(isa);
    const auto single = pack_matrices(context, b, 1, kSize, kSize, {kSize, 1});
    EXPECT_EQ(single->matrix(0).fit != nullptr, kernels::gemm_fit_bytes(kSize, kSize) > 0) << isa_name(isa);
  }
}

// Packers return early then, so the memory may lack elements.
TEST(PackedMemory, IsNotUsedIfLoadingIsCancelled) {
  std::atomic<bool> cancelled = false;
  const Parallel parallel(nullptr, &cancelled);
  const PrepareContext context({}, {}, parallel, {});
  const auto pack = [&](void*) { cancelled = true; };
  EXPECT_THROW(context.packed(4096, pack), Error);
  cancelled = false;
  EXPECT_NE(context.packed(4096, [](void*) {}), nullptr);
}

}  // namespace
}  // namespace retort::ops
