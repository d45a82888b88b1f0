// The C interface with exceptions: failures of the host become Error, and an Error becomes a status at the end of a
// function that the host calls.
#pragma once
#include <locale>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "onnxruntime_ep_c_api.h"

namespace providers {

/// The required version of the interface: the first with compiled partitions, so that older hosts can be used.
constexpr uint32_t kVersion = 23;

/// What the host passed to CreateEpFactories, before anything else runs. It is global, so these libraries serve one
/// host per process: a second host that opens the same file replaces the first. (tools/provider_template keeps them
/// apart.)
struct Host {
  const OrtApi* api = nullptr;
  const OrtEpApi* ep = nullptr;
};
inline Host& host() {
  static Host instance;
  return instance;
}
inline const OrtApi& api() { return *host().api; }
inline const OrtEpApi& ep_api() { return *host().ep; }

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text, OrtErrorCode code = ORT_EP_FAIL) : std::runtime_error(text), code_(code) {}
  OrtErrorCode code() const { return code_; }

 private:
  OrtErrorCode code_;
};

/// Concatenates its arguments as text.
template <typename... T>
std::string text(const T&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());  // the host's locale may write 4096 as 4.096
  (out << ... << parts);
  return out.str();
}

/// Throws a status of the host as an Error.
inline void check(OrtStatus* status) {
  if (!status) return;
  const Error error(api().GetErrorMessage(status), api().GetErrorCode(status));
  api().ReleaseStatus(status);
  throw error;
}

/// Writes a line to the log of a session; does nothing for null. Errors of the log are ignored.
inline void tell(const OrtLogger* log, const std::string& line) {
  if (!log) return;
  OrtStatus* status = api().Logger_LogMessage(log, ORT_LOGGING_LEVEL_INFO, line.c_str(), "providers", 0, "tell");
  if (status) api().ReleaseStatus(status);
}

/// The body of a function that C calls: no exception leaves it.
template <typename F>
OrtStatus* guard(F&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Error& e) {
    return api().CreateStatus(e.code(), e.what());
  } catch (const std::exception& e) {
    return api().CreateStatus(ORT_EP_FAIL, e.what());
  }
}

/// Owns an object of the host: Owned<OrtX>(pointer, api().ReleaseX).
template <typename T>
using Owned = std::unique_ptr<T, void(ORT_API_CALL*)(T*)>;

/// A letter A to Z in lower case, whatever the host's locale is; any other character as it is.
constexpr char small_letter(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

/// "[2,3,?]"; unknown dimensions are negative.
template <typename Dims>
std::string shape_text(const Dims& dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? "," : "") + (dims[i] < 0 ? "?" : std::to_string(dims[i]));
  return s + "]";
}

}  // namespace providers
