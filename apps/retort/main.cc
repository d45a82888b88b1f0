// The command-line tool. Exit codes: 0 success, 1 the engine or a file reported an error, 2 wrong usage, 3 diff found a
// difference.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <vector>

#include "cli/commands.h"
#include "cli/usage.h"
#include "measure/allocations.h"

namespace {

constexpr const char* kExamples = R"(Examples:
  retort inspect model.onnx                          its inputs, outputs and nodes
  retort run model.onnx                              one run on random inputs
  retort run model.onnx -i image=cat.jpg --save out  inputs from files, outputs to out/NAME.npy
  retort bench model.onnx --threads 1,2              latency, load time, memory
  retort bench model.onnx --against libonnxruntime.so.1
                                                     the same beside another engine, in one process
  retort profile model.onnx --html profile.html      where the time goes
  retort diff model.onnx --against libonnxruntime.so.1
                                                     the first node where two engines differ
  retort convert model.onnx out.onnx --external w    weights beside the model

retort COMMAND --help lists the options of a command. Exit codes: 0 success, 1 the engine or a file reported an error,
2 wrong usage, 3 retort diff found a difference.)";

void add_commands(CLI::App& app) {
  const auto all = retort::cli::commands();
  std::vector<const retort::cli::Command*> commands(all.begin(), all.end());
  std::stable_sort(commands.begin(), commands.end(), [](auto* a, auto* b) { return a->place < b->place; });
  for (const retort::cli::Command* command : commands) command->add(app);
}

/// Runs the command and returns the exit code.
int run_command(int argc, char** argv) try {
  retort::cli::count_allocations(false);  // only counted on request, since it costs a little time
  CLI::App app{"Retort runs ONNX models.", "retort"};
  app.set_version_flag("--version", "retort " RETORT_VERSION);
  app.footer(kExamples);
  app.require_subcommand(0, 1);
  add_commands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    std::fprintf(stderr, "%s\n", retort::cli::unexpected_text(app, argc, argv).c_str());
    return retort::cli::kWrongUsage;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : retort::cli::kWrongUsage;
  }
  if (!app.get_subcommands().empty()) return 0;
  std::fputs(app.help().c_str(), stderr);
  return retort::cli::kWrongUsage;
} catch (const retort::cli::Exit& e) {
  return e.code;
} catch (const std::exception& e) {
  std::fprintf(stderr, "retort: %s\n", e.what());
  return retort::cli::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run_command(argc, argv);
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout) return code;
  std::fputs("retort: output is lost: writing to standard output failed; is the disk full?\n", stderr);
  return retort::cli::kFailed;
}
