// The command-line tool. Exit codes: 0 done, 1 the engine or a file said no, 2 and above wrong usage.
#include "commands.h"

int main(int argc, char** argv) {
  CLI::App app{
      "Retort runs ONNX models.\nEvery command goes through the C interface, so --library may be any ONNX Runtime "
      "compatible engine."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "retort 0.1.0");
  app.footer("Start with: retort inspect MODEL, then retort run MODEL, then retort bench MODEL --against LIBRARY.");
  retort::cli::add_run(app);
  retort::cli::add_inspect(app);
  retort::cli::add_bench(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? 0 : 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "retort: %s\n", e.what());
    return 1;
  }
  return 0;
}
