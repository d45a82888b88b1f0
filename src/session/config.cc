#include "session/config.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "base/advice.h"
#include "base/split.h"
#include "session/options.h"

namespace retort {
namespace {

constexpr size_t kMostTold = 64;  // so that the session does not grow in a program that makes up keys
constexpr std::string_view kSwitch = "0|1", kInteger = "integer", kAtLeast = "integer>=";
constexpr std::string_view kIntegerRange = "integer ", kNumberRange = "number ", kMultiple = " by ";

/// What messages call a scope, and what takes entries of it, in any language.
struct ScopeWords {
  std::string_view noun, taker;
};
constexpr ScopeWords kScopes[] = {{"sessions", "the options of a session"},
                                  {"runs", "the options of a run"},
                                  {"environments", "the options of the environment, when it is created"},
                                  {"running sessions", "a session, as a dynamic option (SetEpDynamicOptions)"}};

bool is_prefix(const ConfigKey& known) { return known.key.ends_with('*'); }

const ConfigKey* find_key(std::string_view key) {
  const auto all = config_keys();
  const auto at = std::ranges::lower_bound(all, key, {}, &ConfigKey::key);
  if (at != all.end() && at->key == key) return &*at;
  const auto begins = std::ranges::find_if(
      all, [&](const ConfigKey& k) { return is_prefix(k) && key.starts_with(k.key.substr(0, k.key.size() - 1)); });
  return begins != all.end() ? &*begins : nullptr;
}

bool matches(std::string_view text, std::string_view pattern) {
  const std::vector<std::string_view> parts = split(pattern, '*');
  if (parts.size() == 1) return text == pattern;
  if (!text.starts_with(parts[0])) return false;
  text.remove_prefix(parts[0].size());
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    const size_t at = text.find(parts[i]);
    if (at == text.npos) return false;
    text.remove_prefix(at + parts[i].size());
  }
  return text.ends_with(parts.back());
}

template <typename T>
std::optional<T> parsed(std::string_view text) {
  T n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

bool is_integer(std::string_view text, int64_t least) {
  const auto n = parsed<int64_t>(text);
  return n && *n >= least;
}

/// `range`: "N..M", or "N.." for numbers of any size.
template <typename T>
bool lies_in(T n, std::string_view range) {
  const size_t dots = range.find("..");
  const auto least = parsed<T>(range.substr(0, dots)), most = parsed<T>(range.substr(dots + 2));
  return n >= least.value_or(0) && n <= most.value_or(std::numeric_limits<T>::max());
}

bool is_unsigned_in(std::string_view text, std::string_view form) {
  const auto n = parsed<uint64_t>(text);
  const size_t by = form.find(kMultiple);
  const auto multiple = by == form.npos ? 1 : parsed<uint64_t>(form.substr(by + kMultiple.size()));
  return n && lies_in(*n, form.substr(0, by)) && *n % *multiple == 0;
}

bool equals_in_any_case(std::string_view a, std::string_view b) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, small, small);
}

bool has_one_form(std::string_view value, std::string_view form) {
  if (form == kInteger) return is_integer(value, INT64_MIN);
  if (form.starts_with('~')) return equals_in_any_case(value, form.substr(1));
  if (form.starts_with(kIntegerRange)) return is_unsigned_in(value, form.substr(kIntegerRange.size()));
  if (form.starts_with(kNumberRange)) {
    const auto n = parsed<double>(value);
    return n && lies_in(*n, form.substr(kNumberRange.size()));
  }
  if (!form.starts_with(kAtLeast)) return matches(value, form);
  int64_t least = 0;
  std::from_chars(form.data() + kAtLeast.size(), form.data() + form.size(), least);
  return is_integer(value, least);
}

// "an integer from 4096 to 67108864 that is a multiple of 4096"
std::string said_range(const char* what, std::string_view form) {
  const size_t dots = form.find(".."), by = std::min(form.find(kMultiple), form.size());
  std::string text = cat("{} from {}", what, form.substr(0, dots));
  if (by > dots + 2) text += cat(" to {}", form.substr(dots + 2, by - dots - 2));
  return by == form.size() ? text : text + cat(" that is a multiple of {}", form.substr(by + kMultiple.size()));
}

std::string said_one(std::string_view form) {
  if (form.empty()) return "nothing";
  if (form == kInteger) return "an integer";
  if (form.starts_with('~')) return std::string(form.substr(1));
  if (form.starts_with(kAtLeast)) return cat("an integer from {}", form.substr(kAtLeast.size()));
  if (form.starts_with(kIntegerRange)) return said_range("an integer", form.substr(kIntegerRange.size()));
  if (form.starts_with(kNumberRange)) return said_range("a number", form.substr(kNumberRange.size()));
  return std::string(form);
}

