// Tests convolutions of channels-last codes against plain loops, bit for bit, at every instruction level and unit.
#include "base/error.h"
#include "kernels/conv/conv_codes_testing.h"

namespace retort::kernels {
namespace {

using testing::CodesCase;
using testing::Geometry;

void expect_equal(const Geometry& g, bool adds = false, int32_t filter_zero = 0) {
  for (const int signs : {0, 1, 2, 3}) {
    CodesCase c(g.shape(), signs & 1, signs & 2, g.planes ? 0 : size_t(signs % 3));
    c.adds = adds;
    c.s.filter_zero = filter_zero;
    ASSERT_TRUE(suits_conv_codes(c.s));
    const std::vector<uint8_t> want = c.plain();
    for (const CodesUnit unit : {CodesUnit::tiles, CodesUnit::quads, CodesUnit::pairs}) {
      limit_codes_unit(unit);
      EXPECT_EQ(want, c.kernel()) << cat(
          "{} to {} channels, groups {}, kernel {}x{} stride {} dilation {} pad {} signs {}", g.in_c, g.out_c, g.groups,
          g.kernel_h, g.kernel_w, g.stride, g.dilation, g.pad, signs);
    }
    limit_codes_unit(CodesUnit::tiles);
    if (filter_zero != 0) continue;
    c.s.sums = CodesSums::saturating;
    EXPECT_EQ(c.plain(), c.kernel()) << cat("{} to {} channels, groups {}, kernel {}x{} stride {} signs {}, saturating",
                                            g.in_c, g.out_c, g.groups, g.kernel_h, g.kernel_w, g.stride, signs);
  }
}

class ConvCodes : public testing::PerIsa {};
INSTANTIATE_TEST_SUITE_P(Levels, ConvCodes, testing::all_isas(), testing::isa_label);

TEST_P(ConvCodes, Pointwise) {
  for (const size_t in_c : {1, 3, 4, 8, 20, 67}) {
    for (const size_t out_c : {1, 7, 16, 32, 33, 70}) expect_equal({in_c, out_c, 1, 1, 1, 1, 1, 0});
  }
  expect_equal({16, 40, 1, 1, 1, 2, 1, 0});
  expect_equal({16, 40, 1, 1, 1, 1, 1, 1});
}

TEST_P(ConvCodes, AnyNumberOfPixels) {
  for (size_t width = 1; width <= 27; ++width)
    expect_equal({.in_c = 8,
                  .out_c = 34,
                  .groups = 1,
                  .kernel_h = 1,
                  .kernel_w = 1,
                  .stride = 1,
                  .dilation = 1,
                  .pad = 0,
                  .in_h = 1,
                  .in_w = width,
                  .batch = 1});
}

// Of rows that are pixels, parts of lines, joined or copied patches, or planes; a task may have parts of the channels.
TEST_P(ConvCodes, ZeroPointsOfFilters) {
  for (const int32_t zero : {-128, 13}) {
    for (const size_t in_c : {1, 3, 8, 67}) {
      expect_equal({in_c, 35, 1, 1, 1, 1, 1, 0}, in_c == 8, zero);
      expect_equal({in_c, 70, 1, 1, 1, 2, 1, 1}, false, zero);
      expect_equal({in_c, 35, 1, 3, 3, 1, 1, 1}, in_c == 3, zero);
      expect_equal({in_c, 9, 1, 3, 3, 2, 2, 2}, false, zero);
      expect_equal({in_c, 35, 1, 3, 3, 2, 1, 1, 11, 31}, in_c == 67, zero);
      expect_equal({in_c, 9, 1, 1, 4, 1, 3, 5, 3, 40}, false, zero);
    }
    Geometry planes{3, 40, 1, 3, 3, 2, 1, 1, 12, 37};
    planes.planes = true;
    expect_equal(planes, false, zero);
    expect_equal({130, 300, 1, 1, 1, 1, 1, 0, 14, 14, 1}, false, zero);
  }
  for (const int32_t zero : {-127, 127}) {
    for (const size_t channels : {1, 16, 33, 150}) {
      for (const size_t stride : {1, 2}) expect_equal({channels, channels, channels, 3, 3, stride, 1, 1}, false, zero);
      expect_equal({channels, channels, channels, 5, 4, 1, 2, 3}, false, zero);
      expect_equal({channels, channels, channels, 4, 1, 1, 1, 2}, false, zero);
    }
  }
}

// With one or two pixels, the excess of pairs is computed for each row apart: rows that are pixels, patches, or parts of
// the lines of an image.
TEST_P(ConvCodes, FewPixels) {
  for (const size_t width : {1, 2, 3}) {
    expect_equal({68, 300, 1, 1, 1, 1, 1, 0, 1, width, 1});
    expect_equal({68, 300, 1, 1, 1, 1, 1, 0, 1, width, 1}, true);
    Geometry g{3, 70, 1, 3, 3, 1, 1, 0, 3, width + 2, 1};
    expect_equal(g);
    g.planes = true;
    expect_equal(g);
  }
}

TEST_P(ConvCodes, Windows) {
  for (const size_t in_c : {1, 2, 3, 5, 16, 20}) {
    for (const size_t stride : {1, 2, 3}) expect_equal({in_c, 35, 1, 3, 3, stride, 1, 1});
    expect_equal({in_c, 9, 1, 3, 3, 1, 2, 2});
    expect_equal({in_c, 9, 1, 1, 5, 1, 1, 2});
    expect_equal({in_c, 9, 1, 5, 1, 2, 1, 4});
  }
  expect_equal({64, 129, 1, 7, 7, 2, 1, 3});
  expect_equal({300, 12, 1, 2, 2, 1, 1, 0});
  for (const size_t in_c : {1027, 1028, 2052}) expect_equal({in_c, 17, 1, 2, 2, 1, 1, 0, 3, 3, 1});
}

TEST_P(ConvCodes, Strips) {
  for (const size_t in_c : {1, 3, 6, 16}) {
    for (const size_t stride : {1, 2}) {
      expect_equal({in_c, 35, 1, 3, 3, stride, 1, 1, 11, 31});
      expect_equal({in_c, 9, 1, 5, 1, stride, 2, 3, 9, 29});
      expect_equal({in_c, 9, 1, 1, 4, stride, 1, 5, 3, 40});
      expect_equal({in_c, 9, 1, 1, 4, stride, 3, 5, 3, 40});
    }
  }
  expect_equal({32, 300, 1, 3, 3, 1, 1, 1, 5, 33, 1});
  expect_equal({32, 36, 1, 3, 3, 1, 1, 1, 40, 33, 1});
}

// A task computes a part of a line if an image has a single one: with the first and the last pixels padded, and taps that
// lie apart.
TEST_P(ConvCodes, LongLines) {
  const auto line = [](size_t in_c, size_t kernel, size_t stride, size_t dilation, size_t pad, size_t width) {
    ConvShape s = Geometry{in_c, 9, 1, 1, kernel, stride, dilation, 0, 1, width}.shape();
    s.pad_left = pad;
    s.out_w += 2 * pad / stride;
    return s;
  };
  for (const size_t in_c : {1, 3, 8, 34}) {
    for (const size_t dilation : {1, 5}) {
      for (const size_t stride : {1, 3}) {
        for (const size_t pad : {0, 7, 150}) {
          CodesCase c(line(in_c, 5, stride, dilation, pad, 1531), in_c % 2, false, in_c % 4);
          for (const bool adds : {false, true}) {
            c.adds = adds;
            EXPECT_EQ(c.plain(), c.kernel()) << in_c << " channels, stride " << stride << ", dilation " << dilation;
            EXPECT_EQ(c.plain(), c.kernel(three_threads()));
          }
          c.s.sums = CodesSums::saturating;
          EXPECT_EQ(c.plain(), c.kernel()) << in_c << " channels, saturating";
        }
      }
    }
  }
}

TEST_P(ConvCodes, Planes) {
  for (const size_t in_c : {1, 2, 3, 4}) {
    Geometry g{in_c, 24, 1, 7, 7, 2, 1, 3, 21, 33};
    g.planes = true;
    expect_equal(g);
  }
}

// The other image is the output.
TEST_P(ConvCodes, Sums) {
  for (const size_t out_c : {1, 16, 70}) {
    expect_equal({20, out_c, 1, 1, 1, 1, 1, 0}, true);
    expect_equal({20, out_c, 1, 1, 1, 2, 1, 0}, true);
    expect_equal({5, out_c, 1, 3, 3, 1, 1, 1, 11, 31}, true);
  }
  expect_equal({128, 300, 1, 1, 1, 1, 1, 0, 14, 20, 1}, true);
  Geometry g{3, 24, 1, 7, 7, 2, 1, 3, 21, 33};
  g.planes = true;
  expect_equal(g, true);
}

TEST_P(ConvCodes, Depthwise) {
  for (const size_t channels : {2, 3, 16, 24, 33, 48, 64, 70, 100, 130}) {
    for (const size_t stride : {1, 2, 3}) expect_equal({channels, channels, channels, 3, 3, stride, 1, 1});
  }
  for (const size_t size : {1, 2, 4, 5, 7}) expect_equal({24, 24, 24, size, size, 1, 1, size / 2});
  expect_equal({40, 40, 40, 3, 3, 1, 2, 2});
  expect_equal({40, 40, 40, 3, 1, 2, 1, 3});
  for (const size_t width : {65, 130, 133}) expect_equal({24, 24, 24, 3, 3, width % 2 + 1, 1, 1, 5, width});
  for (size_t width = 1; width <= 11; ++width)
    expect_equal({.in_c = 8,
                  .out_c = 8,
                  .groups = 8,
                  .kernel_h = 3,
                  .kernel_w = 3,
                  .stride = 1,
                  .dilation = 1,
                  .pad = 1,
                  .in_h = 2,
                  .in_w = width,
                  .batch = 1});
}

// Results without offsets have forms of their own, and so have panels with few columns and depthwise windows of 3x3.
TEST_P(ConvCodes, PlainResults) {
  const auto expect_plain_equal = [](const Geometry& g) {
    for (const int signs : {0, 1, 2, 3}) {
      for (const bool natural : {false, true}) {
        CodesCase c(g.shape(), signs & 1, signs & 2, size_t(signs));
        c.make_plain(natural);
        for (const CodesUnit unit : {CodesUnit::tiles, CodesUnit::quads, CodesUnit::pairs}) {
          limit_codes_unit(unit);
          EXPECT_EQ(c.plain(), c.kernel())
              << cat("{} to {} channels, kernel {}x{} stride {} size {}x{}, natural {}", g.in_c, g.out_c, g.kernel_h,
                     g.kernel_w, g.stride, g.in_h, g.in_w, natural);
        }
        limit_codes_unit(CodesUnit::tiles);
      }
    }
  };
  for (const size_t out_c : {1, 3, 4, 7, 8, 15, 16, 24, 33, 44, 48, 70})
    expect_plain_equal({12, out_c, 1, 1, 1, 1, 1, 0});
  for (const size_t width : {1, 7, 8, 9, 11, 12, 13, 25}) expect_plain_equal({20, 10, 1, 1, 1, 1, 1, 0, 1, width, 1});
  expect_plain_equal({5, 16, 1, 3, 3, 2, 1, 1, 23, 35});
  for (const size_t c : {1, 15, 16, 31, 32, 40, 64, 65, 80, 112, 130}) {
    for (const size_t stride : {1, 2}) expect_plain_equal({c, c, c, 3, 3, stride, 1, 1});
  }
  for (const size_t width : {1, 2, 3, 4, 5, 8}) {
    for (const size_t stride : {1, 2}) {
      for (const size_t pad : {1, 2}) expect_plain_equal({33, 33, 33, 3, 3, stride, 1, pad, width % 3 + 1, width});
    }
  }
  for (const size_t c : {16, 40, 70}) expect_plain_equal({c, c, c, 5, 5, 1, 1, 2});
}

TEST_P(ConvCodes, SameForAnyNumberOfThreads) {
  for (const Geometry& g : {Geometry{32, 96, 1, 3, 3, 1, 1, 1, 40, 37}, Geometry{64, 256, 1, 1, 1, 1, 1, 0, 40, 37},
                            Geometry{96, 96, 96, 3, 3, 1, 1, 1, 60, 57}}) {
    const CodesCase c(g.shape(), false, false, 0);
    const std::vector<uint8_t> want = c.plain();
    EXPECT_EQ(want, c.kernel(one_thread()));
    EXPECT_EQ(want, c.kernel(three_threads()));
  }
}

// Kernels of 3x3 with stride 1 are computed by Winograd's method, but with AMX: tiles that end inside and beyond the
// image, several blocks and groups, channels that fill no panel and no vector, another image that is added.
TEST_P(ConvCodes, TilesOfImages) {
  for (const size_t in_c : {32, 36, 48, 100}) {
    for (const size_t pad : {0, 1, 2}) expect_equal({in_c, 19, 1, 3, 3, 1, 1, pad, 16 - pad, 17}, pad == 1);
  }
  for (const bool adds : {false, true}) {
    expect_equal({64, 130, 1, 3, 3, 1, 1, 1, 8, 8, 3}, adds);
    expect_equal({32, 48, 1, 3, 3, 1, 1, 1, 61, 29, 2}, adds);
    expect_equal({272, 17, 1, 3, 3, 1, 1, 1, 15, 28, 1}, adds);
  }
}

// The largest sums of Winograd's method: all weights and pixels are as large as possible. With more channels, sums would
// not fit, so that it is not used.
TEST_P(ConvCodes, LargestSumsOfTiles) {
  for (const size_t in_c : {112, 128}) {
    for (const int weight : {-128, 127}) {
      CodesCase c(Geometry{in_c, 16, 1, 3, 3, 1, 1, 1, 16, 16, 1}.shape(), false, false, 0);
      std::ranges::fill(c.image, uint8_t(255));
      std::ranges::fill(c.filters, int8_t(weight));
      std::ranges::fill(c.offset, 0.0f);
      for (size_t o = 0; o < 16; ++o) c.scale[o] = float(weight > 0 ? 1 : -1) * float(o + 1) * 3e-7f;
      c.zero = 0;
      c.out_zero = 0;
      EXPECT_EQ(c.plain(), c.kernel()) << in_c << " channels, weights " << weight;
    }
  }
}

/// Three taps of three channels: the pairs of k are (0, 1), (2, 3), …, the last one has a single product.
TEST_P(ConvCodes, PairsSaturate) {
  CodesCase c(Geometry{3, 1, 1, 1, 3, 1, 1, 0, 1, 3, 1}.shape(), false, false, 0);
  c.image = {255, 255, 255, 255, 200, 200, 1, 2, 255};
  c.filters = {127, 127, 127, 127, 127, -128, -128, -128, 127};  // [channel][tap]
  c.bias = {0};
  c.scale = {1.0f / 1024};
  c.offset = {0};
  c.out_zero = 0;
  c.zero = 0;
  // By [tap][channel]: 127, 127, -128, 127, 127, -128, 127, -128, 127.
  const int32_t exact = 255 * (127 + 127 - 128 + 127) + 200 * (127 - 128) + 127 - 256 + 255 * 127;
  EXPECT_EQ(std::vector<uint8_t>{uint8_t(std::nearbyint(float(exact) / 1024))}, c.kernel());
  c.s.sums = CodesSums::saturating;
  const int32_t saturating = 32767 + 255 * (-128 + 127) + 200 * (127 - 128) + 127 - 256 + 255 * 127;
  EXPECT_EQ(std::vector<uint8_t>{uint8_t(std::nearbyint(float(saturating) / 1024))}, c.kernel());
}

TEST(ConvCodesShapes, GroupsOfSeveralChannelsAreNotSupported) {
  ConvShape s = Geometry{8, 8, 2, 3, 3, 1, 1, 1}.shape();
  EXPECT_FALSE(suits_conv_codes(s));
  s.groups = 8;
  s.out_c = 16;
  EXPECT_FALSE(suits_conv_codes(s));
}

}  // namespace
}  // namespace retort::kernels
