// Measures how much memory and processor time an engine uses and frees, through the C interface: one scenario per
// process, one line of JSON.
//
//   frugal LIBRARY give_back MODEL       memory after small runs, and after a large one between them; x [n] -> y
//   frugal LIBRARY second_session MODEL  private memory that a second session of the file adds
//   frugal LIBRARY terminate MODEL       from RunOptionsSetTerminate inside a run to its end; x [n, n] -> y
//   frugal LIBRARY budget MODEL          a run that needs more than session.memory_budget_bytes; x [n] -> y
//   frugal LIBRARY threads MODEL         threads of a session with default options on one processor
//   frugal LIBRARY fork MODEL            a child runs its parent's session on two threads; x [n, n] -> y
//
// bench/frugal/frugal.py makes the models and drives it.
#define RETORT_API_DLOPEN
#include <malloc.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <retort/retort.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace api = retort::api;
using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double, std::milli>(b - a).count();
}

/// A number of /proc/self/smaps_rollup in MiB, for example "Rss:".
double mib(const char* key) {
  std::ifstream maps("/proc/self/smaps_rollup");
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with(key)) return std::stod(line.substr(std::strlen(key))) / 1024;
  }
  throw std::runtime_error("/proc/self/smaps_rollup cannot be read");
}
double private_mib() { return mib("Private_Clean:") + mib("Private_Dirty:"); }

std::vector<float> input(std::span<const int64_t> shape) {
  size_t n = 1;
  for (const int64_t d : shape) n *= size_t(d);
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = float(i % 13) / 16;
  return x;
}

std::vector<float> run(api::Session& session, std::span<const int64_t> shape) {
  std::vector<float> x = input(shape);
  const api::Value value = api::Value::wrap(x, api::ShapeView(shape));
  const api::Value y = std::move(session.run({{"x", value}}, {"y"})[0]);
  const std::span<const float> data = y.data<float>();
  return {data.begin(), data.begin() + ptrdiff_t(std::min<size_t>(data.size(), 64))};
}

struct Setting {
  const char* model;
  api::Env env{ORT_LOGGING_LEVEL_FATAL};
  api::Session open(int threads = 2) const {
    api::SessionOptions options;
    options.threads(threads);
    return {env, model, options};
  }
};

void give_back(const Setting& s) {
  constexpr int64_t kLarge[] = {64 << 20}, kSmall[] = {1024};  // floats: 256 MiB, 4 KiB
  api::Session session = s.open();
  for (int i = 0; i < 100; ++i) run(session, kSmall);
  const double small = mib("Rss:");
  run(session, kLarge);
  const double large = mib("Rss:");
  for (int i = 0; i < 100; ++i) run(session, kSmall);
  const double after = mib("Rss:");
  std::printf("{\"small_mib\": %.1f, \"large_mib\": %.1f, \"after_mib\": %.1f, \"ratio\": %.3f}\n", small, large, after,
              after / small);
}

void second_session(const Setting& s) {
  constexpr int64_t kShape[] = {1, 4096};
  const double none = private_mib();
  api::Session first = s.open();
  const std::vector<float> y = run(first, kShape);
  const double one = private_mib();
  api::Session second = s.open();
  const bool same = run(second, kShape) == y;
  const double two = private_mib();
  std::printf("{\"first_mib\": %.1f, \"second_mib\": %.1f, \"same\": %s}\n", one - none, two - one,
              same ? "true" : "false");
}

void terminate(const Setting& s) {
  constexpr int64_t kSmall[] = {64, 64}, kLarge[] = {6144, 6144};
  api::Session session = s.open(1);
  run(session, kSmall);
  auto begin = Clock::now();
  run(session, kLarge);
  const double whole = ms_between(begin, Clock::now());
  std::vector<double> reactions;
  bool errors = true;
  std::vector<float> x = input(kLarge);  // lives through all runs: to free its 144 MiB takes 10 ms
  const api::Value value = api::Value::wrap(x, api::ShapeView(kLarge));
  for (int i = 0; i < 5; ++i) {
    api::RunOptions options;
    Clock::time_point asked;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(int(whole / 3) + 7 * i));
      asked = Clock::now();
      options.terminate();
    });
    bool failed = false;
    try {
      session.run({{"x", value}}, {"y"}, options);
    } catch (const api::Error&) {
      failed = true;
    }
    const auto end = Clock::now();
    other.join();
    errors &= failed;
    reactions.push_back(ms_between(asked, end));
  }
  std::sort(reactions.begin(), reactions.end());
  std::printf("{\"whole_ms\": %.0f, \"median_ms\": %.2f, \"worst_ms\": %.2f, \"error\": %s}\n", whole, reactions[2],
              reactions[4], errors ? "true" : "false");
}

void budget(const Setting& s) {
  constexpr int64_t kSmall[] = {1024}, kLarge[] = {64 << 20};
  api::SessionOptions options;
  options.config("session.memory_budget_bytes", "67108864");
  api::Session session(s.env, s.model, options);
  run(session, kSmall);
  const double before = mib("Rss:");
  std::string message;
  try {
    run(session, kLarge);
  } catch (const api::Error& e) {
    message = e.what();
  }
  std::replace(message.begin(), message.end(), '"', '\'');
  std::replace(message.begin(), message.end(), '\n', ' ');
  run(session, kSmall);
  std::printf("{\"refused\": %s, \"grew_mib\": %.1f, \"message\": \"%s\"}\n", message.empty() ? "false" : "true",
              mib("Rss:") - before, message.c_str());
}

long thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

void threads(const Setting& s) {
  const long before = thread_count();
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set) && kept++ > 0) CPU_CLR(cpu, &set);
  }
  sched_setaffinity(0, sizeof set, &set);
  api::Session session = s.open(0);
  constexpr int64_t kShape[] = {512, 512};
  run(session, kShape);
  std::printf("{\"threads\": %ld}\n", thread_count() - before + 1);
}

void forked(const Setting& s) {
  constexpr int64_t kShape[] = {512, 512};
  api::Session session = s.open(2);
  const std::vector<float> y = run(session, kShape);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    const bool same = run(session, kShape) == y;
    _exit(same ? int(thread_count()) : 99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const char* outcome = code < 0 ? "hangs" : code == 99 ? "differs" : "runs";
  std::printf("{\"child\": \"%s\", \"threads\": %d}\n", outcome, std::max(code, 0) % 99);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::map<std::string, void (*)(const Setting&)> scenarios = {
      {"give_back", give_back}, {"second_session", second_session},
      {"terminate", terminate}, {"budget", budget},
      {"threads", threads},     {"fork", forked}};
  const auto chosen = argc == 4 ? scenarios.find(argv[2]) : scenarios.end();
  if (chosen == scenarios.end()) {
    std::fprintf(stderr, "usage: frugal LIBRARY give_back|second_session|terminate|budget|threads|fork MODEL\n");
    return 2;
  }
  api::Library::load(argv[1]);
  chosen->second({.model = argv[3]});
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "frugal: %s\n", e.what());
  return 1;
}
