// Functions of our own, which callers look up by name.
#include "abi/session.h"
#include "abi/slots.h"

namespace retort::abi {
namespace {

/// Bytes that the engine has copied on its own account since the session was created; 0 for what is no session.
uint64_t ORT_API_CALL session_copied_bytes(const OrtSession* session) noexcept {
  uint64_t bytes = 0;
  ReleaseStatus(guard([&] { bytes = handle(session, "session").session->ledger().total_bytes(); }));
  return bytes;
}

}  // namespace

// Null for a name that is not known, as the interface says.
OrtExperimentalFnPtr ORT_API_CALL GetExperimentalFunction(const char* name) noexcept {
  const std::string_view asked = name ? name : "";
  if (asked == "RetortSessionCopiedBytes") return reinterpret_cast<OrtExperimentalFnPtr>(session_copied_bytes);
  return nullptr;
}

}  // namespace retort::abi
