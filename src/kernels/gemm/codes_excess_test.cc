// Tests how weights are divided into pairs that cannot saturate and their excess. The kernels are tested with
// matrix products (gemm_codes_test.cc) and convolutions (conv_codes_test.cc).
#include "kernels/gemm/codes_excess.h"

#include <gtest/gtest.h>

#include "kernels/elementwise/kernel_testing.h"
#include "kernels/gemm/excess_search.h"

namespace retort::kernels::codes_detail {
namespace {

// For codes 0 and 255, the extremes of a sum of products.
TEST(CodesExcess, PairsWithoutItDoNotSaturate) {
  for (int32_t w0 = -128; w0 <= 127; ++w0) {
    for (int32_t w1 = -128; w1 <= 127; ++w1) {
      const PairExcess excess(w0, w1);
      const int32_t first = w0 - (excess.second ? 0 : excess.weight), second = w1 - (excess.second ? excess.weight : 0);
      ASSERT_LE(255 * (std::max(first, 0) + std::max(second, 0)), INT16_MAX) << w0 << " " << w1;
      ASSERT_GE(255 * (std::min(first, 0) + std::min(second, 0)), INT16_MIN) << w0 << " " << w1;
      ASSERT_TRUE(first >= -128 && second >= -128 && excess.weight >= -128 && excess.weight <= 127);
      const bool saturates = 255 * (w0 + w1) > INT16_MAX || 255 * (w0 + w1) < INT16_MIN;
      ASSERT_EQ(saturates, excess.weight != 0) << w0 << " " << w1;
    }
  }
}

TEST(CodesExcess, SearchesFindAllPairs) {
  kernels::testing::Random random(7);
  for (size_t n = 0; n <= 100; ++n) {
    for (const uint8_t flip : {0, 0x80}) {
      std::vector<uint8_t> rows[2] = {std::vector<uint8_t>(n), std::vector<uint8_t>(n)};
      std::vector<int8_t> pairs(2 * n);
      std::vector<size_t> wanted, found, found_in_rows;
      for (size_t i = 0; i < 2 * n; ++i) {
        pairs[i] = int8_t(random.integer(-128, 127));
        rows[i % 2][i / 2] = uint8_t(pairs[i]) ^ flip;
      }
      for (size_t i = 0; i < n; ++i) {
        if (PairExcess(pairs[2 * i], pairs[2 * i + 1]).weight != 0) wanted.push_back(i);
      }
      each_large_pair(pairs.data(), n, [&](size_t i) { found.push_back(i); });
      each_large_pair(rows[0].data(), rows[1].data(), flip, n, [&](size_t i) { found_in_rows.push_back(i); });
      EXPECT_EQ(wanted, found) << n;
      EXPECT_EQ(wanted, found_in_rows) << n;
    }
  }
}

TEST(CodesExcess, ChainsDoNotOverflow) {
  kernels::testing::Random random(5);
  for (int round = 0; round < 200; ++round) {
    ExcessSlots slots;
    std::vector<std::vector<int32_t>> chains;
    const auto most = int32_t(random.integer(1, 128)), count = int32_t(random.integer(0, 30));
    for (int32_t i = 0; i < count; ++i) {
      const auto weight = int32_t(random.integer(-most, std::min(most, 127)));
      if (weight == 0) continue;
      const size_t slot = slots.add(weight), chain = slot / kExcessChain;
      chains.resize(std::max(chains.size(), chain + 1));
      ASSERT_EQ(slot % kExcessChain, chains[chain].size());
      chains[chain].push_back(weight);
    }
    ASSERT_EQ(slots.chains(), chains.size());
    for (const auto& chain : chains) {
      int32_t positive = 0, negative = 0;
      for (const int32_t weight : chain) (weight > 0 ? positive : negative) += weight;
      EXPECT_LE(255 * positive, INT16_MAX);
      EXPECT_GE(255 * negative, INT16_MIN);
    }
  }
}

}  // namespace
}  // namespace retort::kernels::codes_detail
