// The symbols that the shared libraries export; exports.map hides all others.
#include "abi/devices/cuda.h"
#include "abi/slots.h"

extern "C" {

const OrtApiBase* ORT_API_CALL OrtGetApiBase() noexcept { return &retort::abi::kApiBase; }

OrtStatusPtr ORT_API_CALL OrtSessionOptionsAppendExecutionProvider_CPU(OrtSessionOptions* options, int) noexcept {
  return retort::abi::SessionOptionsAppendExecutionProvider(options, "CPU", nullptr, nullptr, 0);
}

OrtStatusPtr ORT_API_CALL OrtSessionOptionsAppendExecutionProvider_CUDA(OrtSessionOptions* options,
                                                                        int device_id) noexcept {
  return retort::abi::append_cuda_device(options, device_id);
}
}
