// Entries of session options that mean the same as a function of their own. Configuration files, such as those of model
// packages, can set these options in no other way.
#include "abi/sessions/option_entries.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "abi/guard.h"
#include "abi/text.h"
#include "base/c_locale.h"

namespace retort::abi {
namespace {

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, small_letter, small_letter);
}

int number(const std::string& key, const std::string& value) {
  char* end = nullptr;
  errno = 0;
  const long long parsed = std::strtoll(value.c_str(), &end, 10);
  require(!value.empty() && *end == '\0' && errno == 0 && parsed >= INT_MIN && parsed <= INT_MAX,
          ErrorCode::invalid_argument, "session config entry '{}' is '{}'; give a whole number of 32 bits", key, value);
  return int(parsed);
}

bool flag(const std::string& key, const std::string& value) {
  const bool on = value == "1" || same_word(value, "true");
  require(on || value == "0" || same_word(value, "false"), ErrorCode::invalid_argument,
          "session config entry '{}' is '{}'; give 0, 1, false or true", key, value);
  return on;
}

/// The number of the word that `value` is, in any case of its letters.
int word(const std::string& key, const std::string& value, std::initializer_list<std::pair<const char*, int>> words) {
  std::string known;
  for (const auto& [name, meaning] : words) {
    if (same_word(value, name)) return meaning;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  fail(ErrorCode::invalid_argument, "session config entry '{}' is '{}'; give one of {}", key, value, known);
}

using Text = const std::string&;

struct OptionSetter {
  const char* key;
  void (*set)(SessionOptions&, Text, Text);
};

constexpr std::array kOptionSetters{
    OptionSetter{"session.intra_op_num_threads",
                 [](SessionOptions& o, Text k, Text v) { o.threads.intra_threads = number(k, v); }},
    OptionSetter{"session.inter_op_num_threads",
                 [](SessionOptions& o, Text k, Text v) { o.threads.inter_threads = number(k, v); }},
    OptionSetter{"session.use_per_session_threads",
                 [](SessionOptions& o, Text k, Text v) {
                   const bool own = flag(k, v);
                   require(!own || o.own_threads, ErrorCode::invalid_argument,
                           "session config entry '{}' cannot be 1 again after it was 0; make new options", k);
                   o.own_threads = own;
                 }},
    OptionSetter{"session.execution_mode",
                 [](SessionOptions& o, Text k, Text v) {
                   o.parallel_execution =
                       word(k, v, {{"sequential", 0}, {"parallel", 1}, {"ort_sequential", 0}, {"ort_parallel", 1}}) !=
                       0;
                 }},
    OptionSetter{"session.graph_optimization_level",
                 [](SessionOptions& o, Text k, Text v) {
                   o.optimization = OptimizationLevel(word(k, v,
                                                           {{"disable_all", ORT_DISABLE_ALL},
                                                            {"enable_basic", ORT_ENABLE_BASIC},
                                                            {"enable_extended", ORT_ENABLE_EXTENDED},
                                                            {"enable_layout", ORT_ENABLE_LAYOUT},
                                                            {"enable_all", ORT_ENABLE_ALL}}));
                 }},
    OptionSetter{"session.optimized_model_filepath",
                 [](SessionOptions& o, Text, Text v) { o.optimized_model_path = v; }},
    OptionSetter{"session.enable_profiling",
                 [](SessionOptions& o, Text, Text v) {
                   o.profiling = !v.empty();
                   o.profile_prefix = v;
                 }},
    OptionSetter{"session.enable_cpu_mem_arena",
                 [](SessionOptions& o, Text k, Text v) { o.hints.cpu_arena = flag(k, v); }},
    OptionSetter{"session.enable_mem_pattern",
                 [](SessionOptions& o, Text k, Text v) { o.hints.memory_pattern = flag(k, v); }},
    OptionSetter{"session.use_deterministic_compute",
                 [](SessionOptions& o, Text k, Text v) { o.hints.deterministic = flag(k, v); }},
    OptionSetter{"session.log_id", [](SessionOptions& o, Text, Text v) { o.log.id = v; }},
    OptionSetter{"session.log_severity_level",
                 [](SessionOptions& o, Text k, Text v) { o.log.severity = number(k, v); }},
    OptionSetter{"session.log_verbosity_level",
                 [](SessionOptions& o, Text k, Text v) { o.log.verbosity = number(k, v); }},
};

}  // namespace

bool set_option(SessionOptions& options, const std::string& key, const std::string& value) {
  for (const OptionSetter& option : kOptionSetters) {
    if (key != option.key) continue;
    option.set(options, key, value);
    return true;
  }
  return false;
}

void add_session_entry(SessionOptions& options, const char* key, const char* value) {
  if (set_option(options, need_text(key, "config_key"), need_text(value, "config_value"))) return;
  add_config_entry(options.config, key, value);
}

}  // namespace retort::abi
