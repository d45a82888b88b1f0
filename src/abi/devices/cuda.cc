#include "abi/devices/cuda.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <ranges>

#include "abi/devices/devices.h"
#include "abi/sessions/environment.h"
#include "abi/slots.h"
#include "abi/values/allocators.h"

/// Options by name; those that were not set have their defaults.
struct OrtCUDAProviderOptionsV2 : retort::abi::Handle<retort::abi::tag_of("cuda")> {
  std::map<std::string, std::string> values;
};

namespace retort::abi {
namespace {

struct Option {
  const char *name, *standard;
};
// In the order in which GetCUDAProviderOptionsAsString writes them.
constexpr std::array kOptions{Option{"device_id", "0"},
                              Option{"has_user_compute_stream", "0"},
                              Option{"user_compute_stream", "0"},
                              Option{"gpu_mem_limit", "18446744073709551615"},
                              Option{"arena_extend_strategy", "kNextPowerOfTwo"},
                              Option{"cudnn_conv_algo_search", "EXHAUSTIVE"},
                              Option{"do_copy_in_default_stream", "1"},
                              Option{"cudnn_conv_use_max_workspace", "1"},
                              Option{"enable_cuda_graph", "0"},
                              Option{"cudnn_conv1d_pad_to_nc1d", "0"},
                              Option{"tunable_op_enable", "0"},
                              Option{"tunable_op_tuning_enable", "0"},
                              Option{"tunable_op_max_tuning_duration_ms", "0"},
                              Option{"enable_skip_layer_norm_strict_mode", "0"},
                              Option{"prefer_nhwc", "0"},
                              Option{"use_ep_level_unified_stream", "0"},
                              Option{"use_tf32", "1"},
                              Option{"fuse_conv_bias", "0"},
                              Option{"sdpa_kernel", "0"}};

const Option& option(std::string_view name) {
  const auto at = std::ranges::find_if(kOptions, [&](const Option& o) { return name == o.name; });
  if (at == kOptions.end()) {
    std::string all;
    for (const Option& o : kOptions) all += cat("{}{}", all.empty() ? "" : ", ", o.name);
    fail(ErrorCode::invalid_argument, "the CUDA provider has no option '{}'; its options are {}", name, all);
  }
  return *at;
}

std::string value_of(const OrtCUDAProviderOptionsV2& options, const Option& o) {
  const auto set = options.values.find(o.name);
  return set == options.values.end() ? o.standard : set->second;
}

/// Whether the plug-in finds a driver: in a folder of RETORT_CUDA_LIBRARIES, or where the loader looks.
bool has_driver() {
  const char* named = std::getenv("RETORT_CUDA_LIBRARIES");
  std::vector<std::string> files;
  for (const auto part : std::views::split(std::string_view(named ? named : ""), ':')) {
    const std::string folder(part.begin(), part.end());
    if (!folder.empty()) files.push_back(folder + "/libcuda.so.1");
  }
  files.push_back("libcuda.so.1");
  return std::ranges::any_of(files, [](const std::string& file) {
    void* driver = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);  // drivers do not like to be unloaded
    if (driver) dlclose(driver);
    return driver != nullptr;
  });
}

/// The device that this thread has chosen by SetCurrentGpuDeviceId.
thread_local int current_device = 0;

/// The address of a stream as the text of an option.
std::string pointer_text(const void* pointer) { return std::to_string(reinterpret_cast<uintptr_t>(pointer)); }

void append_cuda(OrtSessionOptions& options, std::map<std::string, std::string> values) {
  need_cuda(current_environment());
  options.options.providers.push_back({kCudaProvider, std::move(values)});
}

/// The struct of the first interface as options. It has a value for everything, so all are passed.
std::map<std::string, std::string> values_of(const OrtCUDAProviderOptions& o) {
  constexpr std::array kSearches{"EXHAUSTIVE", "HEURISTIC", "DEFAULT"};
  require(o.cudnn_conv_algo_search >= 0 && size_t(o.cudnn_conv_algo_search) < kSearches.size(),
          ErrorCode::invalid_argument, "cudnn_conv_algo_search is {}, not 0 (exhaustive), 1 (heuristic) or 2 (default)",
          int(o.cudnn_conv_algo_search));
  std::map<std::string, std::string> values{
      {"device_id", std::to_string(o.device_id)},
      {"cudnn_conv_algo_search", kSearches[size_t(o.cudnn_conv_algo_search)]},
      {"gpu_mem_limit", std::to_string(o.gpu_mem_limit)},
      {"arena_extend_strategy", o.arena_extend_strategy == 0 ? "kNextPowerOfTwo" : "kSameAsRequested"},
      {"do_copy_in_default_stream", o.do_copy_in_default_stream ? "1" : "0"}};
  if (o.has_user_compute_stream) values["user_compute_stream"] = pointer_text(o.user_compute_stream);
  return values;
}

}  // namespace

bool means_cuda(std::string_view provider) { return provider == "CUDA" || provider == kCudaProvider; }

std::string cuda_plugin() {
  Dl_info here{};
  if (!dladdr(reinterpret_cast<const void*>(&cuda_plugin), &here) || !here.dli_fname) return {};
  std::error_code ignored;
  const auto self = std::filesystem::canonical(here.dli_fname, ignored);
  for (const char* place : {"providers/libretort_cuda.so", "libretort_cuda.so", "retort/providers/libretort_cuda.so"}) {
    const auto file = self.parent_path() / place;
    if (!ignored && std::filesystem::exists(file, ignored)) return file.string();
  }
  return {};
}

bool cuda_installed() { return !cuda_plugin().empty() && has_driver(); }

void cuda_is_missing(ErrorCode code) {
  fail(code,
       "the CUDA provider is not installed: there is no providers/libretort_cuda.so beside this library; install it, "
       "or register a plug-in library that has it and add its devices");
}

