// Functions of include/retort/retort_tools.h that no other test calls through the C interface.
#include <retort/retort_tools.h>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "abi/slots.h"
#include "abi/status_testing.h"

namespace retort::abi {
namespace {

void expect_failure(OrtStatusPtr status, OrtErrorCode code, const std::string& part) {
  ASSERT_NE(status, nullptr) << part;
  EXPECT_EQ(GetErrorCode(status), code) << part;
  EXPECT_NE(std::string(GetErrorMessage(status)).find(part), std::string::npos) << GetErrorMessage(status);
  ReleaseStatus(status);
}

class ReadMap : public ::testing::Test {
 protected:
  ReadMap() : read_(reinterpret_cast<RetortReadMap>(GetExperimentalFunction("RetortReadMap"))) {
    expect_ok(GetAllocatorWithDefaultOptions(&allocator_));
  }
  ~ReadMap() override {
    for (OrtValue* value : values_) ReleaseValue(value);
  }

  template <typename T>
  OrtValue* tensor(std::vector<T> elements, ONNXTensorElementDataType type) {
    OrtValue* made = nullptr;
    const int64_t shape[] = {int64_t(elements.size())};
    expect_ok(CreateTensorAsOrtValue(allocator_, shape, 1, type, &made));
    void* data = nullptr;
    expect_ok(GetTensorMutableData(made, &data));
    std::memcpy(data, elements.data(), elements.size() * sizeof(T));
    values_.push_back(made);
    return made;
  }

  OrtValue* container(const std::vector<const OrtValue*>& parts, ONNXType type) {
    OrtValue* made = nullptr;
    expect_ok(CreateValue(parts.data(), parts.size(), type, &made));
    values_.push_back(made);
    return made;
  }

  OrtValue* map(std::vector<int64_t> keys, std::vector<float> values) {
    return container({tensor(std::move(keys), ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64),
                      tensor(std::move(values), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)},
                     ONNX_TYPE_MAP);
  }

  const RetortReadMap read_;
  OrtAllocator* allocator_ = nullptr;
  std::vector<OrtValue*> values_;
};

TEST_F(ReadMap, GivesEntriesWhereTheyLie) {
  const OrtValue* one = map({3, 1, 2}, {0.5f, 0.25f, 0.125f});
  const OrtValue* all = container({one, map({7}, {4.0f})}, ONNX_TYPE_SEQUENCE);
  RetortMapEntries entries = {};
  for (const OrtValue* value : {one, all}) {
    expect_ok(read_(value, 0, &entries));
    ASSERT_EQ(entries.count, 3u);
    EXPECT_EQ(entries.key_type, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
    EXPECT_EQ(entries.value_type, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
    const auto* keys = static_cast<const int64_t*>(entries.keys);
    const auto* values = static_cast<const float*>(entries.values);
    float found[4] = {};
    for (size_t i = 0; i < entries.count; ++i) found[keys[i]] = values[i];
    EXPECT_EQ(found[1], 0.25f);
    EXPECT_EQ(found[2], 0.125f);
    EXPECT_EQ(found[3], 0.5f);
    const void* const before = entries.keys;
    expect_ok(read_(value, 0, &entries));
    EXPECT_EQ(entries.keys, before);
  }
  expect_ok(read_(all, 1, &entries));
  ASSERT_EQ(entries.count, 1u);
  EXPECT_EQ(*static_cast<const int64_t*>(entries.keys), 7);
}

TEST_F(ReadMap, TellsWhatIsNoMap) {
  const OrtValue* const plain = tensor<float>({1, 2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  RetortMapEntries entries = {.count = 9, .key_type = {}, .value_type = {}, .keys = this, .values = this};
  for (const OrtValue* value : {plain, const_cast<const OrtValue*>(container({plain}, ONNX_TYPE_SEQUENCE))}) {
    entries.count = 9;
    expect_ok(read_(value, 0, &entries));
    EXPECT_EQ(entries.count, 0u);
    EXPECT_EQ(entries.keys, nullptr);
    EXPECT_EQ(entries.key_type, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED);
  }
}

TEST_F(ReadMap, RefusesWhatIsNotThere) {
  OrtValue* const one = map({1}, {1});
  OrtValue* const all = container({one}, ONNX_TYPE_SEQUENCE);
  RetortMapEntries entries = {.count = 9, .key_type = {}, .value_type = {}, .keys = this, .values = this};
  for (const OrtValue* value : {one, all}) {
    for (const size_t index : {size_t(1), SIZE_MAX})
      expect_failure(read_(value, index, &entries), ORT_FAIL, "ask for one below 1");
  }
  EXPECT_EQ(entries.count, 9u);
  EXPECT_EQ(entries.keys, this);
  expect_failure(read_(nullptr, 0, &entries), ORT_INVALID_ARGUMENT, "container");
  expect_failure(read_(one, 0, nullptr), ORT_INVALID_ARGUMENT, "entries");
}

}  // namespace
}  // namespace retort::abi
