// Tests valid adapters, and broken ones: they must cause an error, never a crash.
#include "ort_format/adapter.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "adapter_generated.h"
#include "base/error.h"

namespace retort {
namespace {

struct Written {
  std::string name = "a";
  std::vector<int64_t> dims{2, 3};
  int type = 1;  // float
  size_t bytes = 24;
};

std::vector<std::byte> adapter_of(const std::vector<Written>& parameters, int format = 1) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fbs::Parameter>> all;
  for (const Written& w : parameters) {
    const std::vector<uint8_t> data(w.bytes, 0x40);
    builder.ForceVectorAlignment(data.size(), 1, 8);
    const auto raw = builder.CreateVector(data);
    const auto dims = builder.CreateVector(w.dims);
    const auto name = builder.CreateString(w.name);
    all.push_back(fbs::CreateParameter(builder, name, dims, w.type, raw));
  }
  builder.Finish(fbs::CreateAdapter(builder, format, 7, 9, builder.CreateVector(all)), fbs::AdapterIdentifier());
  const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {begin, begin + builder.GetSize()};
}

std::string refusal(const std::vector<std::byte>& bytes) {
  try {
    read_adapter(bytes);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::fail);
    return e.what();
  }
  return "none";
}

TEST(Adapter, IsRead) {
  const Adapter a = read_adapter(
      adapter_of({{}, {.name = "b", .dims = {}, .type = 7, .bytes = 8}, {.name = "c", .dims = {0, 4}, .bytes = 0}}));
  EXPECT_EQ(a.version, 7);
  EXPECT_EQ(a.model_version, 9);
  ASSERT_EQ(a.parameters.size(), 3u);
  const Tensor& first = *a.parameters[0].value.tensor();
  EXPECT_EQ(first.shape(), (Shape{2, 3}));
  float expected;
  std::memset(&expected, 0x40, sizeof expected);
  EXPECT_EQ(first.at<float>(5), expected);
  EXPECT_EQ(a.parameters[1].value.tensor()->dtype(), DType::i64);
  EXPECT_EQ(a.parameters[2].value.tensor()->shape(), (Shape{0, 4}));
}

TEST(Adapter, SaysWhatIsWrong) {
  const auto says = [](const std::vector<std::byte>& bytes, std::string_view part) {
    EXPECT_NE(refusal(bytes).find(part), std::string::npos) << refusal(bytes);
  };
  says({}, "this is not an adapter");
  says(adapter_of({{}}, 2), "version 2");
  says(adapter_of({{.bytes = 20}}), "parameter 0 'a' of an adapter: 20 bytes of data for float32[2,3], which needs 24");
  says(adapter_of({{.dims = {-2, 3}}}), "extent -2 of axis 0 is negative");
  says(adapter_of({{.dims = {int64_t(1) << 40, int64_t(1) << 40}}}), "parameter 0 'a'");
  says(adapter_of({{.type = 8}}), "strings");
  says(adapter_of({{.type = 99}}), "parameter 0 'a'");
  says(adapter_of({{}, {}}), "parameter 1 'a' of an adapter: its name is empty or occurs twice");
  says(adapter_of({{.name = ""}}), "its name is empty");
}

TEST(Adapter, AnyPieceAndAnyChange) {
  const std::vector<std::byte> whole = adapter_of({{}, {.name = "b", .dims = {4}, .bytes = 16}});
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal({whole.begin(), whole.begin() + std::ptrdiff_t(size)}), "none") << size;
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes = whole;
    for (int changes = int(random() % 3); changes >= 0; --changes)
      bytes[random() % bytes.size()] = std::byte(random() % 4 ? random() % 8 : random() % 256);
    refusal(bytes);
  }
}

}  // namespace
}  // namespace retort
