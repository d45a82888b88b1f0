// Tests products with n-bit weights against the plain loop, at every instruction level.
#include "kernels/gemm/gemm_nbits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "kernels/elementwise/kernel_testing.h"
#include "kernels/gemm/gemm_codes.h"
#include "kernels/gemm/without_tiles.h"

namespace retort::kernels {
namespace {

constexpr NBitInput kInputs[] = {NBitInput::exact, NBitInput::rounded, NBitInput::bf16};
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Weights and rows from a seed.
struct Operands {
  NBitForm form;
  size_t m;
  bool has_bias;
  std::vector<uint8_t> codes;
  std::vector<float> scales, zeros, a, bias;

  Operands(const NBitForm& f, size_t rows, bool bias_wanted = false) : form(f), m(rows), has_bias(bias_wanted) {
    testing::Random random(f.n * 31 + f.k * 7 + f.bits);
    codes = random.integers<uint8_t>(f.n * f.blocks() * f.block * f.bits / 8, 0, 255);
    scales = random.floats(f.n * f.blocks(), 0.01f, 1);
    zeros = random.floats(f.n * f.blocks(), 0, float((1 << f.bits) - 1));
    if (f.zeros == NBitZeros::codes)
      for (float& zero : zeros) zero = std::nearbyint(zero);
    if (f.halves) round_to_halves();
    a = random.floats(m * f.k, -2, 2);
    bias = random.floats(f.n, -1, 1);
  }
  // Scales and offsets become float16; zero points that are numbers follow.
  void round_to_halves() {
    for (size_t i = 0; i < scales.size(); ++i) {
      scales[i] = float(float16(scales[i]));
      if (form.zeros == NBitZeros::numbers) zeros[i] = float(float16(zeros[i] * scales[i])) / scales[i];
    }
  }
  void parameters(const NBitRun& run) const {
    for (size_t i = 0; i < run.count; ++i) {
      const size_t at = run.column * form.blocks() + run.first + i;
      run.scales[i * run.stride] = scales[at];
      run.zeros[i * run.stride] = zeros[at];
    }
  }
};

std::vector<float> multiply(const Operands& o, NBitInput input, bool plain, const Parallel& par = Parallel()) {
  std::vector<float> c(o.m * o.form.n, 77);
  const auto parameters = [&o](const NBitRun& run) { o.parameters(run); };
  const NBitSource source{o.codes.data(), parameters};
  NBitProduct p{.form = o.form, .m = o.m, .a = o.a.data(), .input = input, .c = c.data()};
  if (o.has_bias) p.bias = o.bias.data();
  if (plain) {
    gemm_nbits_reference(p, source);
    return c;
  }
  testing::Lines packed(nbits_packed_bytes(o.form));
  nbits_pack(o.form, source, packed.data(), par);
  p.packed = packed.data();
  testing::Lines scratch(nbits_scratch_bytes(o.form, o.m, input, par.workers()));
  gemm_nbits(p, scratch.data(), par);
  return c;
}

void expect_near(const Operands& o, NBitInput input, const Parallel& par = Parallel()) {
  const std::vector<float> want = multiply(o, nbits_input(o.form, input, o.m), true),
                           own = multiply(o, input, false, par);
  // The sum of the sizes of products is at most k · 2 · the largest code.
  const double tolerance = 1e-6 * double(o.form.k + 1) * double(size_t(2) << o.form.bits);
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(want[i], own[i], tolerance)
        << cat("element {} of {}x{}x{}, {} bits, block {}, zeros {}, input {}, unit {}", i, o.m, o.form.n, o.form.k,
               o.form.bits, o.form.block, int(o.form.zeros), int(input), int(codes_unit()));
  }
}

class GemmNBits : public testing::PerIsa {
 protected:
  ~GemmNBits() override { limit_codes_unit(CodesUnit::tiles); }
  /// Calls f with each unit that this processor has at this level.
  template <typename F>
  void for_each_unit(const F& f) {
    for (const CodesUnit unit : {CodesUnit::pairs, CodesUnit::quads, CodesUnit::tiles}) {
      limit_codes_unit(unit);
      if (codes_unit() == unit) f();
    }
  }
};

TEST_P(GemmNBits, EqualsThePlainLoop) {
  for_each_unit([&] {
    for (const size_t bits : {size_t(2), size_t(4), size_t(8)}) {
      for (const size_t block : {size_t(16), size_t(32), size_t(64), size_t(256)}) {
        for (const NBitZeros zeros : {NBitZeros::middle, NBitZeros::codes, NBitZeros::numbers}) {
          for (const bool halves : {false, true}) {
            const NBitForm form{.bits = bits, .n = 37, .k = 300, .block = block, .zeros = zeros, .halves = halves};
            const Operands few(form, 5, zeros == NBitZeros::codes), many(form, 19, zeros == NBitZeros::codes);
            for (const NBitInput input : kInputs) {
              expect_near(few, input);
              expect_near(many, input);
            }
          }
        }
      }
    }
  });
}

TEST_P(GemmNBits, SizesAroundTilesAndPanels) {
  for (const NBitInput input : kInputs) {
    for (size_t m = 0; m <= 27; ++m) expect_near(Operands({.n = 33, .k = 64}, m), input);
    for (size_t n = 0; n <= 67; n += 3)
      expect_near(Operands({.n = n, .k = 32, .zeros = NBitZeros::codes}, 3, true), input);
    for (size_t n = 1; n <= 67; n += 6) {
      const NBitForm form{.n = n, .k = 70, .zeros = NBitZeros::numbers, .halves = true};
      for (const size_t m : {size_t(1), size_t(2), size_t(4), size_t(9)}) expect_near(Operands(form, m), input);
    }
    for (size_t k = 0; k <= 70; k += 5) expect_near(Operands({.bits = 8, .n = 9, .k = k, .block = 16}, 2), input);
    expect_near(Operands({.n = 200, .k = 1024}, 300), input, three_threads());
  }
}

TEST_P(GemmNBits, LargestCodesDoNotOverflow) {
  for_each_unit([&] {
    for (const size_t bits : {size_t(2), size_t(4), size_t(8)}) {
      for (const float x : {1.0f, -1.0f}) {
        for (const size_t rows : {size_t(4), size_t(14)}) {
          Operands o({.bits = bits, .n = 20, .k = 512, .block = 256, .zeros = NBitZeros::codes}, rows);
          std::fill(o.codes.begin(), o.codes.end(), uint8_t(255));
          std::fill(o.zeros.begin(), o.zeros.end(), 0.0f);
          std::fill(o.a.begin(), o.a.end(), x);
          for (const NBitInput input : kInputs) expect_near(o, input);
        }
      }
    }
  });
}

TEST_P(GemmNBits, SameBitsForAnyNumberOfThreads) {
  const Operands o({.n = 1000, .k = 256, .zeros = NBitZeros::codes}, 70, true);
  for (const NBitInput input : kInputs)
    EXPECT_EQ(multiply(o, input, false), multiply(o, input, false, three_threads()));
}

// Many rows by AMX, and by the instructions that processors without it have.
TEST_P(GemmNBits, ManyRows) {
  for (const bool tiles : {false, true}) {
    std::optional<testing::WithoutTiles> without;
    if (!tiles) without.emplace();
    if (tiles && !has_bf16_tiles()) break;
    for (const size_t bits : {size_t(2), size_t(4), size_t(8)}) {
      for (const size_t block : {size_t(16), size_t(32), size_t(256)}) {
        for (const NBitZeros zeros : {NBitZeros::middle, NBitZeros::codes, NBitZeros::numbers}) {
          for (const size_t m : {size_t(23), size_t(24), size_t(41)}) {
            const Operands o({.bits = bits, .n = 53, .k = block + 45, .block = block, .zeros = zeros}, m, true);
            for (const NBitInput input : {NBitInput::rounded, NBitInput::bf16}) expect_near(o, input);
          }
        }
      }
    }
    for (const NBitInput input : {NBitInput::rounded, NBitInput::bf16}) {
      for (size_t n = 1; n <= 67; n += 3) expect_near(Operands({.n = n, .k = 64}, 25), input);
      for (size_t k = 0; k <= 70; k += 5) expect_near(Operands({.n = 40, .k = k, .block = 16}, 25, true), input);
      // Several blocks of rows and of steps.
      expect_near(Operands({.n = 5, .k = 4100, .block = 256}, 150, true), input, three_threads());
      for (const NBitZeros zeros : {NBitZeros::middle, NBitZeros::numbers})
        expect_near(Operands({.n = 53, .k = 9000, .zeros = zeros}, 33, true), input);
    }
  }
}

TEST_P(GemmNBits, ManyRowsAndSmallBlocksAreRoundedToHalfOfTheBits) {
  const bool tiles = has_bf16_tiles() && nbits_panel_width() == 16;
  const NBitForm small{.block = 64}, large{.block = 128};
  EXPECT_EQ(nbits_input(small, NBitInput::rounded, 24) == NBitInput::bf16, tiles);
  for (const NBitForm& form : {small, large}) {
    EXPECT_EQ(nbits_input(form, NBitInput::bf16, 24), tiles ? NBitInput::bf16 : NBitInput::exact);
    EXPECT_EQ(nbits_input(form, NBitInput::rounded, 23), NBitInput::rounded);
    EXPECT_EQ(nbits_input(form, NBitInput::bf16, 23), NBitInput::exact);
    EXPECT_EQ(nbits_input(form, NBitInput::exact, 1000), NBitInput::exact);
  }
  EXPECT_EQ(nbits_input(large, NBitInput::rounded, 1000), NBitInput::rounded);
}

// Numbers of rows and blocks around those of tiles, which are used for 12 rows and more and blocks of 32 and
// more; by those of bfloat16, many rows would be no codes.
TEST_P(GemmNBits, TilesGiveTheBitsOfQuads) {
  limit_codes_unit(CodesUnit::tiles);
  if (codes_unit() != CodesUnit::tiles) GTEST_SKIP() << "no AMX at this level";
  const testing::WithoutTiles without;
  for (const size_t bits : {size_t(2), size_t(4), size_t(8)}) {
    for (const size_t block : {size_t(32), size_t(64), size_t(256)}) {
      for (const NBitZeros zeros : {NBitZeros::middle, NBitZeros::codes, NBitZeros::numbers}) {
        for (const size_t m : {size_t(12), size_t(17), size_t(33)}) {
          const Operands o({.bits = bits, .n = 85, .k = 300, .block = block, .zeros = zeros}, m, true);
          limit_codes_unit(CodesUnit::quads);
          const std::vector<float> want = multiply(o, NBitInput::rounded, false);
          limit_codes_unit(CodesUnit::tiles);
          EXPECT_EQ(want, multiply(o, NBitInput::rounded, false))
              << cat("{} bits, block {}, zeros {}, {} rows", bits, block, int(zeros), m);
        }
      }
    }
  }
}

// Columns and blocks of several panels and of a part of one.
TEST_P(GemmNBits, ZeroPointsInTheMiddleAreFound) {
  for (const size_t n : {size_t(1), size_t(16), size_t(85)}) {
    Operands o({.bits = 4, .n = n, .k = 32 * 70, .zeros = NBitZeros::codes}, 1);
    const auto parameters = [&o](const NBitRun& run) { o.parameters(run); };
    const auto middle = [&] { return nbits_zeros_are_middle(o.form, {o.codes.data(), parameters}, Parallel()); };
    EXPECT_FALSE(middle());
    std::fill(o.zeros.begin(), o.zeros.end(), 8.0f);
    EXPECT_TRUE(middle());
    for (const size_t at : {size_t(0), o.zeros.size() / 2, o.zeros.size() - 1}) {
      o.zeros[at] = 7;
      EXPECT_FALSE(middle()) << at;
      o.zeros[at] = 8;
    }
  }
}

TEST_P(GemmNBits, NotFiniteNumbersStayInTheirRows) {
  for (const float x : {kNaN, std::numeric_limits<float>::infinity()}) {
    Operands o({.n = 20, .k = 64}, 3);
    o.a[o.form.k + 5] = x;
    const std::vector<float> c = multiply(o, NBitInput::rounded, false);
    for (size_t i = 0; i < c.size(); ++i) EXPECT_EQ(std::isnan(c[i]), i / o.form.n == 1) << i;
    const std::vector<float> exact = multiply(o, NBitInput::exact, false);
    for (size_t i = 0; i < c.size(); ++i) EXPECT_EQ(std::isfinite(exact[i]), i / o.form.n != 1) << i;
    Operands many({.n = 20, .k = 64}, 40);
    many.a[17 * many.form.k + 5] = x;
    const std::vector<float> rows = multiply(many, NBitInput::bf16, false);
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(std::isfinite(rows[i]), i / many.form.n != 17) << i;
  }
}

TEST_P(GemmNBits, RowsOfZerosGiveTheBias) {
  Operands o({.n = 20, .k = 64}, 2, true);
  std::fill(o.a.begin(), o.a.end(), 0.0f);
  const std::vector<float> c = multiply(o, NBitInput::rounded, false);
  for (size_t i = 0; i < c.size(); ++i) EXPECT_EQ(c[i], o.bias[i % o.form.n]);
}

TEST_P(GemmNBits, FindsParametersThatFitHalves) {
  const bool converts = current_isa() != Isa::v2;
  const auto fit = [this](const Operands& o) {
    const auto parameters = [&o](const NBitRun& run) { o.parameters(run); };
    return nbits_fit_halves(o.form, {o.codes.data(), parameters}, three_threads());
  };
  for (const NBitZeros zeros : {NBitZeros::middle, NBitZeros::codes, NBitZeros::numbers}) {
    Operands o({.n = 50, .k = 96, .zeros = zeros, .halves = true}, 1);
    EXPECT_EQ(fit(o), converts);
    o.scales.back() = 0.1f;  // no float16
    EXPECT_FALSE(fit(o));
  }
  Operands o({.n = 50, .k = 96, .zeros = NBitZeros::numbers, .halves = true}, 1);
  o.zeros.front() = 7.001f;
  EXPECT_FALSE(fit(o));
  o.zeros.front() = kNaN;
  EXPECT_FALSE(fit(o));
}

INSTANTIATE_TEST_SUITE_P(Isa, GemmNBits, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
