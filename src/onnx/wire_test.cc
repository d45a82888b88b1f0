#include "onnx/wire.h"

#include "onnx/model_testing.h"

namespace retort::onnx {
namespace {

void walk(std::string_view bytes) {
  for (Message m(bytes, "Test", 1); m.next();) continue;
}

void expect_broken(std::string_view bytes, const std::string& text) {
  expect_error(ErrorCode::invalid_protobuf, text, [&] { walk(bytes); });
}

TEST(Wire, WritesWhatItReads) {
  MessageWriter inner, m;
  inner.integer(3, -1);
  m.integer(1, INT64_MIN);
  m.f32(2, 1.5f);
  m.bytes(3, "ab");
  m.message(4, inner);
  m.integer((1u << 29) - 1, 300);
  const std::string bytes = m.str();
  Message r(bytes, "Test", 1);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.integer(), INT64_MIN);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.f32(), 1.5f);
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.bytes(), "ab");
  ASSERT_TRUE(r.next());
  Message child = r.child("Inner");
  ASSERT_TRUE(child.next());
  EXPECT_EQ(child.integer(), -1);
  EXPECT_FALSE(child.next());
  ASSERT_TRUE(r.next());
  EXPECT_EQ(r.field(), (1u << 29) - 1);
  EXPECT_EQ(r.integer(), 300);
  EXPECT_FALSE(r.next());
}

TEST(Wire, PackedAndSingleNumbers) {
  const std::string bytes("\x08\x05\x0a\x03\x01\xac\x02\x15\0\0\x80\x3f\x12\x04\0\0\0\x40", 18);
  std::vector<uint64_t> integers;
  std::vector<float> floats;
  for (Message m(bytes, "Test", 1); m.next();) {
    if (m.field() == 1) m.each_varint([&](uint64_t v) { integers.push_back(v); });
    if (m.field() == 2) m.each_fixed<float>([&](float v) { floats.push_back(v); });
  }
  EXPECT_EQ(integers, (std::vector<uint64_t>{5, 1, 300}));
  EXPECT_EQ(floats, (std::vector<float>{1, 2}));
}

// What next_alike() does not handle is left for next(): long values, other fields, malformed ones.
TEST(Wire, FieldsOfOneListInARun) {
  MessageWriter w;
  const std::vector<int64_t> numbers{1, 127, 128, INT64_MAX, -1, 5, 6};
  for (const int64_t n : numbers) w.integer(1, n);
  for (const float f : {1.5f, -2.0f}) w.f32(2, f);
  w.integer(2047, 7);  // a tag of two bytes
  w.integer(2047, 8);
  for (const std::string& s : {std::string("a"), std::string(), std::string(200, 'b'), std::string("c")}) w.bytes(3, s);
  const std::string bytes = w.str();
  std::vector<int64_t> integers;
  std::vector<float> floats;
  std::string text;
  int runs = 0;
  for (Message m(bytes, "Test", 1); m.next(); ++runs) {
    do {
      if (m.field() == 1 || m.field() == 2047) integers.push_back(m.integer());
      if (m.field() == 2) floats.push_back(m.f32());
      if (m.field() == 3) text += std::string(m.bytes()) + ",";
    } while (m.next_alike());
  }
  EXPECT_EQ(integers, (std::vector<int64_t>{1, 127, 128, INT64_MAX, -1, 5, 6, 7, 8}));
  EXPECT_EQ(floats, (std::vector<float>{1.5f, -2.0f}));
  EXPECT_EQ(text, "a,," + std::string(200, 'b') + ",c,");
  EXPECT_LT(runs, 12);
}

TEST(Wire, RunsEndAtMissingBytes) {
  for (const std::string_view bytes :
       {std::string_view("\x08\x05\x08", 3), std::string_view("\x08\x05\x08\xff", 4),
        std::string_view("\x15\0\0\0\0\x15\0\0\0", 9), std::string_view("\x1a\x01z\x1a\x05zzz", 8)}) {
    Message m(bytes, "Test", 1);
    ASSERT_TRUE(m.next());
    EXPECT_FALSE(m.next_alike());
    expect_error(ErrorCode::invalid_protobuf, "broken protobuf", [&] { m.next(); });
  }
}

TEST(Wire, BrokenBytes) {
  expect_broken("\x80", "the data ends within a field");
  expect_broken(std::string_view("\0\0", 2), "a field number that protocol buffers do not have");
  expect_broken("\xc0\xa3\x09\x01", "a field number that protocol buffers do not have");  // 19000: reserved
  expect_broken("\x08", "the data ends within a field");
  expect_broken("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a number has more than 64 bits");
  expect_broken("\x0d\x01\x02", "the data ends within a field");
  expect_broken("\x09\x01\x02\x03\x04", "the data ends within a field");
  expect_broken("\x0a\x05\x01", "5 bytes long, but 1 are left");
  expect_broken("\x0a\x80", "the data ends within a field");
  expect_broken("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "but 0 are left");  // 2^64 - 1
  expect_broken("\x0a\x81\x80\x80\x80\x10\x01", "4294967297 bytes long");           // is not 1 in 32 bits
  expect_broken("\x0b\x0c", "a wire type that ONNX does not use");                  // a group
  expect_broken("\x0e", "a wire type that ONNX does not use");
  expect_broken("\xff\xff\xff\xff\xff\x01", "a field number that protocol buffers do not have");
}

TEST(Wire, WireTypesAreChecked) {
  Message m(std::string_view("\x08\x01", 2), "Test", 1);
  ASSERT_TRUE(m.next());
  expect_error(ErrorCode::invalid_protobuf, "wire type", [&] { m.bytes(); });
  expect_error(ErrorCode::invalid_protobuf, "wire type", [&] { m.f32(); });
  expect_error(ErrorCode::invalid_protobuf, "wire type", [&] { m.each_fixed<double>([](double) {}); });
  Message odd(std::string_view("\x0a\x03\x01\x02\x83", 5), "Test", 1);
  ASSERT_TRUE(odd.next());
  expect_error(ErrorCode::invalid_protobuf, "wire type", [&] { odd.integer(); });
  expect_error(ErrorCode::invalid_protobuf, "ends within a number", [&] { odd.each_fixed<float>([](float) {}); });
  expect_error(ErrorCode::invalid_protobuf, "the data ends within a field", [&] { odd.each_varint([](uint64_t) {}); });
}

TEST(Wire, DepthIsLimited) {
  const std::string_view bytes("\x0a\x02\x0a\x00", 4);
  Message m(bytes, "Test", 1);
  ASSERT_TRUE(m.next());
  Message child = m.child("Test");
  ASSERT_TRUE(child.next());
  expect_error(ErrorCode::invalid_protobuf, "nest too deep", [&] { child.child("Test"); });
}

}  // namespace
}  // namespace retort::onnx
