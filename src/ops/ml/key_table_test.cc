#include "ops/ml/common/key_table.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <vector>

#include "ops/ml/ml_testing.h"

namespace retort::ops {
namespace {

// Every key is found and no neighbour of one is, after each growth of the table.
void expect_found(const std::vector<uint64_t>& keys, const std::vector<uint64_t>& others) {
  KeyTable table;
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(table.find(keys[i]), KeyTable::kNone) << keys[i];
    EXPECT_EQ(table.add(keys[i], uint32_t(i)), i);
    EXPECT_EQ(table.size(), i + 1);
  }
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(table.find(keys[i]), i);
  for (const uint64_t other : others) EXPECT_EQ(table.find(other), KeyTable::kNone) << other;
}

TEST(KeyTable, FindsNumbers) {
  std::vector<uint64_t> near, apart, floats;
  for (int64_t i = -500; i < 500; ++i) {
    near.push_back(uint64_t(i));
    apart.push_back(uint64_t(i) << 40);
    floats.push_back(std::bit_cast<uint64_t>(double(i) + 0.5));
  }
  expect_found(near, {500, uint64_t(-501), uint64_t(1) << 32, UINT64_MAX >> 1});
  expect_found(apart, {1, 500, uint64_t(501) << 40});
  expect_found(floats, {0, 1, std::bit_cast<uint64_t>(1.0)});
  expect_found({0, UINT64_MAX}, {1});
  expect_found({}, {0, UINT64_MAX});
}

TEST(KeyTable, FindsStringsOfAllLengths) {
  KeyTable table;
  std::vector<std::string> keys;
  // Of one letter, and with the last, the first or a middle letter changed; with zero bytes too.
  for (size_t n = 0; n < 40; ++n) {
    keys.push_back(std::string(n, 'a'));
    keys.push_back(std::string(n, 0) + "b");
    keys.push_back("c" + std::string(n, 'a'));
    keys.push_back(std::string(n, 'a') + "d" + std::string(n, 'a'));
  }
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(table.add(std::string_view(keys[i]), uint32_t(i)), i) << keys[i];
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(table.find(std::string_view(keys[i])), i) << keys[i];
    EXPECT_EQ(table.find(std::string_view(keys[i] + "x")), KeyTable::kNone) << keys[i];
  }
}

TEST(KeyTable, KeepsTheValueOfAKeyUntilItIsChanged) {
  KeyTable table;
  EXPECT_EQ(table.add(uint64_t(7), 1), 1u);
  EXPECT_EQ(table.add(uint64_t(7), 2), 1u);
  table.add(uint64_t(7), 3) = 3;
  EXPECT_EQ(table.find(uint64_t(7)), 3u);
  EXPECT_EQ(table.size(), 1u);
}

// LabelEncoder with more keys than its table has at first, and more elements than one task has, for all types.
TEST(KeyTable, EncodesManyLabels) {
  constexpr int64_t kKeys = 700, kElements = 1031;
  Ints keys, x, expected;
  Strings text, text_x;
  Floats real, real_x;
  for (int64_t i = 0; i < kKeys; ++i) keys.push_back(i * 3 - 40);
  for (int64_t i = 0; i < kElements; ++i) {
    x.push_back(i * 2 - 50);
    const bool known = (x[size_t(i)] + 40) % 3 == 0 && x[size_t(i)] >= -40 && (x[size_t(i)] + 40) / 3 < kKeys;
    expected.push_back(known ? (x[size_t(i)] + 40) / 3 : -9);
  }
  for (const int64_t k : keys) text.push_back("key " + std::to_string(k)), real.push_back(float(k) / 4);
  for (const int64_t v : x) text_x.push_back("key " + std::to_string(v)), real_x.push_back(float(v) / 4);
  Ints values(kKeys);
  for (size_t i = 0; i < values.size(); ++i) values[i] = int64_t(i);
  const auto encoded = [&](const char* name, const Attribute& list, const Tensor& input) {
    const Attributes attributes{{name, list}, {"values_int64s", values}, {"default_int64", int64_t(-9)}};
    const Tensor y = OpRun("ai.onnx.ml", "LabelEncoder", attributes, {input}, 1).run()[0];
    return Ints(y.data<int64_t>(), y.data<int64_t>() + y.count());
  };
  EXPECT_EQ(encoded("keys_int64s", keys, Tensor::of<int64_t>({kElements}, x)), expected);
  EXPECT_EQ(encoded("keys_strings", text, Tensor::of<std::string>({kElements}, text_x)), expected);
  EXPECT_EQ(encoded("keys_floats", real, Tensor::of<float>({kElements}, real_x)), expected);
}

}  // namespace
}  // namespace retort::ops
