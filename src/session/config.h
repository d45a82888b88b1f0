// Configuration entries against the table of those that are known: abi/config_keys.tsv, which docs/config.md shows.
#pragma once
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log.h"

namespace retort {

/// Who an entry is given to.
enum class ConfigScope : uint8_t { session, run, env, ep_dynamic };

/// What becomes of an entry.
enum class ConfigDeed : uint8_t { honoured, rejected, no_effect };

/// A row of the table.
struct ConfigKey {
  std::string_view key;
  ConfigScope scope;
  ConfigDeed deed;
  /// Values that are allowed, separated by '|': "integer", "integer>=N", or a text in which '*' stands for any text.
  /// Empty: whoever reads the entry checks it.
  std::string_view form;
  std::string_view standard;  ///< the value of an entry that is not set
  ErrorCode otherwise;        ///< for values that are not allowed; ok: they are warned of and do not count
  std::string_view why;       ///< an entry is rejected or has no effect
};

/// All rows, ordered by key.
std::span<const ConfigKey> config_keys();

/// Whether a value has a form.
bool has_form(std::string_view value, std::string_view form);

/// Tells of entries what is wrong with them, of each key once. Thread-safe.
class ConfigWatch {
 public:
  /// Warns of keys that nobody knows but that look like ours, of those that belong elsewhere and of values that do not
  /// count. Throws on values that are refused and on what cannot be done.
  void check(ConfigScope scope, const std::map<std::string, std::string>& entries, const Logger& logger);

 private:
  bool is_new(const std::string& key);
  std::mutex mutex_;
  std::set<std::string> told_;
};

}  // namespace retort
