#include "bench/start.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bench/side.h"
#include "cli/interrupt.h"
#include "measure/stats.h"

namespace retort::cli {
namespace {

using nlohmann::json;

/// A number of /proc/self/status in MiB, for example "VmRSS:".
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

constexpr int kMoreRuns = 3;  // runs after which nothing is allocated any more

json start(const Common& options, const std::string& library, int threads, HostValues& inputs) {
  const auto side = open_side(library);
  SessionSettings settings = options.settings(threads);
  settings.warns = false;  // the session that is measured later warns
  const double before = status_mib("VmRSS:");
  const auto begin = Clock::now();
  side->load(options.model, settings);
  const double load_ms = milliseconds(Clock::now() - begin), load_peak_mib = status_mib("VmHWM:") - before;
  side->bind(inputs);
  const auto loaded = Clock::now();
  side->run();
  const double first_ms = milliseconds(Clock::now() - loaded);
  const double peak_mib = status_mib("VmHWM:") - before;
  side->keep_outputs();
  for (int i = 0; i < kMoreRuns; ++i) side->run();
  return json::array({load_ms, first_ms, load_peak_mib, peak_mib, status_mib("VmRSS:") - before});
}

json ports_json(const std::vector<PortInfo>& ports) {
  json all = json::array();
  for (const PortInfo& p : ports)
    all.push_back(json::array({p.name, int(p.type), p.shape, p.symbols, p.ranked, int(p.kind)}));
  return all;
}

std::vector<PortInfo> read_ports(const json& told) {
  std::vector<PortInfo> all;
  for (const json& p : told)
    all.push_back({p[0], ONNXTensorElementDataType(p[1].get<int>()), p[2], p[3], p[4], ONNXType(p[5].get<int>())});
  return all;
}

/// The child writes the result of `answer`, or {"failure": the reason} on an error. In CBOR, which supports names of
/// any bytes.
[[noreturn]] void run_child(int out, const std::function<json()>& answer) {
  json told;
  try {
    told = answer();
  } catch (const std::exception& e) {
    told = {{"failure", e.what()}};
  }
  const std::vector<uint8_t> bytes = json::to_cbor(told);
  size_t said = 0;
  for (ssize_t n = 1; n > 0 && said < bytes.size(); said += size_t(std::max<ssize_t>(n, 0)))
    n = write(out, bytes.data() + said, bytes.size() - said);
  _exit(said == bytes.size() ? 0 : 1);
}

json in_child(const std::string& library, const std::function<json()>& answer) {
  int ends[2];
  if (pipe(ends) != 0) throw Failure("cannot make a pipe");
  const pid_t child = fork();
  if (child < 0) throw Failure("cannot start a process");
  if (child == 0) {
    forget_interrupt();
    run_child(ends[1], answer);
  }
  close(ends[1]);
  std::vector<uint8_t> bytes;
  uint8_t piece[4096];
  {
    InterruptedChild also(child);
    for (ssize_t n = 0; (n = read(ends[0], piece, sizeof piece)) > 0;) bytes.insert(bytes.end(), piece, piece + n);
    also.wait();
  }
  close(ends[0]);
  json told = json::from_cbor(bytes, true, false);
  end_if_interrupted_early();
  if (told.is_discarded()) throw Failure("the process that used " + library + " ended without an answer");
  if (told.is_object()) throw Failure(told["failure"].get<std::string>());
  return told;
}

}  // namespace

Ports ports_apart(const Common& options, const std::string& library) {
  const json told = in_child(library, [&]() -> json {
    const EngineLibrary engine(library);
    SessionSettings settings = options.settings(1);
    settings.warns = false;
    settings.optimization = ORT_DISABLE_ALL;
    const EngineSession session(engine, options.model, settings);
    return json::array({ports_json(session.inputs()), ports_json(session.outputs())});
  });
  return {read_ports(told[0]), read_ports(told[1])};
}

std::string name_apart(const std::string& library) {
  return in_child(library, [&]() -> json { return open_side(library)->name(); });
}

Start measure_start(const Common& options, const std::string& library, int threads, HostValues& inputs) {
  malloc_trim(0);  // free memory that is still resident would hide how much of it the engine uses
  const json told = in_child(library, [&] { return start(options, library, threads, inputs); });
  return {told[0], told[1], told[2], told[3], told[4]};
}

Start median(std::vector<Start> starts) {
  std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.total_ms() < b.total_ms(); });
  return starts[starts.size() / 2];
}

}  // namespace retort::cli
