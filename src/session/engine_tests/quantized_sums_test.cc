// session.quantized_sums: pairs of products that stop at the limits of 16 bits, as in ONNX Runtime on processors with
// AVX2 and without VNNI. What is expected here comes from plain loops over the rule, which is:
//
//   Σ over pairs (2i, 2i + 1) of k: clamp16(u[2i] · s[2i] + u[2i+1] · s[2i+1]), u unsigned codes, s signed ones
//
// where k of a convolution is [tap][channel] and pixels outside the image have their zero point. Zero points follow
// exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "session/session_testing.h"

namespace retort {
namespace {

/// Codes whose pairs often saturate.
template <typename T>
Tensor codes(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  Tensor t(sizeof(T) == 1 && std::is_signed_v<T> ? DType::i8 : DType::u8, std::move(shape));
  for (size_t i = 0; i < t.count(); ++i)
    t.mutable_data<T>()[i] = T(random() % 3 == 0 ? (random() % 2 ? 127 : -128) : random());
  return t;
}
Tensor scalar(DType type, int code) {
  Tensor t(type, {});
  *t.mutable_data<uint8_t>() = uint8_t(code);
  return t;
}

/// Elements of k, unsigned and signed.
struct Pairs {
  std::vector<int32_t> u, s;
  int32_t sum(bool saturates, int32_t u_zero, int32_t s_zero) const {
    int32_t sum = 0;
    for (size_t i = 0; i < u.size(); i += 2) {
      int32_t pair = u[i] * s[i] + (i + 1 < u.size() ? u[i + 1] * s[i + 1] : 0);
      if (saturates) pair = std::clamp(pair, INT16_MIN, INT16_MAX);
      sum += pair;
    }
    for (size_t i = 0; i < u.size(); ++i) sum += u_zero * s_zero - u[i] * s_zero - u_zero * s[i];
    return sum;
  }
};

SessionOptions options_of(bool saturates) {
  SessionOptions options;
  options.threads.intra_threads = 2;
  options.config["session.quantized_sums"] = saturates ? "saturating" : "exact";
  return options;
}

constexpr int64_t kM = 5, kK = 37, kN = 19;
constexpr int kAZero = 130, kBZero = -3;

std::unique_ptr<Session> product(const Tensor& b, const SessionOptions& options) {
  TestGraph t;
  const ValueId a = t.input("a", {kM, kK}, DType::u8);
  t.output(t.add("MatMulInteger", {a, t.g.add_constant("b", b), t.g.add_constant("az", scalar(DType::u8, kAZero)),
                                   t.g.add_constant("bz", scalar(b.dtype(), kBZero))}),
           "y");
  return make_session(*t.g.clone(), options);
}

std::vector<int32_t> wanted(const Tensor& a, const Tensor& b, bool saturates) {
  std::vector<int32_t> y;
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      Pairs p;
      for (int64_t l = 0; l < kK; ++l) {
        p.u.push_back(a.data<uint8_t>()[i * kK + l]);
        p.s.push_back(b.data<int8_t>()[l * kN + j]);
      }
      y.push_back(p.sum(saturates, kAZero, kBZero));
    }
  }
  return y;
}

std::vector<int32_t> integers(const Value& v) {
  return {v.tensor()->data<int32_t>(), v.tensor()->data<int32_t>() + v.tensor()->count()};
}

TEST(QuantizedSums, Products) {
  const Tensor a = codes<uint8_t>({kM, kK}, 1), b = codes<int8_t>({kK, kN}, 2);
  EXPECT_NE(wanted(a, b, true), wanted(a, b, false));
  for (const bool saturates : {false, true})
    EXPECT_EQ(wanted(a, b, saturates), integers(run(*product(b, options_of(saturates)), {a})[0])) << saturates;
}

TEST(QuantizedSums, UnsignedFactorsAreExact) {
  const Tensor a = codes<uint8_t>({kM, kK}, 1), b = codes<uint8_t>({kK, kN}, 2);
  EXPECT_EQ(integers(run(*product(b, options_of(false)), {a})[0]),
            integers(run(*product(b, options_of(true)), {a})[0]));
}