// "0 or 1", "an integer from 1", "nothing, save or apply"
std::string said(std::string_view form) {
  std::string text;
  const std::vector<std::string_view> forms = split(form, '|');
  for (size_t i = 0; i < forms.size(); ++i)
    text += (i == 0 ? "" : i + 1 == forms.size() ? " or " : ", ") + said_one(forms[i]);
  return text;
}

// The part of a key before its first dot; empty if it has none.
std::string_view owner_of(std::string_view key) {
  const size_t dot = key.find('.');
  return key.substr(0, dot == key.npos ? 0 : dot);
}

// Whether the engine should know a key. A key without a dot is ours. Other owners may know theirs, unless the owner is
// one of ours, misspelt. Options of a provider ("ep.name.option") belong to the provider.
bool is_ours(std::string_view key, const std::vector<std::string_view>& owners) {
  const std::string_view owner = owner_of(key);
  if (owner.empty()) return true;
  if (owner == "ep") return std::ranges::count(key, '.') < 2 || key.starts_with("ep.dynamic.");
  return std::ranges::count(owners, owner) || !nearest(owner, owners).empty();
}

// A warning about an unknown key; empty if the key is not one of ours.
std::string about_unknown(ConfigScope scope, std::string_view key) {
  std::vector<std::string_view> keys, owners;
  for (const ConfigKey& known : config_keys()) {
    if (known.scope == scope && !is_prefix(known)) keys.push_back(known.key);
    if (!owner_of(known.key).empty()) owners.push_back(owner_of(known.key));
  }
  if (!is_ours(key, owners)) return "";
  const std::string_view near = nearest(key, keys);
  return cat("config key '{}' of {} is unknown; {}", key, kScopes[size_t(scope)].noun,
             near.empty() ? "leave it out, or call a key of your own my_app.key" : cat("use '{}'", near));
}

// A warning about a value that does not count. Throws if the table has an error for it.
std::string about_value(const ConfigKey& known, std::string_view value) {
  require(known.otherwise == ErrorCode::ok, known.otherwise, "{} is '{}'; set it to {}", known.key, value,
          said(known.form));
  return cat("{} is '{}' and {}; set it to {}", known.key, value,
             known.form == kSwitch ? "counts as 0" : "does not count", said(known.form));
}

}  // namespace

bool has_form(std::string_view value, std::string_view form) {
  return form.empty() || std::ranges::any_of(split(form, '|'), [&](auto one) { return has_one_form(value, one); });
}

bool ConfigWatch::is_new(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return told_.size() < kMostTold && told_.insert(key).second;
}

void ConfigWatch::check(ConfigScope scope, const std::map<std::string, std::string>& entries, const Logger& logger) {
  for (const auto& [key, value] : entries) {
    const ConfigKey* const known = find_key(key);
    std::string warning;
    if (!known || known->scope != scope) {
      if (!is_new(key)) continue;
      warning = !known ? about_unknown(scope, key)
                       : cat("{} has no effect on {}; give it to {}", key, kScopes[size_t(scope)].noun,
                             kScopes[size_t(known->scope)].taker);
    } else if (is_prefix(*known)) {
      fail(known->otherwise, "the key '{}' does not exist: {}; leave it out", key, known->why);
    } else if (!has_form(value, known->form)) {
      warning = about_value(*known, value);  // throws each time if the value is not allowed
      if (!is_new(key)) continue;
    } else if (known->deed == ConfigDeed::rejected && value != known->standard) {
      fail(ErrorCode::not_implemented, "{} is '{}', which is not done: {}; leave it out", key, value, known->why);
    } else if (known->deed == ConfigDeed::no_effect && is_new(key)) {
      logger.info("{} has no effect: {}", key, known->why);
    }
    if (!warning.empty()) logger.warn("{}", warning);
  }
}

void ConfigWatch::check_run(const RunOptions* options, const Logger& logger) {
  if (!options) return;
  require(options->log_severity >= -1 && options->log_severity <= int(LogLevel::fatal), ErrorCode::fail,
          "the log severity of the run is {}, expected 0 (verbose) to 4 (fatal), or -1 for the session's",
          options->log_severity);
  if (options->config.empty()) return;
  if (options->config_stamp != 0 && options->config_stamp == checked_stamp_.load(std::memory_order_relaxed)) return;
  check(ConfigScope::run, options->config, logger);
  checked_stamp_.store(options->config_stamp, std::memory_order_relaxed);
}

}  // namespace retort
