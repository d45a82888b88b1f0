// Which options the ways of working of a command use. An option that the chosen way does not use is an error.
#pragma once
#include <span>

#include "cli/commands.h"

namespace retort::cli {

/// A row of a command's table: an option, and the modes that use it, one bit each.
struct OptionUse {
  const char* option;
  unsigned modes;
};

/// The modes of a command, and the modes of each of its options.
class Modes {
 public:
  /// `names` complete "--html is not used …": "for one MODEL". Names and rows are constants of the program.
  constexpr Modes(std::span<const char* const> names, std::span<const OptionUse> uses) : names_(names), uses_(uses) {}
  /// Call it when all options are added: throws std::logic_error for an option without a row, so that none is forgotten,
  /// and for a row without an option.
  void cover(const CLI::App& command) const;
  /// Throws WrongUsage for the first given option that `mode`, the index of a name, does not use.
  void check(const CLI::App& command, size_t mode) const;

 private:
  std::span<const char* const> names_;
  std::span<const OptionUse> uses_;
};

/// Throws WrongUsage if `option` is given without `other`.
void check_needs(const CLI::App& command, const char* option, const char* other);

}  // namespace retort::cli
