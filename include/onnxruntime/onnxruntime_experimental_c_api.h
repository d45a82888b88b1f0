// Functions of the C interface that are on trial, by the names of ONNX Runtime's header: a type and a name of each, and,
// in C++, a function that looks it up. A library may lack one, and a later version may drop it: the look-up then gives
// null.
//
// Version 1.32 has the one below. Those for model packages and for the data of compiled nodes, which earlier versions
// had here, belong to the tables OrtModelPackageApi, OrtApi, OrtCompileApi and OrtEpApi.
#pragma once
#include "onnxruntime_c_api.h"

// Writes 12345: it tells that functions are found at all.
typedef OrtStatusPtr(ORT_API_CALL* OrtExperimental_OrtApi_ExperimentalApiTest_SinceV28_Fn)(int64_t* out);
static const char* const kOrtExperimental_OrtApi_ExperimentalApiTest_SinceV28_FnName =
    "OrtApi_ExperimentalApiTest_SinceV28";

#ifdef __cplusplus
namespace Ort {
namespace Experimental {

inline OrtExperimental_OrtApi_ExperimentalApiTest_SinceV28_Fn Get_OrtApi_ExperimentalApiTest_SinceV28_Fn(
    const OrtApi* api) {
  return reinterpret_cast<OrtExperimental_OrtApi_ExperimentalApiTest_SinceV28_Fn>(
      api->GetExperimentalFunction(kOrtExperimental_OrtApi_ExperimentalApiTest_SinceV28_FnName));
}

}  // namespace Experimental
}  // namespace Ort
#endif
