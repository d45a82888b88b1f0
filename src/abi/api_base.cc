// OrtGetApiBase: the library's versions, and the pointers to all tables.
#include <cstdio>

#include "abi/slots.h"
#include "commit.h"

namespace retort::abi {

namespace base_api {

const OrtApi* ORT_API_CALL GetApi(uint32_t version) noexcept {
  // New functions are only added at the end, so one table serves every version.
  if (version >= 1 && version <= ORT_API_VERSION) return &kApi;
  std::fprintf(stderr, "[retort] API version %u was asked for; this library has versions 1 to %d\n", version,
               ORT_API_VERSION);
  return nullptr;
}

// Clients read the second number as the API version, and reject a library whose version does not look like ONNX
// Runtime's.
const char* ORT_API_CALL GetVersionString() noexcept { return "1.32.0"; }

}  // namespace base_api

const char* ORT_API_CALL GetBuildInfoString() noexcept {
  return "Retort " RETORT_VERSION ", commit " RETORT_COMMIT ", build type " RETORT_BUILD ", compiler " __VERSION__;
}

const OrtTrainingApi* ORT_API_CALL GetTrainingApi(uint32_t) noexcept { return nullptr; }
const OrtModelEditorApi* ORT_API_CALL GetModelEditorApi() noexcept { return &kModelEditorApi; }
const OrtCompileApi* ORT_API_CALL GetCompileApi() noexcept { return &kCompileApi; }
const OrtEpApi* ORT_API_CALL GetEpApi() noexcept { return &kEpApi; }
const OrtInteropApi* ORT_API_CALL GetInteropApi() noexcept { return &kInteropApi; }
const OrtModelPackageApi* ORT_API_CALL GetModelPackageApi() noexcept { return &kModelPackageApi; }

}  // namespace retort::abi
