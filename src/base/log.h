// Messages for the user. A Logger has a level and a sink; the environment owns the default one.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace retort {

/// The values are those of OrtLoggingLevel.
enum class LogLevel : int { verbose = 0, info = 1, warning = 2, error = 3, fatal = 4 };

/// Thread-safe if the sink is; the default sink (standard error) is.
class Logger {
 public:
  using Sink = std::function<void(LogLevel, std::string_view category, std::string_view id, std::string_view where,
                                  std::string_view message)>;
  Logger(LogLevel level, std::string id, Sink sink = {});
  bool wants(LogLevel level) const { return level >= level_; }
  void set_level(LogLevel level) { level_ = level; }
  LogLevel level() const { return level_; }
  const std::string& id() const { return id_; }
  /// A logger with the same sink but another level and id.
  Logger derive(LogLevel level, std::string id) const { return Logger(level, std::move(id), sink_); }

  template <typename... A>
  void log(LogLevel level, fmt::format_string<A...> text, const A&... args) const {
    if (wants(level)) write(level, fmt::vformat(text, fmt::make_format_args(args...)));
  }
  template <typename... A>
  void warn(fmt::format_string<A...> text, const A&... args) const {
    log(LogLevel::warning, text, args...);
  }
  template <typename... A>
  void info(fmt::format_string<A...> text, const A&... args) const {
    log(LogLevel::info, text, args...);
  }

  void write(LogLevel level, std::string_view message, std::string_view where = {}) const;

 private:
  LogLevel level_;
  std::string id_;
  Sink sink_;
};

}  // namespace retort
