// Runs test cases on one engine library and writes a row per case.
//
//   run_cases LIBRARY MANIFEST RESULTS [--threads N] [--level N] [--repeat N] [--timeout SECONDS]
//             [--saved-by LIBRARY [--saved-as ORT]]
//             [--provider NAME=LIBRARY [--option KEY=VALUE]... [--log TEXT]] [--env KEY=VALUE]...
//
// --level is a GraphOptimizationLevel, 0 for none. With --saved-by, each model is replaced by what that library saves
// at that level, in ORT format with --saved-as. With --provider, that provider of a plug-in library has priority over
// the CPU, and rows end with the number of nodes that it runs; with --log, also with the lines of the log that contain
// TEXT. --env sets configuration entries of the environment.
//
// A line of the manifest: name, rule (close|scale|shape), relative tolerance, absolute tolerance, model, data set
// folders..., separated by tabs. A folder has input_K.pb and output_K.pb. A file whose tensor has the name of an input
// is fed to that input; otherwise K is its position. A row of the results: name, pass or fail, class, worst error over
// allowed error, milliseconds to load, milliseconds of the fastest run, message. Classes: save/CODE, load/CODE and
// run/CODE (the engine's error), count, dtype, shape, value, case (the files do not fit the model), crash, timeout.
//
// Cases run in a forked worker, so that a crash or a hang affects only one case.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <tuple>

#include "compare.h"
#include "engine.h"

namespace retort::conformance {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Case {
  std::string name;
  Tolerance tolerance;
  std::string model;
  std::vector<std::string> data_sets;
};

struct Result {
  std::string reason;  // empty: pass
  std::string message, heard;
  double worst = 0, load_ms = 0, run_ms = 0;
  size_t claimed = 0;
};

struct Options {
  std::string library, manifest, results, saved_by, saved_as, log;
  int threads = 1, level = ORT_ENABLE_ALL, repeat = 1, timeout_s = 120;
  ProviderChoice provider;
  Entries environment, session;
};

std::vector<Case> read_manifest(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::vector<std::string> f;
    for (std::string field; std::getline(fields, field, '\t');) f.push_back(field);
    if (f.size() < 6) throw std::runtime_error("short line in the manifest: " + line);
    Case c{f[0], {}, f[4], {f.begin() + 5, f.end()}};
    using Rule = Tolerance::Rule;
    c.tolerance = {f[1] == "scale"   ? Rule::scale
                   : f[1] == "shape" ? Rule::shape
                                     : Rule::close,
                   std::stod(f[2]), std::stod(f[3])};
    cases.push_back(std::move(c));
  }
  return cases;
}

std::string file_of(const std::string& folder, const char* what, size_t k) {
  return folder + "/" + what + "_" + std::to_string(k) + ".pb";
}

// The values of a data set, with the port of each.
struct Feed {
  std::vector<Value> values;
  std::vector<size_t> ports;
};

Feed read_feed(const std::string& folder, const std::vector<Port>& ports) {
  Feed feed;
  for (size_t k = 0; std::filesystem::exists(file_of(folder, "input", k)); ++k) {
    if (k >= ports.size()) throw std::runtime_error("more input files than inputs");
    Value v = read_value(file_of(folder, "input", k), ports[k].type.kind);
    const auto named = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.name == v.name; });
    feed.ports.push_back(named == ports.end() ? k : static_cast<size_t>(named - ports.begin()));
    feed.values.push_back(std::move(v));
  }
  return feed;
}

std::optional<Difference> check_outputs(const Engine& engine, const std::string& folder, const Session& session,
                                        const std::vector<Handle<OrtValue>>& outputs, const Tolerance& tolerance,
                                        double* worst) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    const std::string file = file_of(folder, "output", k);
    if (!std::filesystem::exists(file)) return Difference{"count", "the model has more outputs than expected"};
    const Value expected = read_value(file, session.outputs()[k].type.kind);
    auto difference = compare(expected, engine.from_engine(outputs[k].get()), tolerance, worst);
    if (!difference) continue;
    difference->message.insert(0, "output " + std::to_string(k) + ": ");
    return difference;
  }
  if (std::filesystem::exists(file_of(folder, "output", outputs.size())))
    return Difference{"count", "the model has fewer outputs than expected"};
  return std::nullopt;
}

