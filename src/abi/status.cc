#include <exception>
#include <new>

#include "abi/handle.h"
#include "abi/slots.h"

struct OrtStatus {
  OrtErrorCode code;
  std::string message;
};

namespace retort::abi {
namespace {

// The status for an exhausted memory; never freed.
OrtStatus& out_of_memory() {
  static OrtStatus& status = *new OrtStatus{ORT_RUNTIME_EXCEPTION, "out of memory"};
  return status;
}
// Made while the library is loaded: later, memory may be exhausted.
[[maybe_unused]] const OrtStatus& made_early = out_of_memory();

}  // namespace

OrtStatusPtr make_status(ErrorCode code, std::string message) noexcept {
  OrtStatus* status = new (std::nothrow) OrtStatus{OrtErrorCode(code), std::move(message)};
  return status ? status : &out_of_memory();
}

OrtStatusPtr caught_status() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    try {
      return make_status(e.code(), e.message());
    } catch (...) {
      return &out_of_memory();
    }
  } catch (const std::bad_alloc&) {
    return &out_of_memory();
  } catch (const std::exception& e) {
    try {
      return make_status(ErrorCode::runtime_exception, e.what());
    } catch (...) {
      return &out_of_memory();
    }
  } catch (...) {
    return make_status(ErrorCode::fail, "unknown error");
  }
}

OrtStatusPtr not_implemented(const char* slot) noexcept {
  return guard([&]() -> OrtStatusPtr { fail(ErrorCode::not_implemented, "{} is not implemented", slot); });
}

void fail_kind(const char* what) {
  fail(ErrorCode::invalid_argument, "argument '{}' is a handle of another kind", what);
}

void fail_null(const char* what) { fail(ErrorCode::invalid_argument, "argument '{}' is null; give a value", what); }

OrtStatus* ORT_API_CALL CreateStatus(OrtErrorCode code, const char* msg) noexcept {
  return guard([&] { return make_status(ErrorCode(code), msg ? msg : ""); });
}

OrtErrorCode ORT_API_CALL GetErrorCode(const OrtStatus* status) noexcept { return status ? status->code : ORT_OK; }

const char* ORT_API_CALL GetErrorMessage(const OrtStatus* status) noexcept {
  return status ? status->message.c_str() : "";
}

void ORT_API_CALL ReleaseStatus(OrtStatus* input) noexcept {
  if (input != &out_of_memory()) delete input;
}

void throw_status(OrtStatus* status) {
  if (!status) return;
  const auto code = ErrorCode(GetErrorCode(status));
  std::string message = GetErrorMessage(status);
  ReleaseStatus(status);
  throw Error(code, std::move(message));
}

}  // namespace retort::abi
