// Tests the sums and floats of convolutions of codes against plain loops, bit for bit, at every instruction level and
// unit.
#include "base/thread_pool.h"
#include "kernels/conv/conv_codes_testing.h"

namespace retort::kernels {
namespace {

using testing::CodesCase;
using testing::Geometry;

void expect_equal_numbers(const Geometry& g, int32_t filter_zero = 0) {
  using Kind = Activation::Kind;
  for (const auto results : {CodesCase::Results::sums, CodesCase::Results::floats}) {
    for (const Activation& activation :
         {Activation{}, Activation{Kind::relu, 0, 0}, Activation{Kind::leaky_relu, 0.5f, 0}}) {
      if (results == CodesCase::Results::sums && activation.kind != Kind::none) continue;
      const bool odd = activation.kind == Kind::relu;
      CodesCase c(g.shape(), odd, false, g.planes || odd ? 0 : 3);
      c.results = results;
      c.activation = activation;
      c.adds = odd;
      c.s.filter_zero = filter_zero;
      if (c.s.out_c > 4) c.scale[1] = 0.5f;  // the bits of a NaN are not defined
      const std::vector<uint8_t> want = c.plain();
      for (const CodesUnit unit : {CodesUnit::tiles, CodesUnit::quads, CodesUnit::pairs}) {
        limit_codes_unit(unit);
        ASSERT_EQ(want, c.kernel()) << g.in_c << " to " << g.out_c << " channels, kernel " << g.kernel_h << "x"
                                    << g.kernel_w << ", results " << int(results) << ", activation "
                                    << int(activation.kind);
      }
      limit_codes_unit(CodesUnit::tiles);
    }
  }
}

class ConvCodesNumbers : public testing::PerIsa {};
INSTANTIATE_TEST_SUITE_P(Levels, ConvCodesNumbers, testing::all_isas(), testing::isa_label);

TEST_P(ConvCodesNumbers, SumsAndFloatsEqualPlainLoops) {
  for (const size_t in_c : {1, 3, 8, 67}) {
    for (const size_t out_c : {1, 9, 16, 31, 70}) {
      expect_equal_numbers({in_c, out_c, 1, 1, 1, 1, 1, 0});
      expect_equal_numbers({in_c, out_c, 1, 3, 3, 2, 1, 1}, 5);
    }
    expect_equal_numbers({in_c, 35, 1, 3, 3, 1, 1, 1, 11, 31});
    expect_equal_numbers({in_c, 20, 1, 1, 4, 1, 3, 5, 3, 40});
  }
  for (const size_t channels : {1, 15, 16, 33, 64, 150}) {
    for (const size_t stride : {1, 2}) expect_equal_numbers({channels, channels, channels, 3, 3, stride, 1, 1}, -7);
    expect_equal_numbers({channels, channels, channels, 5, 4, 1, 2, 3});
  }
  for (const size_t out_c : {16, 40})
    expect_equal_numbers({64, out_c, 1, 3, 3, 1, 1, 1, 15, 13, 1});  // Winograd's method
  Geometry planes{3, 40, 1, 3, 3, 2, 1, 1, 12, 37};
  planes.planes = true;
  expect_equal_numbers(planes);
  planes = {3, 16, 1, 3, 3, 1, 1, 0, 8, 7, 1};
  planes.planes = true;
  for (const int32_t zero : {0, -128}) expect_equal_numbers(planes, zero);
  expect_equal_numbers({130, 300, 1, 1, 1, 1, 1, 0, 14, 14, 1});
}

TEST_P(ConvCodesNumbers, SumsDoNotDependOnThreads) {
  ThreadPool pool({.threads = 3});
  for (const size_t groups : {1, 48}) {
    CodesCase c(Geometry{48, 48, groups, 3, 3, 1, 1, 1, 30, 31, 2}.shape(), false, false, 0);
    c.results = CodesCase::Results::floats;
    c.scale[1] = 0.5f;
    EXPECT_EQ(c.plain(), c.kernel(Parallel(&pool, nullptr)));
  }
}

}  // namespace
}  // namespace retort::kernels
