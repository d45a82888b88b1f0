// retort profile: shows where the time of a run goes.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <tuple>

#include "cli/terminal.h"
#include "engine/tools_library.h"
#include "measure/peak.h"
#include "measure/stats.h"
#include "measure/traced.h"
#include "web/page.h"

namespace retort::cli {
namespace {

using nlohmann::json;

struct ProfileOptions : Common {
  int repeat = 20;
  size_t nodes = 10;
  std::string trace, html;
};

/// All nodes with one name and operator: in bodies, they run several times.
struct Row {
  std::string name, op;
  std::string within;       ///< the node that has it in a body, or ""
  double milliseconds = 0;  ///< without nodes in bodies
  double operations = 0;    ///< NaN: unknown
};

/// One run, the one with the median time: its rows and the time outside of nodes add up to its time.
struct Profile {
  double median_ms = 0, overhead_ms = 0;  ///< time of the run, and the part of it outside of nodes
  double peak = 0;                        ///< operations per second
  std::vector<Row> rows;                  ///< slowest first
  TracedRun run;
};

constexpr int kWarm = 3;  // runs that do not count: they plan memory and fill caches

std::vector<TracedRun> trace_runs(const ProfileOptions& o, HostValues& inputs) {
  const EngineLibrary engine(default_library(o.library));
  TracedSession traced(engine, o.model, o.settings(o.threads.at(0)));
  inputs = o.read_inputs(traced.session().inputs());
  traced.bind(inputs);
  Progress progress("profiling");
  for (int i = 0; i < o.repeat + kWarm; ++i) {
    traced.run();
    progress.show(double(i + 1) / (o.repeat + kWarm));
  }
  std::vector<TracedRun> runs = traced.runs();
  if (runs.size() <= size_t(kWarm)) throw Failure("the engine's profile has no runs in it");
  runs.erase(runs.begin(), runs.begin() + kWarm);
  return runs;
}

Profile summarise(std::vector<TracedRun> runs, const json& model, int threads) {
  const auto median = runs.begin() + ptrdiff_t((runs.size() - 1) / 2);
  std::nth_element(runs.begin(), median, runs.end(),
                   [](const TracedRun& a, const TracedRun& b) { return a.duration < b.duration; });
  Profile p{.median_ms = median->duration / 1000, .run = std::move(*median)};
  std::map<std::tuple<std::string, std::string, std::string>, double> times;
  double inside = 0;
  for (const NodeEvent& n : p.run.nodes) {
    times[{n.name, n.op, n.within}] += n.self / 1000;
    inside += n.self / 1000;
  }
  p.overhead_ms = std::max(0.0, p.median_ms - inside);
  p.peak = peak_flops(threads);
  const auto work = operations_by_name(model);
  for (const auto& [key, time] : times) {
    const auto& [name, op, within] = key;
    const auto found = within.empty() ? work.find(name) : work.end();
    p.rows.push_back({name, op, within, time, found == work.end() ? std::nan("") : found->second});
  }
  std::stable_sort(p.rows.begin(), p.rows.end(),
                   [](const Row& a, const Row& b) { return a.milliseconds > b.milliseconds; });
  return p;
}

json row_json(const Profile& p, double milliseconds, double operations) {
  json row = {{"milliseconds", milliseconds}, {"share", 100 * milliseconds / std::max(p.median_ms, 1e-9)}};
  if (operations > 0 && milliseconds > 0) {
    const double rate = operations / milliseconds * 1000;
    row.update({{"operations", operations}, {"gflops", rate / 1e9}, {"peak_share", 100 * rate / p.peak}});
  }
  return row;
}

json report(const ProfileOptions& o, const Profile& p, const std::string& engine) {
  json all = {{"engine", engine},           {"threads", o.threads.at(0)},  {"runs", o.repeat},
              {"median_ms", p.median_ms},   {"outside_ms", p.overhead_ms}, {"peak_gflops", p.peak / 1e9},
              {"operators", json::array()}, {"nodes", json::array()}};
  struct Sum {
    size_t nodes = 0;
    double milliseconds = 0, operations = 0;
  };
  std::map<std::string, Sum> sums;
  for (const Row& r : p.rows) {
    Sum& s = sums[r.op];
    ++s.nodes;
    s.milliseconds += r.milliseconds;
    s.operations += r.operations;
    json row = row_json(p, r.milliseconds, r.operations);
    row.update({{"name", r.name}, {"op", r.op}});
    if (!r.within.empty()) row["within"] = r.within;
    all["nodes"].push_back(std::move(row));
  }
  for (const auto& [op, s] : sums) {
    json row = row_json(p, s.milliseconds, s.operations);
    row.update({{"op", op}, {"nodes", s.nodes}});
    all["operators"].push_back(std::move(row));
  }
  std::stable_sort(all["operators"].begin(), all["operators"].end(),
                   [](const json& a, const json& b) { return a["milliseconds"] > b["milliseconds"]; });
  return all;
}

void print_rows(const json& rows, const char* title, size_t most) {
  std::printf("\n%-40s %6s %10s %7s %10s %9s\n", paint(Paint::bold, title).c_str(), "nodes", "ms", "share", "GFLOP/s",
              "of peak");
  for (size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const json& r = rows[i];
    std::string name = r["op"];
    if (r.contains("name")) name += "  " + r["name"].get<std::string>();
    if (r.contains("within")) name += "  (in " + r["within"].get<std::string>() + ")";
    std::printf("%-40s %6s %10.4f %6.1f%%", name.c_str(), r.contains("nodes") ? r["nodes"].dump().c_str() : "",
                r["milliseconds"].get<double>(), r["share"].get<double>());
    if (r.contains("gflops")) std::printf(" %10.1f %8.1f%%", r["gflops"].get<double>(), r["peak_share"].get<double>());
    std::printf("\n");
  }
  if (rows.size() > most) std::printf("… and %zu more; --nodes %zu shows all\n", rows.size() - most, rows.size());
}

/// Writes the reported run for chrome://tracing and Perfetto.
void write_trace(const std::string& path, const Profile& p) {
  json events = json::array();
  events.push_back({{"name", "run"},
                    {"cat", "Session"},
                    {"ph", "X"},
                    {"ts", p.run.start},
                    {"dur", p.run.duration},
                    {"pid", 1},
                    {"tid", p.run.nodes.empty() ? 0 : p.run.nodes[0].thread}});
  std::map<std::string, double> work;  // of nodes of the main graph
  for (const Row& r : p.rows) {
    if (r.within.empty()) work[r.name] = r.operations;
  }
  for (const NodeEvent& n : p.run.nodes) {
    json args = {{"operator", n.op}};
    if (n.within.empty() && work[n.name] > 0) args["operations"] = work[n.name];
    events.push_back({{"name", n.name},
                      {"cat", "Node"},
                      {"ph", "X"},
                      {"ts", n.start},
                      {"dur", n.duration},
                      {"pid", 1},
                      {"tid", n.thread},
                      {"args", args}});
  }
  std::ofstream file(path);
  file << json{{"displayTimeUnit", "ns"}, {"traceEvents", events}}.dump();
  file.close();
  if (!file) throw Failure("cannot write '" + path + "'");
}

void write_html(const ProfileOptions& o, const json& model, const json& profile, const Profile& p) {
  json events = json::array();
  for (const NodeEvent& n : p.run.nodes)
    events.push_back({{"name", n.name}, {"op", n.op}, {"start", n.start - p.run.start}, {"duration", n.duration}});
  json page = model;
  page["file"] = o.model;
  page["profile"] = profile;
  page["profile"]["events"] = std::move(events);
  write_page(o.html, page);
}

void profile(const ProfileOptions& o) {
  HostValues inputs;
  for (const std::string& file : {o.trace, o.html}) {
    if (!file.empty()) check_can_write(file, true);
  }
  std::vector<TracedRun> runs = trace_runs(o, inputs);
  Common shaped = o.shaped_as(inputs);  // the operations depend on the actual shapes
  const ToolsLibrary tools(o.library);
  const std::string engine = EngineLibrary(default_library(o.library)).name();
  if (!engine.starts_with("Retort ")) shaped.disabled.clear();  // they are names of another engine's passes
  const json model = tools.describe(shaped);
  const Profile p = summarise(std::move(runs), model, o.threads.at(0));
  const json told = report(o, p, engine);
  if (o.json) {
    std::printf("%s\n", told.dump(2).c_str());
  } else {
    std::printf("%s ms per run (median of %d, %d thread%s), %s ms of it outside of nodes\n",
                milliseconds_text(p.median_ms).c_str(), o.repeat, o.threads.at(0), o.threads.at(0) == 1 ? "" : "s",
                milliseconds_text(p.overhead_ms).c_str());
    std::printf("peak of this machine, measured: %.1f GFLOP/s in float32\n", p.peak / 1e9);
    print_rows(told["operators"], "operator", told["operators"].size());
    print_rows(told["nodes"], "slowest nodes", o.nodes);
  }
  if (!o.trace.empty()) write_trace(o.trace, p);
  if (!o.html.empty()) write_html(o, model, told, p);
}

void add_profile(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("profile", "show where the time of a run goes: per operator and per node");
  const auto o = std::make_shared<ProfileOptions>();
  o->add_model(*sub);
  o->add_inputs(*sub);
  o->add_disable(*sub);
  o->add_threads(*sub, "threads inside an operator");
  sub->get_option("--threads")->expected(1)->type_name("N");
  sub->add_option("--repeat", o->repeat,
                  "number of runs, of which the one with the median time is reported; a few before do not count")
      ->capture_default_str()
      ->check(kPositive)
      ->type_name("N");
  sub->add_option("--nodes", o->nodes, "how many of the slowest nodes to list")->capture_default_str()->type_name("N");
  sub->add_option("--trace", o->trace,
                  "write the reported run as trace events, which ui.perfetto.dev and chrome://tracing open")
      ->type_name("FILE");
  sub->add_option("--html", o->html,
                  "write a web page with a timeline of the run and the graph coloured by time; it needs no other file")
      ->type_name("FILE");
  sub->footer(
      "'Of peak' compares the arithmetic of a node (see retort inspect) per second with what the processor does when "
      "it\n"
      "only multiplies and adds: direct formulas cannot exceed 100 %, and nodes that mostly move data stay low. "
      "The\n"
      "engine's own profiler is on; it costs about a microsecond per node. Times are those of one run, the median; a\n"
      "node's own leave out the nodes in its bodies, so all of them and the time outside of nodes are the run's "
      "time.\n\n"
      "Example: retort profile model.onnx --threads 2 --html profile.html --trace profile.json");
  sub->callback([o] { profile(*o); });
}

}  // namespace

extern const Command command_profile;
constinit const Command command_profile{40, add_profile};

}  // namespace retort::cli
