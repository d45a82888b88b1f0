// Adapters behind their handles, and the inputs that they give.
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

/// Puts the parameters of adapters into `inputs`, by the session's index: the last adapter wins, and each over what is there
/// where `replace` says so. Throws invalid_argument for a name that is no input and for a value that does not fit.
void add_adapters(const Session& session, std::span<const OrtLoraAdapter* const> adapters, bool replace,
                  std::span<const Value*> inputs);

}  // namespace retort::abi
