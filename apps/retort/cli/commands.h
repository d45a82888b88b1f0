// The subcommands. Each adds itself to the program and runs when it was chosen.
#pragma once
#include <CLI/CLI.hpp>
#include <span>

#include "engine/engine.h"
#include "formats/tensors.h"

namespace retort::cli {

/// Exit codes; README.md and the man page list them.
inline constexpr int kFailed = 1, kWrongUsage = 2, kDifferent = 3;

/// Ends the program with a code other than that of a failure; everything was said before.
struct Exit {
  int code;
};

/// A file that there is.
inline const CLI::Validator kFile = CLI::ExistingFile.description("");
/// A number above zero.
inline const CLI::Validator kPositive(
    [](const std::string& text) {
      double number = 0;
      return CLI::detail::lexical_cast(text, number) && number > 0 ? "" : "'" + text + "' is no positive number";
    },
    "");

/// "=" behind a key or name; `form` is what the message shows, "KEY=VALUE".
CLI::Validator has_form(const char* form);

/// Options that subcommands share.
struct Common {
  std::string model, library;
  std::string against;              ///< library of the second engine
  std::vector<std::string> inputs;  ///< name=file, or file where the model has one input or the file has names
  std::string input_folder;         ///< input_0.pb, input_1.npy, …: in the order of the model's inputs
  std::vector<std::string> shapes;  ///< name=1x3x224x224
  std::vector<std::string> config, providers;  ///< key=value; NAME or NAME:key=value,key=value
  std::vector<std::string> plugins;            ///< name=library
  bool vulkan = false;                         ///< environment_config() has it, too
  std::string declared;                        ///< devices that are not there; likewise
  std::vector<std::string> disabled;           ///< passes and rules to leave out
  std::vector<int> threads{1};
  MediaOptions media;
  std::string resize;
  uint64_t seed = 1;
  bool random = true;  ///< what is not given is random; false: only where nothing is given
  bool json = false;
  bool parallel = false;  ///< independent branches at the same time

  void add_json(CLI::App& app);
  void add_library(CLI::App& app);
  /// For commands that only Retort can answer.
  void add_tools_library(CLI::App& app);
  void add_model_file(CLI::App& app);
  void add_shapes(CLI::App& app);
  /// The model, the engine and its settings.
  void add_model(CLI::App& app);
  /// --plugin, and what lets plug-ins find devices.
  void add_plugins(CLI::App& app, const std::string& what);
  /// --config, --provider and --plugin.
  void add_providers(CLI::App& app);
  void add_inputs(CLI::App& app);
  void add_media(CLI::App& app);
  void add_threads(CLI::App& app, const std::string& what);
  void add_against(CLI::App& app);
  void add_disable(CLI::App& app);
  SessionSettings settings(int thread_count) const;
  /// The shapes that --shape gives, by input.
  std::map<std::string, std::vector<int64_t>> wanted_shapes() const;
  /// Given files first; what is not given is random, free extents as named ones of other inputs or else 1. Throws
  /// Failure when a name or a shape does not fit the ports.
  HostValues read_inputs(const std::vector<PortInfo>& ports) const;
  /// The same options with the shapes of these inputs in place of --shape: for what depends on the shapes that run.
  Common shaped_as(const HostValues& values) const;
};

std::pair<std::string, std::string> split_at(const std::string& text, char at, const char* form);
/// DIR/input_0.pb, or .npy where that is there. Throws Failure where neither is.
std::string numbered_file(const std::string& folder, const char* prefix, size_t index);
/// "1x3x224x224"; "scalar"
std::string dims_text(const std::vector<int64_t>& shape);

/// A subcommand. The file of its name in commands/ exports command_<name>, by which the build finds it.
struct Command {
  int place;  ///< in the help: smaller ones first
  void (*add)(CLI::App& app);
};

/// All commands, in the order of their files' names.
std::span<const Command* const> commands();

}  // namespace retort::cli
