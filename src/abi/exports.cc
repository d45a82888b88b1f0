// The symbols that the shared libraries export; exports.map hides all others.
#include "abi/slots.h"

extern "C" {

const OrtApiBase* ORT_API_CALL OrtGetApiBase() noexcept { return &retort::abi::kApiBase; }

OrtStatusPtr ORT_API_CALL OrtSessionOptionsAppendExecutionProvider_CPU(OrtSessionOptions* options, int) noexcept {
  return retort::abi::SessionOptionsAppendExecutionProvider(options, "CPU", nullptr, nullptr, 0);
}

OrtStatusPtr ORT_API_CALL OrtSessionOptionsAppendExecutionProvider_CUDA(OrtSessionOptions* options, int) noexcept {
  return retort::abi::SessionOptionsAppendExecutionProvider_CUDA(options, nullptr);
}
}
