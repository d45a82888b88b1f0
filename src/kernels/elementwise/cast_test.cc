#include "kernels/elementwise/cast.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

using testing::Random;

const std::vector<DType> kTypes{DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,  DType::i16,    DType::i32,
                                DType::i64, DType::u8,  DType::u16, DType::u32,  DType::u64, DType::boolean};

class CastKernel : public testing::PerIsa {
 protected:
  template <typename From, typename To>
  std::vector<To> run(const std::vector<From>& x) {
    std::vector<To> y(x.size());
    cast(x.data(), dtype_of<From>, y.data(), dtype_of<To>, x.size(), one_thread());
    return y;
  }
};

TEST_P(CastKernel, SmallNumbersSurviveEveryPair) {
  const std::vector<int64_t> numbers{0, 1, 1, 0, 1};  // numbers that bool also represents
  for (const size_t n : testing::test_sizes()) {
    std::vector<int64_t> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = numbers[i % 5];
    for (const DType from : kTypes) {
      for (const DType to : kTypes) {
        std::vector<std::byte> a(8 * n + 8), b(8 * n + 8);
        std::vector<int64_t> y(n, -1);
        cast(x.data(), DType::i64, a.data(), from, n, one_thread());
        cast(a.data(), from, b.data(), to, n, three_threads());
        cast(b.data(), to, y.data(), DType::i64, n, one_thread());
        ASSERT_EQ(x, y) << dtype_name(from) << " to " << dtype_name(to);
      }
    }
  }
}

TEST_P(CastKernel, FloatsTruncateAndOverflowAsTheHardwareDoes) {
  const float inf = INFINITY;
  const std::vector<float> x{300.7f, -1.5f, 3e9f, -3e9f, 1e20f, -1e20f, NAN, inf, -inf, 70000.0f, 2147483648.0f};
  constexpr int32_t kMin = INT32_MIN;
  constexpr int64_t kMin64 = INT64_MIN;
  using std::vector;
  EXPECT_EQ((run<float, int8_t>(x)), (vector<int8_t>{44, -1, 0, 0, 0, 0, 0, 0, 0, 112, 0}));
  EXPECT_EQ((run<float, uint8_t>(x)), (vector<uint8_t>{44, 255, 0, 0, 0, 0, 0, 0, 0, 112, 0}));
  EXPECT_EQ((run<float, int16_t>(x)), (vector<int16_t>{300, -1, 0, 0, 0, 0, 0, 0, 0, 4464, 0}));
  EXPECT_EQ((run<float, int32_t>(x)),
            (vector<int32_t>{300, -1, kMin, kMin, kMin, kMin, kMin, kMin, kMin, 70000, kMin}));
  EXPECT_EQ((run<float, uint32_t>(x)), (vector<uint32_t>{300, 4294967295u, 3000000000u, 2147483648u, 0, 2147483648u,
                                                         2147483648u, 0, 2147483648u, 70000, 2147483648u}));
  EXPECT_EQ((run<float, int64_t>(x)), (vector<int64_t>{300, -1, 3000000000, -3000000000, kMin64, kMin64, kMin64, kMin64,
                                                       kMin64, 70000, 2147483648}));
  EXPECT_EQ((run<float, uint64_t>(x))[7], 0u);
  EXPECT_EQ((run<float, uint64_t>(x))[1], ~uint64_t(0));
  const vector<double> wide(x.begin(), x.end());
  EXPECT_EQ((run<double, int32_t>(wide)), (run<float, int32_t>(x)));
  EXPECT_EQ((run<double, int64_t>(wide)), (run<float, int64_t>(x)));
}

TEST_P(CastKernel, FloatsToBool) {
  const std::vector<float> x{0.0f, -0.0f, 0.25f, NAN, -INFINITY, 1e-45f};
  uint8_t y[6];
  cast(x.data(), DType::f32, y, DType::boolean, 6, one_thread());
  const uint8_t want[6] = {0, 0, 1, 1, 1, 1};
  EXPECT_EQ(0, std::memcmp(y, want, 6));
}

// Tests every 16-bit pattern, and float patterns around all rounding decisions.
TEST_P(CastKernel, HalfTypesMatchTheirDefinition) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = uint16_t(i);
  std::vector<float> wide(all.size());
  cast(all.data(), DType::f16, wide.data(), DType::f32, all.size(), one_thread());
  for (size_t i = 0; i < all.size(); ++i) {
    const float want = float16::to_float(all[i]);
    ASSERT_TRUE(std::isnan(want) ? std::isnan(wide[i])
                                 : std::bit_cast<uint32_t>(want) == std::bit_cast<uint32_t>(wide[i]));
  }
  Random random(1);
  std::vector<float> x(100003);
  for (size_t i = 0; i < x.size(); ++i) {
    const uint32_t bits = random.bits();
    const uint32_t tie = i % 3 == 0 ? 0xfffff000u : i % 3 == 1 ? 0xffff8000u : 0xffffffffu;  // ties of f16, of bf16
    x[i] = std::bit_cast<float>(bits & tie);
    if (i % 2) x[i] = std::bit_cast<float>((bits & tie & 0x8fffffffu) | 0x30000000u);  // within the range of f16
  }
  std::vector<uint16_t> h(x.size()), b(x.size());
  cast(x.data(), DType::f32, h.data(), DType::f16, x.size(), three_threads());
  cast(x.data(), DType::f32, b.data(), DType::bf16, x.size(), three_threads());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(h[i], float16::from_float(x[i])) << x[i];
    ASSERT_EQ(b[i], bfloat16::from_float(x[i])) << x[i];
  }
}

TEST_P(CastKernel, IntegersWrap) {
  const std::vector<int64_t> x{-1, 256, 70000, int64_t(1) << 40, INT64_MIN};
  EXPECT_EQ((run<int64_t, uint8_t>(x)), (std::vector<uint8_t>{255, 0, 112, 0, 0}));
  EXPECT_EQ((run<int64_t, int32_t>(x)), (std::vector<int32_t>{-1, 256, 70000, 0, 0}));
  EXPECT_EQ((run<int64_t, uint64_t>(x))[0], ~uint64_t(0));
  EXPECT_EQ((run<int64_t, float>(x))[3], 0x1p40f);
}

TEST(Cast, KnowsItsTypes) {
  for (const DType t : kTypes) EXPECT_TRUE(can_cast(t));
  EXPECT_FALSE(can_cast(DType::string));
  EXPECT_FALSE(can_cast(DType::i4));
  EXPECT_FALSE(can_cast(DType::complex64));
}

INSTANTIATE_TEST_SUITE_P(Levels, CastKernel, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
