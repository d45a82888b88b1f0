#include "cli/modes.h"

#include <algorithm>

namespace retort::cli {
namespace {

/// The name by which tables have an option: "--input" for -i.
std::string key_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name(true) : "--" + option.get_lnames()[0];
}

}  // namespace

void Modes::cover(const CLI::App& command) const {
  const auto options = command.get_options();
  const auto find = [&](const char* name) {
    return std::any_of(options.begin(), options.end(), [&](const CLI::Option* o) { return key_of(*o) == name; });
  };
  for (const OptionUse& use : uses_) {
    if (!find(use.option)) throw std::logic_error(command.get_name() + " has no option " + use.option);
  }
  for (const CLI::Option* option : options) {
    const std::string key = key_of(*option);
    const bool known = key == "--help" ||
                       std::any_of(uses_.begin(), uses_.end(), [&](const OptionUse& use) { return key == use.option; });
    if (!known) throw std::logic_error("the table of " + command.get_name() + " has no row for " + key);
  }
}

void Modes::check(const CLI::App& command, size_t mode) const {
  for (const OptionUse& use : uses_) {
    if (use.modes >> mode & 1 || command.get_option(use.option)->count() == 0) continue;
    std::string where;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (use.modes >> i & 1) where += (where.empty() ? "" : " and ") + std::string(names_[i]);
    }
    throw WrongUsage(std::string(use.option) + " is not used " + names_[mode] + ", only " + where + "; leave it out");
  }
}

void check_needs(const CLI::App& command, const char* option, const char* other) {
  if (command.get_option(option)->count() > 0 && command.get_option(other)->count() == 0)
    throw WrongUsage(std::string(option) + " is not used without " + other + "; add " + other + " or leave it out");
}

}  // namespace retort::cli
