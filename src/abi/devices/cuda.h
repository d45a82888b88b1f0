// The older functions for CUDA, which name no device: they lead to the plug-in that is installed beside this library.
#pragma once
#include <string>
#include <string_view>

#include "abi/sessions/options.h"

namespace retort::abi {

inline constexpr const char* kCudaProvider = "CUDAExecutionProvider";

/// Whether a program means CUDA by this name of a provider.
bool means_cuda(std::string_view provider);
/// The path of the CUDA plug-in beside this library; "" if it is not installed.
std::string cuda_plugin();
/// Whether the plug-in is installed and the system has a CUDA driver.
bool cuda_installed();
/// Registers the installed plug-in under kCudaProvider, unless the environment has a provider of that name. Throws
/// Error if there is no environment yet, no plug-in, no driver or no device.
void need_cuda(OrtEnv* env);
/// Says that the plug-in is not beside this library.
[[noreturn]] void cuda_is_missing(ErrorCode code);
/// What OrtSessionOptionsAppendExecutionProvider_CUDA does.
OrtStatusPtr append_cuda_device(OrtSessionOptions* options, int device_id) noexcept;

}  // namespace retort::abi
