#include "compare.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <protozero/pbf_writer.hpp>

namespace retort::conformance {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <typename T>
Value tensor(Elem elem, std::vector<int64_t> dims, const std::vector<T>& data) {
  Value v;
  v.elem = elem;
  v.dims = std::move(dims);
  v.bytes.resize(data.size() * sizeof(T));
  std::memcpy(v.bytes.data(), data.data(), v.bytes.size());
  return v;
}

Value floats(const std::vector<float>& data) { return tensor(Elem::f32, {static_cast<int64_t>(data.size())}, data); }

std::string reason(const Value& expected, const Value& actual, const Tolerance& t = {}) {
  const auto difference = compare(expected, actual, t);
  return difference ? difference->reason : "";
}

double narrow(Elem elem, uint16_t bits) { return number_at(tensor<uint16_t>(elem, {1}, {bits}), 0); }

TEST(NumberAt, KnowsTheCornersOfEveryNarrowFormat) {
  EXPECT_EQ(narrow(Elem::f16, 0x3C00), 1.0);
  EXPECT_EQ(narrow(Elem::f16, 0x0001), 0x1p-24);
  EXPECT_EQ(narrow(Elem::f16, 0xFBFF), -65504.0);
  EXPECT_EQ(narrow(Elem::f16, 0xFC00), -kInf);
  EXPECT_TRUE(std::isnan(narrow(Elem::f16, 0x7E00)));
  EXPECT_EQ(narrow(Elem::bf16, 0x4049), 3.140625);
  EXPECT_EQ(narrow(Elem::f8e4m3fn, 0x7E), 448.0);
  EXPECT_TRUE(std::isnan(narrow(Elem::f8e4m3fn, 0xFF)));
  EXPECT_EQ(narrow(Elem::f8e4m3fnuz, 0x7F), 240.0);
  EXPECT_TRUE(std::isnan(narrow(Elem::f8e4m3fnuz, 0x80)));
  EXPECT_EQ(narrow(Elem::f8e5m2, 0x7B), 57344.0);
  EXPECT_EQ(narrow(Elem::f8e5m2, 0xFC), -kInf);
  EXPECT_EQ(narrow(Elem::f8e5m2fnuz, 0x7F), 57344.0);
  EXPECT_EQ(narrow(Elem::f8e8m0, 0x80), 2.0);
  EXPECT_TRUE(std::isnan(narrow(Elem::f8e8m0, 0xFF)));
}

TEST(NumberAt, UnpacksSubByteTypesLowBitsFirst) {
  const auto nibbles = [](Elem e) { return tensor<uint8_t>(e, {2}, {0xF2}); };
  EXPECT_EQ(number_at(nibbles(Elem::u4), 0), 2);
  EXPECT_EQ(number_at(nibbles(Elem::u4), 1), 15);
  EXPECT_EQ(number_at(nibbles(Elem::i4), 1), -1);
  EXPECT_EQ(number_at(nibbles(Elem::f4e2m1), 0), 1.0);
  EXPECT_EQ(number_at(nibbles(Elem::f4e2m1), 1), -6.0);
  const Value pairs = tensor<uint8_t>(Elem::i2, {4}, {0b11'10'01'00});
  EXPECT_EQ(number_at(pairs, 1), 1);
  EXPECT_EQ(number_at(pairs, 2), -2);
  EXPECT_EQ(number_at(pairs, 3), -1);
}

TEST(Compare, FollowsTheRuleOfTheOnnxRunner) {
  const Tolerance t{Tolerance::Rule::close, 1e-3, 1e-7};
  EXPECT_EQ(reason(floats({1, 1000}), floats({1.0009f, 1000.9f}), t), "");
  EXPECT_EQ(reason(floats({1, 1000}), floats({1.0011f, 1000}), t), "value");
  EXPECT_EQ(reason(floats({0}), floats({2e-7f}), t), "value");
  EXPECT_EQ(reason(floats({NAN, INFINITY}), floats({NAN, INFINITY}), t), "");
  EXPECT_EQ(reason(floats({NAN}), floats({1}), t), "value");
  EXPECT_EQ(reason(floats({1}), floats({NAN}), t), "value");
  EXPECT_EQ(reason(floats({INFINITY}), floats({-INFINITY}), t), "value");
  EXPECT_EQ(reason(floats({INFINITY}), floats({3e38f}), t), "value");
}

TEST(Compare, GivesBfloat16ItsOwnPrecision) {
  const auto one = tensor<uint16_t>(Elem::bf16, {1}, {0x3F80}), next = tensor<uint16_t>(Elem::bf16, {1}, {0x3F82});
  EXPECT_EQ(reason(one, next), "");  // 2^-6 apart
  EXPECT_EQ(reason(one, tensor<uint16_t>(Elem::bf16, {1}, {0x3F84})), "value");
}

TEST(Compare, NamesTheDifference) {
  const Value two = floats({1, 2});
  EXPECT_EQ(reason(two, floats({1, 2, 3})), "shape");
  EXPECT_EQ(reason(two, tensor<int32_t>(Elem::i32, {2}, {1, 2})), "dtype");
  Value list;
  list.kind = Value::Kind::sequence;
  EXPECT_EQ(reason(two, list), "dtype");
  Value longer = list;
  longer.items.push_back(two);
  EXPECT_EQ(reason(list, longer), "count");
  EXPECT_EQ(reason(longer, longer), "");
  Value texts;
  texts.elem = Elem::string;
  texts.dims = {1};
  texts.strings = {"a"};
  Value other = texts;
  other.strings = {"b"};
  EXPECT_EQ(reason(texts, other), "value");
}

TEST(Compare, BooleansHaveNoTolerance) {
  const auto yes = tensor<uint8_t>(Elem::boolean, {1}, {1}), no = tensor<uint8_t>(Elem::boolean, {1}, {0});
  EXPECT_EQ(reason(yes, no, {Tolerance::Rule::close, 10, 10}), "value");
}

TEST(Compare, ScaleMeasuresAgainstTheSpreadOfTheTensor) {
  const Tolerance t{Tolerance::Rule::scale, 1e-2, 0};
  double worst = 0;
  EXPECT_FALSE(compare(floats({-1, 1}), floats({-1, 1.005f}), t, &worst));
  EXPECT_NEAR(worst, 0.5, 1e-3);
  EXPECT_EQ(reason(floats({-1, 1}), floats({-1, 1.02f}), t), "value");
  EXPECT_EQ(reason(tensor<int64_t>(Elem::i64, {1}, {7}), tensor<int64_t>(Elem::i64, {1}, {8}), t), "value");
}

TEST(Compare, ShapeRuleIgnoresValues) {
  EXPECT_EQ(reason(floats({1}), floats({2}), {Tolerance::Rule::shape}), "");
  EXPECT_EQ(reason(floats({1}), floats({2, 3}), {Tolerance::Rule::shape}), "shape");
}

std::string write_file(const std::string& bytes) {
  std::string path = ::testing::TempDir() + "conformance_value_" + std::to_string(getpid()) + ".pb";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ReadValue, TakesTypedAndRawData) {
  std::string typed, raw;
  protozero::pbf_writer t(typed);
  const int64_t dims[] = {2};
  const int32_t halves[] = {0x3C00, 0xC000};
  t.add_packed_int32(5, halves, halves + 2);  // before the element type, intentionally
  t.add_packed_int64(1, dims, dims + 1);
  t.add_int32(2, static_cast<int32_t>(Elem::f16));
  protozero::pbf_writer r(raw);
  r.add_int64(1, 2);
  r.add_int32(2, static_cast<int32_t>(Elem::f16));
  r.add_bytes(9, std::string("\x00\x3C\x00\xC0", 4));
  const Value a = read_value(write_file(typed), FileKind::tensor);
  EXPECT_EQ(number_at(a, 1), -2.0);
  EXPECT_EQ(reason(a, read_value(write_file(raw), FileKind::tensor)), "");
}

TEST(ReadValue, RejectsDataOfAnotherSize) {
  std::string bytes;
  protozero::pbf_writer w(bytes);
  w.add_int64(1, 3);
  w.add_int32(2, static_cast<int32_t>(Elem::f32));
  w.add_bytes(9, std::string(8, '\0'));
  EXPECT_THROW(read_value(write_file(bytes), FileKind::tensor), std::runtime_error);
}

TEST(ReadValue, DistinguishesAnEmptyOptionalFromAnEmptySequence) {
  std::string none;
  protozero::pbf_writer(none).add_string(1, "o");
  EXPECT_EQ(read_value(write_file(none), FileKind::optional).kind, Value::Kind::none);
  EXPECT_EQ(read_value(write_file(none), FileKind::sequence).kind, Value::Kind::sequence);
}

}  // namespace
}  // namespace retort::conformance
