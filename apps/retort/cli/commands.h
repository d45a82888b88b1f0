// The subcommands. Each adds itself to the program and runs if it was chosen.
#pragma once
#include <CLI/CLI.hpp>
#include <span>

#include "cli/checks.h"
#include "engine/engine.h"
#include "formats/tensors.h"

namespace retort::cli {

/// Exit codes, as README.md and the manual page list them; an interrupted command ends with 128 + the signal.
inline constexpr int kFailed = 1, kWrongUsage = 2, kDifferent = 3;

/// Ends the program with another exit code than that of a failure, and without a further message.
struct Exit {
  int code;
};

/// A message about options that do not fit each other or the model; the exit code is kWrongUsage.
struct WrongUsage : Failure {
  using Failure::Failure;
};

/// Accepts a text with "=" after a key or name; `form` is the form that the error message shows, for example
/// "KEY=VALUE"; `complete`: what follows "=" may not be empty.
CLI::Validator has_form(const char* form, bool complete = false);

/// A file that a command reads or writes.
struct NamedFile {
  std::string option;  ///< that names it; "OUT" for an argument
  std::string path;    ///< empty: none
};

/// Options that several subcommands have.
struct Common {
  const CLI::App* command = nullptr;           ///< tells which options are given
  std::string model, library;                  ///< model: of standard input, the file that holds it
  std::string against;                         ///< path of the second engine's library
  std::vector<std::string> inputs;             ///< name=file or name=value; without name= if the model has one input or
                                               ///< the file has names
  std::string input_folder;                    ///< with input_0.pb, input_1.npy, … in the order of the model's inputs
  std::vector<std::string> shapes;             ///< name=1x3x224x224, or extent=4
  std::vector<std::string> config, providers;  ///< key=value; NAME or NAME:key=value,key=value
  std::vector<std::string> plugins;            ///< name=library
  bool vulkan = false;                         ///< also set in environment_config()
  std::string declared;                        ///< virtual devices, also set in environment_config()
  std::vector<std::string> disabled;           ///< names of passes and rules to leave out
  std::vector<int> threads{1};
  MediaOptions media;
  std::string resize;
  uint64_t seed = 1;
  bool random = true;  ///< true: inputs that are not given are random; false: only if no input is given at all
  bool json = false;
  bool parallel = false;  ///< independent branches run at the same time

  void add_json(CLI::App& app);
  void add_library(CLI::App& app);
  /// Adds --library, for commands that only Retort supports.
  void add_tools_library(CLI::App& app);
  void add_model_file(CLI::App& app);
  void add_shapes(CLI::App& app);
  /// Adds the model, the engine and its settings.
  void add_model(CLI::App& app);
  /// Adds --plugin, and the options by which plug-ins find devices.
  void add_plugins(CLI::App& app, const std::string& what);
  /// Adds --config, --provider and --plugin.
  void add_providers(CLI::App& app);
  void add_inputs(CLI::App& app);
  void add_media(CLI::App& app);
  /// `list`: several numbers, with commas between.
  void add_threads(CLI::App& app, const std::string& what, bool list = false);
  void add_against(CLI::App& app);
  void add_disable(CLI::App& app);
  SessionSettings settings(int thread_count) const;
  /// The model, and the files of --input.
  std::vector<NamedFile> files_read() const;
  /// Whether the command line has the option.
  bool given(const char* option) const {
    return command && command->get_option_no_throw(option) && command->count(option);
  }
  /// The model as results name it: its file, or "standard input".
  std::string model_name() const;
  /// The shapes that --shape gives, by input; an extent of the model as a shape of rank 1.
  std::map<std::string, std::vector<int64_t>> wanted_shapes() const;
  /// Reads the given files and values; other inputs are random, with free extents of the same size as equally named ones
  /// of other inputs, or 1. Throws Failure if a name or a shape does not fit the ports, and WrongUsage for an option that
  /// none of the inputs uses.
  HostValues read_inputs(const std::vector<PortInfo>& ports) const;
  /// The same options with the shapes of these inputs in place of --shape, for results that depend on the actual
  /// shapes.
  Common shaped_as(const HostValues& values) const;
};

std::pair<std::string, std::string> split_at(const std::string& text, char at, const char* form);
/// The path DIR/input_0.pb or .npy. Throws Failure if none or both of them exist.
std::string numbered_file(const std::string& folder, const char* prefix, size_t index);
/// The same, but "" if none exists.
std::string find_numbered_file(const std::string& folder, const char* prefix, size_t index);
/// Throws Failure if the folder has a file for more than `count` inputs or outputs.
void refuse_more_files(const std::string& folder, const char* prefix, size_t count);
/// For example "1x3x224x224" or "scalar".
std::string dims_text(const std::vector<int64_t>& shape);

/// The file of the model that the user calls `name`: for "-" (standard input) and for a pipe, a file in memory with what
/// comes through it, of which a command has at most one. Throws Failure if nothing comes.
std::string model_file(const std::string& name);
/// Makes read_piped_models() put the file's name in the place of the user's.
void read_when_parsed(std::string& model);
void read_piped_models();
/// The text with what the user calls the file in memory in place of its path.
std::string with_given_names(std::string text);

/// Throws WrongUsage for "-": only inputs can be a standard stream.
void refuse_dash(const std::string& option, const std::string& path);
/// Throws WrongUsage if two of the files that a command writes are the same one, or it reads one of them.
void check_distinct_files(const std::vector<NamedFile>& files, const std::vector<NamedFile>& read);
/// Throws WrongUsage if two of the paths that `option` gives are the same file or folder.
void refuse_same_files(const std::string& option, const std::vector<std::string>& paths);
/// check_distinct_files(), and throws Failure if one cannot be written.
void check_output_files(const std::vector<NamedFile>& files, const std::vector<NamedFile>& read);
/// Adds the file that a value of --input or --expected, which may be NAME=FILE, means, if there is one.
void add_read_file(std::vector<NamedFile>& read, const std::string& option, const std::string& value);

/// A subcommand. The file of its name in commands/ exports command_<name>, by which the build finds it.
struct Command {
  int place;  ///< in the help: smaller ones first
  void (*add)(CLI::App& app);
};

/// All commands, in the order of their files' names.
std::span<const Command* const> commands();

}  // namespace retort::cli
