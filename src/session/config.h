// Checks configuration entries by the table of known keys, abi/config_keys.tsv, which docs/config.md shows.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log.h"

namespace retort {

struct RunOptions;

/// What an entry is given to.
enum class ConfigScope : uint8_t { session, run, env, ep_dynamic };

/// How an entry is handled.
enum class ConfigDeed : uint8_t { honoured, rejected, no_effect };

/// A row of the table.
struct ConfigKey {
  std::string_view key;  ///< with '*' at its end: all keys that begin like it and have no row of their own
  ConfigScope scope;
  ConfigDeed deed;
  /// Values that are allowed, separated by '|': "integer", "integer>=N", "integer N..M", "integer N..M by K" for
  /// multiples of K, "number N..M" (without M: of any size), a text in which '*' stands for any text, or "~text" for a
  /// text in any case. Empty: the code that reads the entry checks it.
  std::string_view form;
  std::string_view standard;  ///< the value of an entry that is not set
  ErrorCode otherwise;   ///< the error for a value that is not allowed; ok: a warning, and the value does not count
  std::string_view why;  ///< the reason why an entry is rejected or has no effect
};

/// All rows, ordered by key.
std::span<const ConfigKey> config_keys();

/// Whether a value has a form.
bool has_form(std::string_view value, std::string_view form);

/// Checks configuration entries, and warns of each key once. Thread-safe.
class ConfigWatch {
 public:
  /// Warns of unknown keys that look like ours, of keys of another scope, and of values that do not count. Throws for a
  /// value that is not allowed, and for an entry that the engine rejects.
  void check(ConfigScope scope, const std::map<std::string, std::string>& entries, const Logger& logger);
  /// The same for the entries of a run, but for those with the stamp of the last run (RunOptions::config_stamp).
  /// Throws ErrorCode::fail for a log level that does not exist. `options` may be null.
  void check_run(const RunOptions* options, const Logger& logger);

 private:
  bool is_new(const std::string& key);
  std::mutex mutex_;  ///< guards told_
  std::set<std::string> told_;
  std::atomic<uint64_t> checked_stamp_{0};  ///< of the entries that check_run() checked last; 0: none
};

}  // namespace retort
