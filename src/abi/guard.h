// The edge: exceptions become OrtStatus here and nowhere else, and what a caller passes is checked before it is used.
#pragma once
#include <string>
#include <type_traits>

#include "base/error.h"
#include "retort/onnxruntime_c_api.h"

namespace retort::abi {

/// A status of the caller's. Never null, also without memory.
OrtStatusPtr make_status(ErrorCode code, std::string message) noexcept;
/// The status of the exception being handled.
OrtStatusPtr caught_status() noexcept;
/// What a pending slot answers.
OrtStatusPtr not_implemented(const char* slot) noexcept;

/// Throws what the status of a caller's function says, and releases it; null: nothing.
void throw_status(OrtStatus* status);

/// Runs `body`; null on success. A body that itself ends in a status returns it.
template <typename F>
OrtStatusPtr guard(F&& body) noexcept {
  try {
    if constexpr (std::is_same_v<std::invoke_result_t<F&>, OrtStatusPtr>) {
      return body();
    } else {
      body();
      return nullptr;
    }
  } catch (...) {
    return caught_status();
  }
}

[[noreturn]] void fail_null(const char* what);

/// `*pointer`; invalid_argument when it is null. `what` names the argument.
template <typename T>
T& need(T* pointer, const char* what) {
  if (!pointer) [[unlikely]]
    fail_null(what);
  return *pointer;
}

/// Text that must not be null.
inline const char* need_text(const char* text, const char* what) { return &need(text, what); }

}  // namespace retort::abi