void run_data_set(Engine& engine, Session& session, const Case& c, const std::string& folder, int repeat, Result& r) {
  Feed feed = read_feed(folder, session.inputs());
  std::vector<Handle<OrtValue>> values;
  for (size_t k = 0; k < feed.values.size(); ++k)
    values.push_back(engine.to_engine(feed.values[k], session.inputs()[feed.ports[k]].type));
  double fastest = 0;
  for (int n = 0; n < repeat; ++n) {
    const auto start = Clock::now();
    const auto outputs = session.run(feed.ports, values);
    fastest = n == 0 ? ms_since(start) : std::min(fastest, ms_since(start));
    if (n > 0) continue;
    const auto difference = check_outputs(engine, folder, session, outputs, c.tolerance, &r.worst);
    if (difference && r.reason.empty()) r.reason = difference->reason, r.message = difference->message;
  }
  r.run_ms += fastest;
}

/// A temporary file name; the destructor removes the file if it exists.
struct Temporary {
  /// ONNX Runtime detects ORT format by the suffix.
  explicit Temporary(bool ort) {
    path =
        std::filesystem::temp_directory_path() / ("run_cases_" + std::to_string(getpid()) + (ort ? ".ort" : ".onnx"));
  }
  std::string path;
  ~Temporary() { unlink(path.c_str()); }
};

Result run_case(Engine& engine, const Engine* saver, const Case& c, const Options& o) {
  Result r;
  const Temporary saved(o.saved_as == "ORT");
  const char* stage = "save/";
  try {
    if (saver) saver->save_optimized(c.model, saved.path, o.saved_as);
    stage = "load/";
    const auto start = Clock::now();
    Session session(engine, saver ? saved.path : c.model);
    r.load_ms = ms_since(start);
    r.claimed = session.claimed();
    stage = "run/";
    for (const std::string& folder : c.data_sets) run_data_set(engine, session, c, folder, o.repeat, r);
  } catch (const EngineError& e) {
    r.reason = std::string(stage) + code_name(e.code());
    r.message = e.what();
  } catch (const std::exception& e) {
    r.reason = "case";
    r.message = e.what();
  }
  if (!o.log.empty()) r.heard = engine.heard(o.log);
  return r;
}

std::string one_line(std::string s) {
  for (char& ch : s)
    if (static_cast<unsigned char>(ch) < ' ') ch = ' ';
  return s;
}

std::string row(const Case& c, const Result& r, const Options& o) {
  std::string message = one_line(r.message);
  if (message.size() > 400) message.resize(400);
  std::ostringstream numbers;  // not printf(), which uses the worker's locale
  numbers << std::setprecision(3) << r.worst << std::fixed << "\t" << r.load_ms << "\t" << r.run_ms;
  if (!o.provider.name.empty()) message += "\t" + std::to_string(r.claimed);
  if (!o.log.empty()) message += "\t" + one_line(r.heard);
  return c.name + "\t" + (r.reason.empty() ? "pass" : "fail") + "\t" + r.reason + "\t" + numbers.str() + "\t" +
         message + "\n";
}

constexpr int kUnusable = 3;  // exit code of a worker that cannot use the library at all

