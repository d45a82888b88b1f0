// The command-line tool. Exit codes: 0 success, 1 the engine or a file reported an error, 2 wrong usage, 3 results
// differ, 129, 130 and 143 interrupted.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "cli/text.h"
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

retort COMMAND --help lists the options of a command. Exit codes: 0 success, 1 the engine or a file reported an error, 2 wrong usage, 3 results differ (diff, run --expected), 129, 130 and 143 interrupted by SIGHUP, Ctrl-C and SIGTERM after partial results. With --json, a command that fails prints {"error": the message, "exit_code": 1 or 2}.)";

void add_commands(CLI::App& app) {
  const auto all = retort::cli::commands();
  std::vector<const retort::cli::Command*> commands(all.begin(), all.end());
  std::stable_sort(commands.begin(), commands.end(), [](auto* a, auto* b) { return a->place < b->place; });
  for (const retort::cli::Command* command : commands) command->add(app);
}

bool asks_json(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* word) { return std::strcmp(word, "--json") == 0; });
}

/// Tells an error on standard error, and as JSON on standard output if the command line asks for JSON.
int fail(int code, const std::string& text, int argc, char** argv) {
  const std::string message = retort::cli::with_given_names(text);
  std::fprintf(stderr, "%s\n", retort::cli::clean_lines(message).c_str());
  if (asks_json(argc, argv))
    retort::cli::print_json({{"error", message.substr(message.find(": ") + 2)}, {"exit_code", code}});
  return code;
}

/// The name of the program and its command, in front of messages about usage. Before the words are parsed, the command
/// is the first word.
std::string place(const CLI::App& app, int argc, char** argv) {
  const auto chosen = app.get_subcommands();
  if (!chosen.empty()) return "retort " + chosen[0]->get_name();
  const auto named = app.get_subcommands([&](const CLI::App* sub) { return argc > 1 && sub->check_name(argv[1]); });
  return named.empty() ? "retort" : "retort " + named[0]->get_name();
}

int wrong_usage(const CLI::App& app, const std::string& text, int argc, char** argv) {
  const std::string command = place(app, argc, argv);
  return fail(retort::cli::kWrongUsage, command + ": " + text + "\n" + command + " --help lists its options.", argc,
              argv);
}

/// Refuses "--save=", for which the parser would take the next word as the value.
void check_values(int argc, char** argv) {
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    const std::string word = argv[i];
    if (word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1)
      throw CLI::ValidationError(word.substr(0, word.size() - 1), "the value is missing");
  }
}

int parse(CLI::App& app, int argc, char** argv) try {
  check_values(argc, argv);
  app.parse(argc, argv);
  if (!app.get_subcommands().empty()) return 0;
  std::fprintf(stderr, "retort: name a command\n\n%s", retort::cli::help_of_program(app, 80).c_str());
  return retort::cli::kWrongUsage;
} catch (const CLI::ExtrasError&) {
  return fail(retort::cli::kWrongUsage, retort::cli::unexpected_text(app, argc, argv), argc, argv);
} catch (const CLI::CallForHelp&) {
  const auto chosen = app.get_subcommands();
  const size_t width = retort::cli::terminal_width();
  std::fputs(
      (chosen.empty() ? retort::cli::help_of_program(app, width) : retort::cli::help_of_command(*chosen[0], width))
          .c_str(),
      stdout);
  return 0;
} catch (const CLI::CallForVersion&) {
  if (asks_json(argc, argv))
    retort::cli::print_json({{"version", RETORT_VERSION}});
  else
    std::puts("retort " RETORT_VERSION);
  return 0;
} catch (const CLI::ParseError& e) {
  return wrong_usage(app, retort::cli::parse_error_text(e), argc, argv);
} catch (const retort::cli::WrongUsage& e) {
  return wrong_usage(app, e.what(), argc, argv);
}

/// Runs the command and returns the exit code. Messages are ours, because users do not know the libraries that the program consists of.
int run_command(int argc, char** argv) try {
  retort::cli::count_allocations(false);  // only counted on request, since it costs a little time
  CLI::App app{"Retort runs ONNX models.", "retort"};
  app.set_version_flag("--version", "retort " RETORT_VERSION);
  app.footer(kExamples);
  app.require_subcommand(0, 1);
  // After all words are known to be right, and before the command: it may wait for a pipe.
  app.parse_complete_callback(retort::cli::read_piped_models);
  add_commands(app);
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    sub->get_help_ptr()->description("show this help");
    for (CLI::Option* option : sub->get_options()) {
      if (option->get_items_expected_max() == 0) option->disable_flag_override();  // --nodes=3 is an error
    }
    retort::cli::refuse_empty_values(*sub);
    retort::cli::refuse_repeated_values(*sub);
  }
  return parse(app, argc, argv);
} catch (const retort::cli::Exit& e) {
  return e.code;
} catch (const retort::cli::Failure& e) {
  return fail(retort::cli::kFailed, std::string("retort: ") + e.what(), argc, argv);
} catch (const std::filesystem::filesystem_error& e) {
  return fail(retort::cli::kFailed, "retort: '" + e.path1().string() + "': " + e.code().message(), argc, argv);
} catch (const std::bad_alloc&) {
  return fail(retort::cli::kFailed, "retort: there is not enough memory", argc, argv);
} catch (const std::length_error&) {
  return fail(retort::cli::kFailed, "retort: there is not enough memory", argc, argv);
} catch (const nlohmann::json::exception&) {
  return fail(retort::cli::kFailed,
              "retort: the engine described something in a form that this program does not know; "
              "use the library of the same version",
              argc, argv);
} catch (const std::exception&) {
  return fail(retort::cli::kFailed, "retort: an internal error; please report the command with its model", argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run_command(argc, argv);
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout) return code;
  std::fputs("retort: output is lost: writing to standard output failed; is the disk full?\n", stderr);
  return retort::cli::kFailed;
}
