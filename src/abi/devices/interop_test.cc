// Tests the calls to a provider's importer with one that is made here, since no provider of this library has one yet.
#include "abi/devices/interop.h"

#include <gtest/gtest.h>

#include <string>

#include "abi/slots.h"

namespace retort::abi {
namespace {

namespace api = interop_api;

/// Records its arguments, and returns what the test sets.
struct Importer : OrtExternalResourceImporterImpl {
  Importer() : OrtExternalResourceImporterImpl{} {
    ort_version_supported = ORT_API_VERSION;
    CanImportMemory = [](const OrtExternalResourceImporterImpl*, OrtExternalMemoryHandleType type) noexcept {
      return type == ORT_EXTERNAL_MEMORY_HANDLE_TYPE_MEMORY_OPAQUE_FD;
    };
    ImportMemory = [](OrtExternalResourceImporterImpl* self, const OrtExternalMemoryDescriptor* desc,
                      OrtExternalMemoryHandle** out) noexcept -> OrtStatusPtr {
      static_cast<Importer*>(self)->calls += "import ";
      *out = new OrtExternalMemoryHandle{ORT_API_VERSION, nullptr, *desc, [](OrtExternalMemoryHandle* h) { delete h; }};
      return nullptr;
    };
    CreateTensorFromMemory = [](OrtExternalResourceImporterImpl* self, const OrtExternalMemoryHandle*,
                                const OrtExternalTensorDescriptor*, OrtValue**) noexcept -> OrtStatusPtr {
      static_cast<Importer*>(self)->calls += "tensor ";
      return nullptr;
    };
    WaitSemaphore = [](OrtExternalResourceImporterImpl*, OrtExternalSemaphoreHandle*, OrtSyncStream*,
                       uint64_t) noexcept { return CreateStatus(ORT_EP_FAIL, "lost"); };
    Release = [](OrtExternalResourceImporterImpl* self) noexcept { static_cast<Importer*>(self)->released = true; };
  }
  std::string calls;
  bool released = false;
};

OrtErrorCode code_of(OrtStatusPtr status) {
  const OrtErrorCode code = status ? GetErrorCode(status) : ORT_OK;
  ReleaseStatus(status);
  return code;
}

class Interop : public ::testing::Test {
 protected:
  Importer impl_;
  OrtExternalResourceImporter importer_{impl_};
};

TEST_F(Interop, RequestsReachTheImporter) {
  bool supported = false;
  EXPECT_EQ(code_of(api::CanImportMemory(&importer_, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_MEMORY_OPAQUE_FD, &supported)),
            ORT_OK);
  EXPECT_TRUE(supported);
  EXPECT_EQ(code_of(api::CanImportMemory(&importer_, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP, &supported)), ORT_OK);
  EXPECT_FALSE(supported);
  // Functions that an importer lacks are errors.
  supported = true;
  EXPECT_EQ(code_of(api::CanImportSemaphore(&importer_, ORT_EXTERNAL_SEMAPHORE_D3D12_FENCE, &supported)), ORT_OK);
  EXPECT_FALSE(supported);
  OrtExternalSemaphoreHandle semaphore{};
  char stream = 0;
  auto* a_stream = reinterpret_cast<OrtSyncStream*>(&stream);
  EXPECT_EQ(code_of(api::WaitSemaphore(&importer_, &semaphore, a_stream, 1)), ORT_EP_FAIL);
  EXPECT_EQ(code_of(api::SignalSemaphore(&importer_, &semaphore, a_stream, 1)), ORT_NOT_IMPLEMENTED);
}

TEST_F(Interop, MemoryAndTensorsAreCheckedFirst) {
  OrtExternalMemoryDescriptor memory{ORT_API_VERSION, ORT_EXTERNAL_MEMORY_HANDLE_TYPE_MEMORY_OPAQUE_FD, nullptr, 100,
                                     101};
  OrtExternalMemoryHandle* imported = nullptr;
  EXPECT_EQ(code_of(api::ImportMemory(&importer_, &memory, &imported)), ORT_INVALID_ARGUMENT);
  memory.offset_bytes = 20;
  memory.version = 0;
  EXPECT_EQ(code_of(api::ImportMemory(&importer_, &memory, &imported)), ORT_INVALID_ARGUMENT);
  memory.version = ORT_API_VERSION;
  ASSERT_EQ(code_of(api::ImportMemory(&importer_, &memory, &imported)), ORT_OK);

  OrtValue* value = nullptr;
  const auto create = [&](std::vector<int64_t> shape, size_t offset,
                          ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
    const OrtExternalTensorDescriptor tensor{ORT_API_VERSION, type, shape.data(), shape.size(), offset};
    return code_of(api::CreateTensorFromMemory(&importer_, imported, &tensor, &value));
  };
  EXPECT_EQ(create({4, 5}, 0), ORT_OK);  // 80 bytes, and 80 bytes from the offset on
  EXPECT_EQ(create({4, 5}, 1), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(create({21}, 0), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(create({-1}, 0), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(create({int64_t(1) << 62, 16}, 0), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(create({1}, SIZE_MAX), ORT_INVALID_ARGUMENT);
  EXPECT_NE(create({1}, 0, ONNXTensorElementDataType(99)), ORT_OK);
  EXPECT_NE(create({1}, 0, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING), ORT_OK);
  EXPECT_EQ(impl_.calls, "import tensor ");
  api::ReleaseExternalMemoryHandle(imported);
}

TEST_F(Interop, ReleaseGoesToTheImporter) {
  Importer other;
  api::ReleaseExternalResourceImporter(new OrtExternalResourceImporter(other));
  EXPECT_TRUE(other.released);
}

}  // namespace
}  // namespace retort::abi
