// Errors. Inside the engine, every failure is an Error exception; at the C interface it becomes an OrtStatus. A rule
// that does not apply is not an error: functions return std::optional for that.
#pragma once
#include <fmt/core.h>

#include <exception>
#include <string>
#include <string_view>

namespace retort {

/// The values are those of OrtErrorCode, so the C interface only casts.
enum class ErrorCode : int {
  ok = 0,
  fail = 1,
  invalid_argument = 2,
  no_such_file = 3,
  no_model = 4,
  engine_error = 5,
  runtime_exception = 6,
  invalid_protobuf = 7,
  model_loaded = 8,
  not_implemented = 9,
  invalid_graph = 10,
  ep_fail = 11,
  model_load_canceled = 12,
  model_requires_compilation = 13,
  not_found = 14,
  device_reset = 15,
};

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }
  /// Puts "context: " before the message; used where a node or a file is known.
  void add_context(std::string_view context) { message_.insert(0, std::string(context) + ": "); }

 private:
  ErrorCode code_;
  std::string message_;
};

/// fmt::format with the formatting code compiled in one place; headers should include this instead of <fmt/format.h>.
template <typename... A>
std::string cat(fmt::format_string<A...> text, const A&... args) {
  return fmt::vformat(text, fmt::make_format_args(args...));
}

template <typename... A>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<A...> text, const A&... args) {
  throw Error(code, fmt::vformat(text, fmt::make_format_args(args...)));
}

/// Throws unless `ok`. Arguments are formatted only if it does.
template <typename... A>
void require(bool ok, ErrorCode code, fmt::format_string<A...> text, const A&... args) {
  if (!ok) [[unlikely]]
    fail(code, text, args...);
}

}  // namespace retort
