// Which providers a session uses: by name, by devices, by a function of the program.
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace retort::python {

inline constexpr const char* kCpuProvider = "CPUExecutionProvider";

// The providers that the official package knows by name, whether this engine has them or not.
const std::vector<std::string>& all_providers();

// Those that this engine has without a plug-in, and those of registered plug-ins.
std::vector<std::string> available_providers();

// Adds the provider to the handle, unless it is that of the CPU, which every session has. One of a plug-in is found by
// its devices. Throws std::runtime_error for a name that does not exist; known ones that the engine lacks are skipped,
// since Python has warned of them.
void append_provider(OrtSessionOptions* handle, const ProviderRequest& request);

// Adds the provider of request.devices.
void append_devices(OrtSessionOptions* handle, const ProviderRequest& request);

// An EpSelectionDelegate; `state` is a Callback.
OrtStatus* select_devices(const OrtEpDevice** devices, size_t count, const OrtKeyValuePairs* model,
                          const OrtKeyValuePairs* runtime, const OrtEpDevice** selected, size_t most,
                          size_t* selected_count, void* state) noexcept;

// An OrtReadNamedBufferFunc; `state` is a Callback, whose limit is the most bytes it may allocate.
OrtStatus* read_ep_context(void* state, const char* name, OrtAllocator* allocator, void** buffer,
                           size_t* size) noexcept;

// An OrtWriteNamedBufferFunc; `state` is a Callback.
OrtStatus* write_ep_context(void* state, const char* name, const void* buffer, size_t size) noexcept;

}  // namespace retort::python
