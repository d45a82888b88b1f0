#include "kernels/recurrent/cell.h"

#include <cmath>
#include <limits>

#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels {
namespace {

class RecurrentCell : public testing::PerIsa {};

constexpr size_t kSizes[] = {1, 3, 15, 16, 35, 40, 64, 129};
constexpr float kAfter = 77;  // a mark behind the last element

void expect_near(const std::vector<float>& got, const std::vector<float>& want) {
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 2e-6) << "element " << i;
}

TEST_P(RecurrentCell, LstmIsTheReference) {
  for (const size_t n : kSizes) {
    testing::Random random(n);
    const auto gates = random.floats(4 * n, -8, 8);
    auto c = random.floats(n, -2, 2), expected_c = c;
    c.push_back(kAfter);
    expected_c.push_back(kAfter);
    std::vector<float> h(n + 1, kAfter), expected_h = h;
    lstm_cell({n, gates.data(), c.data(), h.data()});
    lstm_cell_reference({n, gates.data(), expected_c.data(), expected_h.data()});
    expect_near(c, expected_c);
    expect_near(h, expected_h);
  }
}

TEST_P(RecurrentCell, SomeUnitsOfALayerHaveTheBitsOfAll) {
  constexpr size_t kUnits = 70, kFirst = 16, kSome = 33;
  testing::Random random(1);
  const auto gates = random.floats(4 * kUnits, -8, 8);
  auto all_c = random.floats(kUnits, -2, 2), c = all_c;
  std::vector<float> all_h(kUnits), h(kUnits, kAfter);
  const auto before = c;
  lstm_cell({kUnits, gates.data(), all_c.data(), all_h.data()});
  lstm_cell({kSome, gates.data() + kFirst, c.data() + kFirst, h.data() + kFirst, kUnits});
  for (size_t i = 0; i < kUnits; ++i) {
    const bool among = i >= kFirst && i < kFirst + kSome;
    EXPECT_EQ(c[i], among ? all_c[i] : before[i]) << i;
    EXPECT_EQ(h[i], among ? all_h[i] : kAfter) << i;
  }
}

TEST_P(RecurrentCell, SomeUnitsOfAGruHaveTheBitsOfAll) {
  constexpr size_t kUnits = 70, kFirst = 16, kSome = 33;
  testing::Random random(2);
  const auto x = random.floats(3 * kUnits, -4, 4), gates = random.floats(3 * kUnits, -4, 4);
  const auto before = random.floats(kUnits, -1, 1);
  auto all = before, some = before;
  gru_cell({kUnits, x.data(), gates.data(), all.data()});
  gru_cell({kSome, x.data() + kFirst, gates.data() + kFirst, some.data() + kFirst, kUnits});
  for (size_t i = 0; i < kUnits; ++i) {
    const bool among = i >= kFirst && i < kFirst + kSome;
    EXPECT_EQ(some[i], among ? all[i] : before[i]) << i;
  }
}

TEST_P(RecurrentCell, GruIsTheReference) {
  for (const size_t n : kSizes) {
    testing::Random random(n);
    const auto x = random.floats(3 * n, -4, 4), gates = random.floats(3 * n, -4, 4);
    auto h = random.floats(n, -1, 1);
    h.push_back(kAfter);
    auto expected = h;
    gru_cell({n, x.data(), gates.data(), h.data()});
    gru_cell_reference({n, x.data(), gates.data(), expected.data()});
    expect_near(h, expected);
  }
}

TEST_P(RecurrentCell, KeepsNanAndLimits) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // Elements: a NaN in the input gate, all gates open, all gates closed.
  const std::vector<float> gates{nan, inf, -inf, 0, inf, -inf, 0, inf, -inf, 0, inf, -inf};
  std::vector<float> c{1, 1, 1}, h(3);
  lstm_cell({3, gates.data(), c.data(), h.data()});
  EXPECT_TRUE(std::isnan(c[0]) && std::isnan(h[0]));
  EXPECT_NEAR(c[1], 2, 1e-6);
  EXPECT_NEAR(h[1], std::tanh(2.0), 1e-6);
  EXPECT_EQ(c[2], 0);
  EXPECT_EQ(h[2], 0);
}

INSTANTIATE_TEST_SUITE_P(Levels, RecurrentCell, testing::all_isas(), testing::isa_label);

}  // namespace
}  // namespace retort::kernels
