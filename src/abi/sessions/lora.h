// LoRA adapters behind their handles, and the inputs that they replace.
#pragma once
#include <span>
#include <vector>

#include "abi/handle.h"
#include "ort_format/adapter.h"
#include "session/session.h"

struct OrtLoraAdapter : retort::abi::Handle<retort::abi::tag_of("lora")> {
  retort::Adapter adapter;
};

namespace retort::abi {

/// Writes the parameters of adapters into `inputs`, by the session's index. The last adapter wins; an existing input is
/// replaced only if `replace` is set. Throws invalid_argument for a name that is not an input, and for a value that
/// does not fit.
void add_adapters(const Session& session, std::span<const OrtLoraAdapter* const> adapters, bool replace,
                  std::span<const Value*> inputs);

}  // namespace retort::abi