TEST(QuantizedSums, ThePrecisionKeyOfOnnxRuntimeAndUnpackedWeightsMeanExact) {
  const Tensor a = codes<uint8_t>({kM, kK}, 1), b = codes<int8_t>({kK, kN}, 2);
  for (const char* key : {"session.x64quantprecision", "session.disable_prepacking"}) {
    SessionOptions options = options_of(true);
    options.config[key] = "1";
    EXPECT_EQ(wanted(a, b, false), integers(run(*product(b, options), {a})[0])) << key;
  }
}

TEST(QuantizedSums, OtherValuesAreRefused) {
  SessionOptions options;
  options.config["session.quantized_sums"] = "fast";
  try {
    product(codes<int8_t>({kK, kN}, 2), options);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_CONTAINS(e.message(), "session.quantized_sums is 'fast'");
  }
}

/// 3x3 filters with padding 1, on an image of 6 x 6.
struct Filters {
  int64_t channels, outputs, group;
  int zero = 0;  ///< of the filters
  bool saturates = true;
};
constexpr int64_t kImageSize = 6;
constexpr int kImageZero = 200, kResultZero = 100;
constexpr float kScale = 1.0f / 1024;  // a power of two, so that scaled sums are exact

class QuantizedConvolutions : public ::testing::TestWithParam<Filters> {};

std::vector<uint8_t> convolved(const Filters& f, const Tensor& x, const Tensor& w, bool saturates) {
  std::vector<uint8_t> y;
  const int64_t depth = f.channels / f.group;
  for (int64_t o = 0; o < f.outputs; ++o) {
    for (int64_t p = 0; p < kImageSize * kImageSize; ++p) {
      Pairs pairs;
      for (int64_t tap = 0; tap < 9; ++tap) {
        const int64_t row = p / kImageSize + tap / 3 - 1, column = p % kImageSize + tap % 3 - 1;
        const bool outside = row < 0 || row >= kImageSize || column < 0 || column >= kImageSize;
        for (int64_t c = 0; c < depth; ++c) {
          const int64_t channel = o / (f.outputs / f.group) * depth + c;
          pairs.u.push_back(outside ? kImageZero
                                    : x.data<uint8_t>()[(channel * kImageSize + row) * kImageSize + column]);
          pairs.s.push_back(w.data<int8_t>()[(o * depth + c) * 9 + tap]);
        }
      }
      const float scaled = std::nearbyint(float(pairs.sum(saturates, kImageZero, f.zero)) * kScale);
      y.push_back(uint8_t(std::clamp(scaled + kResultZero, 0.0f, 255.0f)));
    }
  }
  return y;
}

TEST_P(QuantizedConvolutions, FollowTheRule) {
  const Filters& f = GetParam();
  const Tensor x = codes<uint8_t>({1, f.channels, kImageSize, kImageSize}, 3);
  const Tensor w = codes<int8_t>({f.outputs, f.channels / f.group, 3, 3}, 4);
  TestGraph t;
  const auto constant = [&](const char* name, const Tensor& value) { return t.g.add_constant(name, value); };
  const ValueId in = t.input("x", x.shape(), DType::u8), one = t.scalar(1);
  Attributes attributes;
  attributes.set("pads", std::vector<int64_t>{1, 1, 1, 1});
  attributes.set("group", f.group);
  t.output(t.add("QLinearConv",
                 {in, one, constant("xz", scalar(DType::u8, kImageZero)), constant("w", w), one,
                  constant("wz", scalar(DType::i8, f.zero)), t.scalar(1 / kScale),
                  constant("yz", scalar(DType::u8, kResultZero))},
                 std::move(attributes)),
           "y");
  for (const bool saturates : {false, true}) {
    const Value y = run(*make_session(*t.g.clone(), options_of(saturates)), {x})[0];
    const auto* got = y.tensor()->data<uint8_t>();
    EXPECT_EQ(convolved(f, x, w, saturates && f.saturates), std::vector<uint8_t>(got, got + y.tensor()->count()));
  }
}

INSTANTIATE_TEST_SUITE_P(Filters, QuantizedConvolutions,
                         ::testing::Values(Filters{16, 24, 1}, Filters{3, 40, 1}, Filters{5, 7, 1},
                                           Filters{4, 16, 1, 5}, Filters{3, 16, 1, -7}, Filters{16, 32, 4},
                                           Filters{12, 12, 4}, Filters{6, 12, 6}, Filters{24, 24, 24, 0, false},
                                           Filters{6, 6, 6, 9, false}));

}  // namespace
}  // namespace retort
