// The symbols that the shared libraries show; exports.map hides everything else.
#include "abi/slots.h"

extern "C" {

const OrtApiBase* ORT_API_CALL OrtGetApiBase() noexcept { return &retort::abi::kApiBase; }
}
