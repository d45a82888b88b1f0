// Providers by name. The CPU is built in; every other provider is a plug-in library, so the older functions for a
// single provider report that.
#include <algorithm>
#include <array>

#include "abi/devices/cuda.h"
#include "abi/sessions/environment.h"
#include "abi/sessions/options.h"
#include "abi/slots.h"
#include "abi/values/allocators.h"
#include "ops/external.h"

namespace retort::abi {
namespace {

[[noreturn]] void not_built_in(ErrorCode code, std::string_view provider) {
  fail(code,
       "the {} provider is not built in (only {} is); leave it out, or register the plug-in library that has it and "
       "add its devices",
       provider, kCpuProvider);
}

OrtStatusPtr unavailable(std::string_view provider) noexcept {
  return guard([&] { not_built_in(ErrorCode::fail, provider); });
}

constexpr std::array kBuiltIn{kCpuProvider};

/// The registered provider that callers know by this name, with its factory's name; empty if there is none.
std::string registered(std::string_view name) {
  const OrtEnv* env = current_environment();
  if (means_cuda(name) && env && (!cuda_plugin().empty() || !env->devices->of(kCudaProvider).empty())) {
    need_cuda(current_environment());
    return kCudaProvider;
  }
  for (const std::string& candidate : {std::string(name), cat("{}ExecutionProvider", name)}) {
    if (env && !env->devices->of(candidate).empty()) return candidate;
  }
  return {};
}

/// Adds a provider that may have been registered by a plug-in.
OrtStatusPtr append(OrtSessionOptions* options, std::string_view provider) noexcept {
  return guard([&] {
    OrtSessionOptions& o = handle(options, "options");
    const std::string name = registered(provider);
    if (name.empty()) not_built_in(ErrorCode::fail, provider);
    o.options.providers.push_back({name, {}});
  });
}

}  // namespace

OrtStatusPtr ORT_API_CALL GetAvailableProviders(char*** out_ptr, int* provider_length) noexcept {
  return guard([&] {
    need(out_ptr, "out_ptr");
    need(provider_length, "provider_length");
    std::vector<const char*> all;
    if (cuda_installed()) all.push_back(kCudaProvider);  // in the order of priority, as in the official library
    all.insert(all.end(), kBuiltIn.begin(), kBuiltIn.end());
    auto** names = static_cast<char**>(allocate(default_allocator(), sizeof(char*) * all.size()));
    std::transform(all.begin(), all.end(), names,
                   [](const char* name) { return allocate_text(default_allocator(), name); });
    *out_ptr = names;
    *provider_length = int(all.size());
  });
}

OrtStatusPtr ORT_API_CALL ReleaseAvailableProviders(char** ptr, int providers_length) noexcept {
  return guard([&] {
    if (!ptr) return;
    OrtAllocator& allocator = default_allocator();
    for (int i = 0; i < providers_length; ++i) allocator.Free(&allocator, ptr[i]);
    allocator.Free(&allocator, ptr);
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider(OrtSessionOptions* options, const char* provider_name,
                                                                const char* const* provider_options_keys,
                                                                const char* const* provider_options_values,
                                                                size_t num_keys) noexcept {
  return guard([&] {
    OrtSessionOptions& o = handle(options, "options");
    const std::string name = need_text(provider_name, "provider_name");
    const std::string known = name == "CPU" ? kBuiltIn[0] : registered(name);
    if (known.empty() && means_cuda(name)) cuda_is_missing(ErrorCode::invalid_argument);
    if (known.empty() && name != kBuiltIn[0]) not_built_in(ErrorCode::invalid_argument, name);
    ProviderRequest request{known.empty() ? name : known, {}};
    for (size_t i = 0; i < num_keys; ++i) {
      const char* key = need_text((&need(provider_options_keys, "provider_options_keys"))[i], "provider_options_keys");
      request.options[key] =
          need_text((&need(provider_options_values, "provider_options_values"))[i], "provider_options_values");
    }
    o.options.providers.push_back(std::move(request));
  });
}

OrtStatusPtr ORT_API_CALL GetExecutionProviderApi(const char* provider_name, uint32_t,
                                                  const void** provider_api) noexcept {
  return guard([&] {
    need(provider_api, "provider_api");
    fail(ErrorCode::invalid_argument, "provider '{}' has no interface of its own",
         need_text(provider_name, "provider_name"));
  });
}

OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_ROCM(OrtSessionOptions* options,
                                                                     const OrtROCMProviderOptions*) noexcept {
  return append(options, "ROCm");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_OpenVINO(OrtSessionOptions* options,
                                                                         const OrtOpenVINOProviderOptions*) noexcept {
  return append(options, "OpenVINO");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_TensorRT(OrtSessionOptions* options,
                                                                         const OrtTensorRTProviderOptions*) noexcept {
  return append(options, "TensorRT");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_TensorRT_V2(
    OrtSessionOptions* options, const OrtTensorRTProviderOptionsV2*) noexcept {
  return append(options, "TensorRT");
}
OrtStatusPtr ORT_API_CALL CreateTensorRTProviderOptions(OrtTensorRTProviderOptionsV2**) noexcept {
  return unavailable("TensorRT");
}
OrtStatusPtr ORT_API_CALL UpdateTensorRTProviderOptions(OrtTensorRTProviderOptionsV2*, const char* const*,
                                                        const char* const*, size_t) noexcept {
  return unavailable("TensorRT");
}
OrtStatusPtr ORT_API_CALL GetTensorRTProviderOptionsAsString(const OrtTensorRTProviderOptionsV2*, OrtAllocator*,
                                                             char**) noexcept {
  return unavailable("TensorRT");
}
void ORT_API_CALL ReleaseTensorRTProviderOptions(OrtTensorRTProviderOptionsV2*) noexcept {}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_MIGraphX(OrtSessionOptions* options,
                                                                         const OrtMIGraphXProviderOptions*) noexcept {
  return append(options, "MIGraphX");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_CANN(OrtSessionOptions* options,
                                                                     const OrtCANNProviderOptions*) noexcept {
  return append(options, "CANN");
}
OrtStatusPtr ORT_API_CALL CreateCANNProviderOptions(OrtCANNProviderOptions**) noexcept { return unavailable("CANN"); }
OrtStatusPtr ORT_API_CALL UpdateCANNProviderOptions(OrtCANNProviderOptions*, const char* const*, const char* const*,
                                                    size_t) noexcept {
  return unavailable("CANN");
}
OrtStatusPtr ORT_API_CALL GetCANNProviderOptionsAsString(const OrtCANNProviderOptions*, OrtAllocator*,
                                                         char**) noexcept {
  return unavailable("CANN");
}
void ORT_API_CALL ReleaseCANNProviderOptions(OrtCANNProviderOptions*) noexcept {}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_Dnnl(OrtSessionOptions* options,
                                                                     const OrtDnnlProviderOptions*) noexcept {
  return append(options, "oneDNN");
}
OrtStatusPtr ORT_API_CALL CreateDnnlProviderOptions(OrtDnnlProviderOptions**) noexcept { return unavailable("oneDNN"); }
OrtStatusPtr ORT_API_CALL UpdateDnnlProviderOptions(OrtDnnlProviderOptions*, const char* const*, const char* const*,
                                                    size_t) noexcept {
  return unavailable("oneDNN");
}
OrtStatusPtr ORT_API_CALL GetDnnlProviderOptionsAsString(const OrtDnnlProviderOptions*, OrtAllocator*,
                                                         char**) noexcept {
  return unavailable("oneDNN");
}
void ORT_API_CALL ReleaseDnnlProviderOptions(OrtDnnlProviderOptions*) noexcept {}
OrtStatusPtr ORT_API_CALL CreateROCMProviderOptions(OrtROCMProviderOptions**) noexcept { return unavailable("ROCm"); }
OrtStatusPtr ORT_API_CALL UpdateROCMProviderOptions(OrtROCMProviderOptions*, const char* const*, const char* const*,
                                                    size_t) noexcept {
  return unavailable("ROCm");
}
OrtStatusPtr ORT_API_CALL GetROCMProviderOptionsAsString(const OrtROCMProviderOptions*, OrtAllocator*,
                                                         char**) noexcept {
  return unavailable("ROCm");
}
void ORT_API_CALL ReleaseROCMProviderOptions(OrtROCMProviderOptions*) noexcept {}
OrtStatusPtr ORT_API_CALL UpdateTensorRTProviderOptionsWithValue(OrtTensorRTProviderOptionsV2*, const char*,
                                                                 void*) noexcept {
  return unavailable("TensorRT");
}
OrtStatusPtr ORT_API_CALL GetTensorRTProviderOptionsByName(const OrtTensorRTProviderOptionsV2*, const char*,
                                                           void**) noexcept {
  return unavailable("TensorRT");
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_OpenVINO_V2(OrtSessionOptions* options,
                                                                            const char* const* provider_options_keys,
                                                                            const char* const* provider_options_values,
                                                                            size_t num_keys) noexcept {
  return guard([&]() -> OrtStatusPtr {
    if (registered("OpenVINO").empty()) not_built_in(ErrorCode::fail, "OpenVINO");
    return SessionOptionsAppendExecutionProvider(options, "OpenVINO", provider_options_keys, provider_options_values,
                                                 num_keys);
  });
}
OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_VitisAI(OrtSessionOptions* options,
                                                                        const char* const* provider_options_keys,
                                                                        const char* const* provider_options_values,
                                                                        size_t num_keys) noexcept {
  return guard([&]() -> OrtStatusPtr {
    if (registered("VitisAI").empty()) not_built_in(ErrorCode::fail, "Vitis AI");
    return SessionOptionsAppendExecutionProvider(options, "VitisAI", provider_options_keys, provider_options_values,
                                                 num_keys);
  });
}
}  // namespace retort::abi
