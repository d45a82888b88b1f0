// The C interface with exceptions on our side of it: failures become Error, and an Error a status where a function of ours ends.
#pragma once
#include <locale>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "onnxruntime_ep_c_api.h"

namespace providers {

/// The version of the interface that is asked for: the first that has compiled partitions, so that older hosts serve.
constexpr uint32_t kVersion = 23;

/// What the host gave to CreateEpFactories, before anything else runs. It is global, so these libraries serve one host in a
/// process: a second one that opens the same file takes the place of the first. (tools/provider_template keeps them apart.)
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

/// Its arguments, one after the other, as text.
template <typename... T>
std::string text(const T&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());  // that of the host may write 4096 as 4.096
  (out << ... << parts);
  return out.str();
}

/// A status of the host as an Error.
inline void check(OrtStatus* status) {
  if (!status) return;
  const Error error(api().GetErrorMessage(status), api().GetErrorCode(status));
  api().ReleaseStatus(status);
  throw error;
}

/// A line for those who read the log of a session; null: nobody does. A log that fails is no reason to fail.
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

/// What the host made and we give back: Owned<OrtX>(pointer, api().ReleaseX).
template <typename T>
using Owned = std::unique_ptr<T, void(ORT_API_CALL*)(T*)>;

/// "[2,3,?]"; unknown dimensions are negative.
template <typename Dims>
std::string shape_text(const Dims& dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? "," : "") + (dims[i] < 0 ? "?" : std::to_string(dims[i]));
  return s + "]";
}

}  // namespace providers