[[noreturn]] void work(const Options& o, const std::vector<Case>& cases, size_t first, int out) {
  int code = 0;
  std::setlocale(LC_ALL, "");  // as many hosts do: no result may depend on the locale
  try {
    Engine engine(o.library, o.threads, o.saved_by.empty() ? o.level : ORT_ENABLE_ALL, o.environment, !o.log.empty());
    engine.configure(o.session);
    if (!o.provider.name.empty()) engine.use_provider(o.provider);
    const auto saver = o.saved_by.empty() ? nullptr : std::make_unique<Engine>(o.saved_by, o.threads, o.level);
    for (size_t k = first; k < cases.size(); ++k) {
      const std::string line = row(cases[k], run_case(engine, saver.get(), cases[k], o), o);
      if (write(out, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    code = kUnusable;
  }
  std::exit(code);  // not _exit: leak checkers report at exit
}

// Copies rows from a worker until it ends; returns how many, and whether the last case hung.
struct Share {
  size_t rows = 0;
  bool hung = false;
};

Share collect(int in, FILE* results, int timeout_s) {
  Share share;
  std::string buffer;
  while (true) {
    pollfd p{in, POLLIN, 0};
    if (poll(&p, 1, timeout_s * 1000) <= 0) {
      share.hung = true;
      break;
    }
    char block[4096];
    const ssize_t n = read(in, block, sizeof block);
    if (n <= 0) break;
    buffer.append(block, static_cast<size_t>(n));
    const size_t end = buffer.rfind('\n') + 1;  // 0 if there is no complete line yet
    share.rows += static_cast<size_t>(std::count(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(end), '\n'));
    std::fwrite(buffer.data(), 1, end, results);
    buffer.erase(0, end);
  }
  return share;
}

int run_all(const Options& o) {
  const std::vector<Case> cases = read_manifest(o.manifest);
  FILE* results = std::fopen(o.results.c_str(), "w");
  if (!results) throw std::runtime_error("cannot write " + o.results);
  for (size_t next = 0; next < cases.size();) {
    std::fflush(results);
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t worker = fork();
    if (worker < 0) throw std::runtime_error("no process");
    if (worker == 0) {
      close(ends[0]);
      work(o, cases, next, ends[1]);
    }
    close(ends[1]);
    const Share share = collect(ends[0], results, o.timeout_s);
    close(ends[0]);
    if (share.hung) kill(worker, SIGKILL);
    int status = 0;
    waitpid(worker, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kUnusable) return kUnusable;
    next += share.rows;
    const std::string how = WIFSIGNALED(status) ? std::string("signal ") + strsignal(WTERMSIG(status))
                                                : "exit " + std::to_string(WEXITSTATUS(status));
    if (next >= cases.size()) {
      std::fclose(results);
      if (status) throw std::runtime_error("after the last case the worker ended with " + how);
      return 0;
    }
    const Result lost{share.hung ? "timeout" : "crash", share.hung ? "no result in time" : how};
    std::fputs(row(cases[next], lost, o).c_str(), results);
    ++next;
  }
  std::fclose(results);
  return 0;
}

// The parts before and after "=".
std::pair<std::string, std::string> halves(const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos) throw std::runtime_error("'" + text + "' should have the form NAME=VALUE");
  return {text.substr(0, at), text.substr(at + 1)};
}

Options parse(int argc, char** argv) {
  Options o;
  std::vector<std::string> plain;
  for (int k = 1; k < argc; ++k) {
    const std::string a = argv[k];
    int* number = a == "--threads"   ? &o.threads
                  : a == "--level"   ? &o.level
                  : a == "--repeat"  ? &o.repeat
                  : a == "--timeout" ? &o.timeout_s
                                     : nullptr;
    if (a == "--saved-by" && k + 1 < argc) {
      o.saved_by = argv[++k];
    } else if (a == "--saved-as" && k + 1 < argc) {
      o.saved_as = argv[++k];
    } else if (a == "--provider" && k + 1 < argc) {
      std::tie(o.provider.name, o.provider.library) = halves(argv[++k]);
    } else if (a == "--log" && k + 1 < argc) {
      o.log = argv[++k];
    } else if (a == "--option" && k + 1 < argc) {
      o.provider.options.push_back(halves(argv[++k]));
    } else if (a == "--config" && k + 1 < argc) {
      o.session.push_back(halves(argv[++k]));
    } else if (a == "--env" && k + 1 < argc) {
      o.environment.push_back(halves(argv[++k]));
    } else if (!number) {
      plain.push_back(a);
    } else if (++k < argc) {
      *number = std::stoi(argv[k]);
    }
  }
  if (plain.size() != 3)
    throw std::runtime_error(
        "usage: run_cases LIBRARY MANIFEST RESULTS [--threads N] [--level N] [--repeat N] [--timeout SECONDS] "
        "[--saved-by LIBRARY [--saved-as ORT]] [--provider NAME=LIBRARY [--option KEY=VALUE]... [--log TEXT]] "
        "[--config KEY=VALUE]... [--env KEY=VALUE]...");
  o.library = plain[0], o.manifest = plain[1], o.results = plain[2];
  return o;
}

}  // namespace
}  // namespace retort::conformance

int main(int argc, char** argv) {
  try {
    return retort::conformance::run_all(retort::conformance::parse(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
