// The commands and options of the program as data, for generated texts.
#pragma once
#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace retort::cli {

/// What follows an option; none: it is a flag; listed: a name that `retort words` lists.
enum class WordKind { none, file, folder, choice, listed, other };

struct OptionWords {
  std::vector<std::string> names;  ///< "--input", "-i"; empty: a positional argument
  std::string value, description;  ///< value: "FILE", "nchw|nhwc"; the name of a positional argument
  WordKind kind = WordKind::none;
  std::vector<std::string> choices;
  std::string list;  ///< the argument of `retort words`: "keys"
  bool required = false;
};

struct CommandWords {
  std::string name, description, footer;
  std::vector<OptionWords> options;
};

/// The subcommands in the order of the help text.
std::vector<CommandWords> command_words(const CLI::App& app);

/// Scripts that complete commands, options and files in a shell.
std::string bash_completion(const std::vector<CommandWords>& commands);
std::string zsh_completion(const std::vector<CommandWords>& commands);
std::string fish_completion(const std::vector<CommandWords>& commands);

}  // namespace retort::cli
