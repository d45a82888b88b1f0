#include "session/options.h"

#include <charconv>

namespace retort {

Logger SessionOptions::logger(const Logger& base) const {
  const LogLevel level = log_severity >= 0 ? LogLevel(log_severity) : base.level();
  const std::string& id = log_id.empty() ? base.id() : log_id;
  return log_sink ? Logger(level, id, log_sink) : base.derive(level, id);
}

const std::string& SessionOptions::config_entry(const std::string& key) const {
  static const std::string none;
  const auto found = config.find(key);
  return found == config.end() ? none : found->second;
}

bool SessionOptions::config_on(const std::string& key, bool standard) const {
  const auto found = config.find(key);
  return found == config.end() ? standard : found->second == "1";
}

std::optional<size_t> SessionOptions::config_number(const std::string& key) const {
  const std::string& entry = config_entry(key);
  size_t n = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), n);
  const bool whole = error == std::errc() && end == entry.data() + entry.size();
  return whole ? std::optional(n) : std::nullopt;
}

}  // namespace retort
