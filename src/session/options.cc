#include "session/options.h"

#include <algorithm>
#include <charconv>

namespace retort {

Logger SessionOptions::logger(const Logger& base) const {
  const LogLevel level = log.severity >= 0 ? LogLevel(log.severity) : base.level();
  return log.sink ? Logger(level, log.id, log.sink) : base.derive(level, log.id);
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

bool SessionOptions::saturates_quantized_sums() const {
  return config_entry("session.quantized_sums") == "saturating" && !config_on("session.x64quantprecision");
}

std::optional<size_t> SessionOptions::config_number(const std::string& key) const {
  const std::string& entry = config_entry(key);
  size_t n = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), n);
  const bool whole = error == std::errc() && end == entry.data() + entry.size();
  return whole ? std::optional(n) : std::nullopt;
}

// A run has few entries: a search by its map would have to make a string of the key.
std::string_view RunOptions::config_entry(std::string_view key) const {
  const auto found = std::ranges::find_if(config, [&](const auto& entry) { return entry.first == key; });
  return found == config.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace retort
