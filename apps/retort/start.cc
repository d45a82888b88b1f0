#include "start.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "stats.h"

namespace retort::cli {
namespace {

/// A line of /proc/self/status in MiB, for example "VmRSS:".
double status_mib(const char* key) {
  double kib = 0;
  std::FILE* f = std::fopen("/proc/self/status", "r");
  if (!f) return 0;
  for (char line[256]; std::fgets(line, sizeof line, f);) {
    if (std::strncmp(line, key, std::strlen(key)) == 0) kib = std::atof(line + std::strlen(key));
  }
  std::fclose(f);
  return kib / 1024;
}

Start start(const Common& options, const std::string& library, int threads) {
  const EngineLibrary engine(library);
  Start s;
  const double before = status_mib("VmRSS:");
  SessionSettings settings = options.settings(threads);
  settings.warns = false;  // the session that is measured later does
  const auto begin = Clock::now();
  EngineSession session(engine, options.model, settings);
  s.load_ms = milliseconds(Clock::now() - begin);
  s.load_peak_mib = status_mib("VmHWM:") - before;
  HostValues inputs = options.read_inputs(session.inputs());
  BoundRun run(session, inputs);
  const auto loaded = Clock::now();
  run.run();
  s.first_ms = milliseconds(Clock::now() - loaded);
  s.peak_mib = status_mib("VmHWM:") - before;
  return s;
}

/// What the child says: its figures, or why there are none.
struct Report {
  Start start;
  char failure[1024] = "";
};

[[noreturn]] void run_child(int out, const Common& options, const std::string& library, int threads) {
  Report r;
  try {
    r.start = start(options, library, threads);
  } catch (const std::exception& e) {
    std::snprintf(r.failure, sizeof r.failure, "%s", e.what());
  }
  const bool said = write(out, &r, sizeof r) == ssize_t(sizeof r);
  _exit(said ? 0 : 1);
}

}  // namespace

Start measure_start(const Common& options, const std::string& library, int threads) {
  int ends[2];
  if (pipe(ends) != 0) throw Failure("cannot make a pipe");
  const pid_t child = fork();
  if (child < 0) throw Failure("cannot start a process");
  if (child == 0) run_child(ends[1], options, library, threads);
  close(ends[1]);
  Report r;
  const bool said = read(ends[0], &r, sizeof r) == ssize_t(sizeof r);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!said) throw Failure("the process that loaded the model with " + library + " ended without an answer");
  if (r.failure[0]) throw Failure(r.failure);
  return r.start;
}

Start median(std::vector<Start> starts) {
  std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.total_ms() < b.total_ms(); });
  return starts[starts.size() / 2];
}

}  // namespace retort::cli
