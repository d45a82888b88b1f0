// The subcommands. Each adds itself to the program and runs when it was chosen.
#pragma once
#include <CLI/CLI.hpp>

#include "engine.h"

namespace retort::cli {

/// A file that there is.
inline const CLI::Validator kFile = CLI::ExistingFile.description("");

/// Options that subcommands share.
struct Common {
  std::string model, library;
  std::vector<std::string> inputs;  ///< name=file, or file where the model has one input
  std::string input_folder;         ///< input_0.pb, input_1.npy, …: in the order of the model's inputs
  std::vector<std::string> shapes;  ///< name=1x3x224x224
  std::vector<std::string> config;  ///< key=value
  std::vector<int> threads{1};
  uint64_t seed = 1;
  bool json = false;

  void add_model(CLI::App& app);
  void add_inputs(CLI::App& app);
  void add_threads(CLI::App& app, const std::string& what);
  SessionSettings settings(int thread_count) const;
  /// Given files first; what is not given is random. Throws Failure when a name or a shape does not fit the ports.
  std::map<std::string, HostTensor> read_inputs(const std::vector<PortInfo>& ports) const;
};

void add_run(CLI::App& app);
void add_inspect(CLI::App& app);
void add_bench(CLI::App& app);

}  // namespace retort::cli