OrtStatusPtr append_cuda_device(OrtSessionOptions* options, int device_id) noexcept {
  return guard([&] { append_cuda(handle(options, "options"), {{"device_id", std::to_string(device_id)}}); });
}

void need_cuda(OrtEnv* env) {
  require(env != nullptr, ErrorCode::fail,
          "CUDA: there is no environment yet; create one before the session's options");
  if (!env->devices->of(kCudaProvider).empty()) return;
  const std::string file = cuda_plugin();
  if (file.empty()) cuda_is_missing(ErrorCode::fail);
  throw_status(RegisterExecutionProviderLibrary(env, kCudaProvider, file.c_str()));
  if (!env->devices->of(kCudaProvider).empty()) return;
  throw_status(UnregisterExecutionProviderLibrary(env, kCudaProvider));
  fail(ErrorCode::fail,
       "the CUDA provider finds no device: the system needs an NVIDIA GPU and its driver (libcuda.so.1); leave the "
       "provider out to run on the CPU");
}

OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_CUDA(OrtSessionOptions* options,
                                                                     const OrtCUDAProviderOptions* cuda) noexcept {
  return guard(
      [&] { append_cuda(handle(options, "options"), cuda ? values_of(*cuda) : std::map<std::string, std::string>()); });
}

OrtStatusPtr ORT_API_CALL SessionOptionsAppendExecutionProvider_CUDA_V2(OrtSessionOptions* options,
                                                                        const OrtCUDAProviderOptionsV2* cuda) noexcept {
  return guard([&] {
    OrtSessionOptions& o = handle(options, "options");
    append_cuda(o, cuda ? handle(cuda, "cuda_options").values : std::map<std::string, std::string>());
  });
}

OrtStatusPtr ORT_API_CALL SetCurrentGpuDeviceId(int device_id) noexcept {
  return guard([&] {
    OrtEnv* env = current_environment();
    need_cuda(env);
    const size_t count = env->devices->of(kCudaProvider).size();
    require(device_id >= 0 && size_t(device_id) < count, ErrorCode::invalid_argument,
            "device_id is {}; the CUDA provider has the devices 0 to {}", device_id, count - 1);
    current_device = device_id;
  });
}

OrtStatusPtr ORT_API_CALL GetCurrentGpuDeviceId(int* device_id) noexcept {
  return guard([&] {
    need(device_id, "device_id");
    need_cuda(current_environment());
    *device_id = current_device;
  });
}

OrtStatusPtr ORT_API_CALL CreateCUDAProviderOptions(OrtCUDAProviderOptionsV2** out) noexcept {
  return guard([&] { need(out, "out") = new OrtCUDAProviderOptionsV2; });
}

OrtStatusPtr ORT_API_CALL UpdateCUDAProviderOptions(OrtCUDAProviderOptionsV2* cuda_options, const char* const* keys,
                                                    const char* const* values, size_t count) noexcept {
  return guard([&] {
    OrtCUDAProviderOptionsV2& o = handle(cuda_options, "cuda_options");
    std::map<std::string, std::string> changed = o.values;  // a failed call changes nothing
    for (size_t i = 0; i < count; ++i) {
      const std::string key = need_text((&need(keys, "provider_options_keys"))[i], "provider_options_keys");
      changed[option(key).name] = need_text((&need(values, "provider_options_values"))[i], "provider_options_values");
    }
    o.values = std::move(changed);
  });
}

OrtStatusPtr ORT_API_CALL GetCUDAProviderOptionsAsString(const OrtCUDAProviderOptionsV2* cuda_options,
                                                         OrtAllocator* allocator, char** ptr) noexcept {
  return guard([&] {
    const OrtCUDAProviderOptionsV2& o = handle(cuda_options, "cuda_options");
    std::string all;
    for (const Option& each : kOptions) all += cat("{}{}={}", all.empty() ? "" : ";", each.name, value_of(o, each));
    need(ptr, "ptr") = allocate_text(need(allocator, "allocator"), all);
  });
}

void ORT_API_CALL ReleaseCUDAProviderOptions(OrtCUDAProviderOptionsV2* input) noexcept { delete input; }

OrtStatusPtr ORT_API_CALL UpdateCUDAProviderOptionsWithValue(OrtCUDAProviderOptionsV2* cuda_options, const char* key,
                                                             void* value) noexcept {
  return guard([&] {
    OrtCUDAProviderOptionsV2& o = handle(cuda_options, "cuda_options");
    const std::string name = need_text(key, "key");
    require(name == "user_compute_stream", ErrorCode::invalid_argument,
            "option '{}' of the CUDA provider is no pointer; only user_compute_stream is. Set others by "
            "UpdateCUDAProviderOptions",
            name);
    o.values["has_user_compute_stream"] = value ? "1" : "0";
    o.values["user_compute_stream"] = pointer_text(value);
  });
}

OrtStatusPtr ORT_API_CALL GetCUDAProviderOptionsByName(const OrtCUDAProviderOptionsV2* cuda_options, const char* key,
                                                       void** ptr) noexcept {
  return guard([&] {
    const OrtCUDAProviderOptionsV2& o = handle(cuda_options, "cuda_options");
    const std::string name = need_text(key, "key");
    require(name == "user_compute_stream", ErrorCode::invalid_argument,
            "option '{}' of the CUDA provider is no pointer; only user_compute_stream is", name);
    const auto set = o.values.find(name);  // its text may be decimal or 0x…
    const uintptr_t stream = set == o.values.end() ? 0 : std::strtoull(set->second.c_str(), nullptr, 0);
    need(ptr, "ptr") = reinterpret_cast<void*>(stream);
  });
}

}  // namespace retort::abi
