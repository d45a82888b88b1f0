#include "suite.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "engine.h"
#include "terminal.h"

namespace retort::cli {
namespace {

std::string read_all(int fd) {
  std::string text;
  char piece[4096];
  for (ssize_t n = 0; (n = read(fd, piece, sizeof piece)) > 0;) text.append(piece, size_t(n));
  return text;
}

struct Ended {
  int code;
  std::string out, err;
};

/// Standard error goes to a file, so that a child that says much never waits for a reader.
Ended run_self(const std::vector<std::string>& arguments) {
  std::vector<char*> argv{const_cast<char*>("retort")};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  int out[2];
  std::FILE* err = std::tmpfile();
  if (!err || pipe(out) != 0) throw Failure("cannot make a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(err), STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, out[0]);
  pid_t child = 0;
  const int failed = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  if (failed) throw Failure("cannot start a process");
  Ended ended{0, read_all(out[0]), ""};
  close(out[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  lseek(fileno(err), 0, SEEK_SET);
  ended.err = read_all(fileno(err));
  std::fclose(err);
  return ended;
}

}  // namespace

nlohmann::json run_suite(const std::string& folder,
                         const std::function<std::vector<std::string>(const std::string& model)>& arguments) {
  std::vector<std::string> models;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") models.push_back(entry.path().string());
  }
  if (models.empty()) throw Failure("there is no .onnx file in " + folder);
  std::sort(models.begin(), models.end());
  nlohmann::json all = nlohmann::json::array();
  Progress progress("models");
  for (const std::string& model : models) {
    progress.show(double(all.size()) / double(models.size()));
    const Ended ended = run_self(arguments(model));
    nlohmann::json row = {{"model", model}};
    if (ended.code == 0)
      row["report"] = nlohmann::json::parse(ended.out);
    else
      row["error"] = ended.err.empty() ? "ended with " + std::to_string(ended.code)
                                       : ended.err.substr(0, ended.err.find_last_not_of('\n') + 1);
    all.push_back(std::move(row));
  }
  return all;
}

}  // namespace retort::cli
