// The functions of onnxruntime_experimental_c_api.h, for programs that need them: the look-up throws Ort::Exception with
// ORT_NOT_IMPLEMENTED if the library lacks the function.
#pragma once
#include "onnxruntime_cxx_api.h"
#include "onnxruntime_experimental_c_api.h"

namespace Ort {
namespace Experimental {

inline OrtExperimental_OrtApi_ExperimentalApiTest_SinceV28_Fn Get_OrtApi_ExperimentalApiTest_SinceV28_FnOrThrow(
    const OrtApi* api) {
  const auto function = Get_OrtApi_ExperimentalApiTest_SinceV28_Fn(api);
  if (function == nullptr) {
    ORT_CXX_API_THROW(std::string("the library has no ") + kOrtExperimental_OrtApi_ExperimentalApiTest_SinceV28_FnName,
                      ORT_NOT_IMPLEMENTED);
  }
  return function;
}

}  // namespace Experimental
}  // namespace Ort
