// The C edge: only here do exceptions become OrtStatus, and arguments of callers are checked before they are used.
#pragma once
#include <string>
#include <type_traits>

#include "base/error.h"
#include "retort/onnxruntime_c_api.h"

namespace retort::abi {

/// Makes a status for the caller. Never returns null, even if memory is exhausted.
OrtStatusPtr make_status(ErrorCode code, std::string message) noexcept;
/// Makes a status from the exception that is being handled.
OrtStatusPtr caught_status() noexcept;
/// The result of a slot that is not implemented yet.
OrtStatusPtr not_implemented(const char* slot) noexcept;

/// Throws the error of a status that a caller's function returned, and releases the status; does nothing for null.
void throw_status(OrtStatus* status);

/// Runs `body` and returns null on success. If the body returns a status, that is the result.
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

/// Returns `*pointer`; throws invalid_argument naming the argument `what` if it is null.
template <typename T>
T& need(T* pointer, const char* what) {
  if (!pointer) [[unlikely]]
    fail_null(what);
  return *pointer;
}

/// Returns the text; throws if it is null.
inline const char* need_text(const char* text, const char* what) { return &need(text, what); }

}  // namespace retort::abi
