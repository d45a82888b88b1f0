// Includes all installed headers, also as older packages placed them, in each form that run.sh compiles.
#include <core/providers/cpu/cpu_provider_factory.h>
#include <core/providers/custom_op_context.h>
#include <core/providers/resource.h>
#include <core/session/onnxruntime_cxx_api.h>
#include <core/session/onnxruntime_session_options_config_keys.h>
#include <cpu_provider_factory.h>
#include <dnnl_provider_options.h>
#include <onnxruntime_c_api.h>
#include <onnxruntime_cxx_api.h>
#include <onnxruntime_env_config_keys.h>
#include <onnxruntime_ep_c_api.h>
#include <onnxruntime_ep_device_ep_metadata_keys.h>
#include <onnxruntime_error_code.h>
#include <onnxruntime_experimental_c_api.h>
#include <onnxruntime_experimental_cxx_api.h>
#include <onnxruntime_float16.h>
#include <onnxruntime_lite_custom_op.h>
#include <onnxruntime_run_options_config_keys.h>
#include <onnxruntime_session_options_config_keys.h>
#include <provider_options.h>

#ifdef ORT_API_MANUAL_INIT
// What a library with custom operators does that is not linked with the runtime.
extern "C" OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  Ort::InitApi(base->GetApi(ORT_API_VERSION));
  static const Ort::CustomOpDomain domain("mine");
  Ort::UnownedSessionOptions(options).Add(domain);
  return nullptr;
}
#endif

int inputs(const char* path) {
  const Ort::Env env;
  return static_cast<int>(Ort::Session(env, path, Ort::SessionOptions()).GetInputCount());
}
