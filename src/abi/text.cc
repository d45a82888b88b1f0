#include "abi/text.h"

#include <cstring>

namespace retort::abi {

void copy_text(const std::string& text, char* buffer, size_t* size) {
  const size_t room = need(size, "size"), needed = text.size() + 1;
  *size = needed;
  if (!buffer) return;
  require(room >= needed, ErrorCode::invalid_argument, "the buffer has {} bytes; {} are needed", room, needed);
  std::memcpy(buffer, text.c_str(), needed);
}

void add_config_entry(std::map<std::string, std::string>& entries, const char* key, const char* value) {
  constexpr size_t kLongestKey = 1024, kLongestValue = 8192;
  const std::string k = need_text(key, "config_key"), v = need_text(value, "config_value");
  require(!k.empty() && k.size() <= kLongestKey, ErrorCode::invalid_argument, "a config key has 1 to {} bytes, not {}",
          kLongestKey, k.size());
  require(v.size() <= kLongestValue, ErrorCode::invalid_argument, "config entry '{}' has {} bytes; {} are allowed", k,
          v.size(), kLongestValue);
  entries[k] = v;
}

}  // namespace retort::abi
