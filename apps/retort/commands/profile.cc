// retort profile: shows where the time of a run goes.
#include <cmath>
#include <cstdio>
#include <tuple>

#include "cli/interrupt.h"
#include "cli/modes.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "engine/tools_library.h"
#include "formats/tensors.h"
#include "measure/peak.h"
#include "measure/stats.h"
#include "measure/traced.h"
#include "web/page.h"

namespace retort::cli {
namespace {

using nlohmann::json;

struct ProfileOptions : Common {
  enum Mode : unsigned { kText, kJson };
  static constexpr const char* kModes[] = {"for text", "with --json"};
  static constexpr OptionUse kUses[] = {
      {"MODEL", 3},     {"--library", 3}, {"--config", 3},  {"--provider", 3}, {"--plugin", 3}, {"--vulkan", 3},
      {"--virtual", 3}, {"--json", 3},    {"--input", 3},   {"--inputs", 3},   {"--shape", 3},  {"--seed", 3},
      {"--resize", 3},  {"--scale", 3},   {"--mean", 3},    {"--std", 3},      {"--layout", 3}, {"--bgr", 3},
      {"--fit", 3},     {"--disable", 3}, {"--threads", 3}, {"--parallel", 3}, {"--repeat", 3}, {"--nodes", 1},
      {"--trace", 3},   {"--html", 3}};
  static constexpr Modes kTable{kModes, kUses};

  int repeat = 20;
  size_t nodes = 10;
  std::string trace, html;
};

/// All nodes with one name and operator: in bodies, they run several times.
struct Row {
  std::string name, op;
  std::string within;       ///< the node that has it in a body, or ""
  double milliseconds = 0;  ///< median over the runs that did not interrupt it; without nodes in bodies
  double operations = 0;    ///< NaN: unknown
  size_t interrupted = 0;   ///< runs that are left out
};

struct Profile {
  double median_ms = 0, overhead_ms = 0;  ///< of a run, and of its time outside of nodes: medians
  double peak = 0;                        ///< operations per second
  size_t runs = 0, interrupted = 0;       ///< interrupted: the sum over the rows
  std::vector<Row> rows;                  ///< slowest first
  TracedRun run;                          ///< one of the runs, for the timeline
};

constexpr int kWarm = 3;  // runs that do not count: they plan memory and fill caches

std::vector<TracedRun> trace_runs(const ProfileOptions& o, HostValues& inputs) {
  const EngineLibrary engine(default_library(o.library));
  TracedSession traced(engine, o.model, o.settings(o.threads.at(0)));
  inputs = o.read_inputs(traced.session().inputs());
  traced.bind(inputs);
  Progress progress("profiling");
  for (int i = 0; i < o.repeat + kWarm && !(interrupted() && i > kWarm); ++i) {
    traced.run();
    progress.show(double(i + 1) / (o.repeat + kWarm));
  }
  std::vector<TracedRun> runs = traced.runs();
  if (runs.size() <= size_t(kWarm)) throw Failure("the engine's profile has no runs in it");
  runs.erase(runs.begin(), runs.begin() + kWarm);
  return runs;
}

/// Whether something else had the processor for a while: the time is far above the median.
bool is_interrupted(double milliseconds, double median) {
  constexpr double kTimes = 2, kLeast = 0.02;  // a switch to another thread and back takes longer than 20 microseconds
  return milliseconds > kTimes * median && milliseconds > median + kLeast;
}

using RowKey = std::tuple<std::string, std::string, std::string>;
/// The time of each row in each run; 0 for a run without it.
using RowTimes = std::map<RowKey, std::vector<double>>;

RowTimes times_of(const std::vector<TracedRun>& runs) {
  RowTimes times;
  for (size_t r = 0; r < runs.size(); ++r) {
    for (const NodeEvent& n : runs[r].nodes) {
      auto& row = times[{n.name, n.op, n.within}];
      row.resize(runs.size());
      row[r] += n.self / 1000;
    }
  }
  return times;
}

/// The run nearest to the median among those with the fewest interruptions.
size_t typical_run(const std::vector<TracedRun>& runs, const RowTimes& times, double median_ms) {
  std::vector<std::pair<size_t, double>> ranks;
  for (const TracedRun& run : runs) ranks.emplace_back(0, std::fabs(run.duration / 1000 - median_ms));
  for (const auto& [key, all] : times) {
    const double median = quantile(all, 0.5);
    for (size_t r = 0; r < runs.size(); ++r) ranks[r].first += is_interrupted(all[r], median);
  }
  return size_t(std::min_element(ranks.begin(), ranks.end()) - ranks.begin());
}

Profile summarise(std::vector<TracedRun> runs, const json& model, int threads) {
  std::vector<double> durations;
  for (const TracedRun& run : runs) durations.push_back(run.duration / 1000);
  Profile p{.median_ms = quantile(durations, 0.5),
            .overhead_ms = outside_of_nodes(runs),
            .peak = peak_flops(threads),
            .runs = runs.size()};
  const RowTimes times = times_of(runs);
  const auto work = operations_by_name(model);
  for (const auto& [key, all] : times) {
    const auto& [name, op, within] = key;
    const double median = quantile(all, 0.5);
    std::vector<double> kept = all;
    std::erase_if(kept, [&](double t) { return is_interrupted(t, median); });
    const auto found = within.empty() ? work.find(name) : work.end();
    p.rows.push_back({name, op, within, quantile(kept, 0.5), found == work.end() ? std::nan("") : found->second,
                      all.size() - kept.size()});
    p.interrupted += p.rows.back().interrupted;
  }
  p.run = std::move(runs[typical_run(runs, times, p.median_ms)]);
  std::stable_sort(p.rows.begin(), p.rows.end(),
                   [](const Row& a, const Row& b) { return a.milliseconds > b.milliseconds; });
  return p;
}

std::string fixed_text(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
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
  json all = {{"engine", engine},
              {"threads", o.threads.at(0)},
              {"runs", p.runs},
              {"median_ms", p.median_ms},
              {"outside_ms", p.overhead_ms},
              {"peak_gflops", p.peak / 1e9},
              {"interrupted", p.interrupted},
              {"operators", json::array()},
              {"nodes", json::array()}};
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
    if (r.interrupted > 0) row["interrupted"] = r.interrupted;
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

/// The rows of operators, which have a number of nodes, or of nodes, which have a name.
void print_rows(const json& rows, const char* title, size_t most) {
  if (most == 0 || rows.empty()) return;
  const bool operators = rows[0].contains("nodes");
  std::printf("\n");
  const auto number = [](const char* name) { return Table::Column{name, true}; };
  Table table({{title},
               operators ? number("nodes") : Table::Column{""},
               number("ms"),
               number("share"),
               number("GFLOP/s"),
               number("of peak")},
              0);
  for (size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const json& r = rows[i];
    std::string second = operators ? r["nodes"].dump() : r["name"].get<std::string>();
    if (r.contains("within")) second += " (in " + r["within"].get<std::string>() + ")";
    const bool counted = r.contains("gflops");
    table.row({r["op"], second, fixed_text("%.4f", r["milliseconds"]), fixed_text("%.1f%%", r["share"]),
               counted ? fixed_text("%.1f", r["gflops"]) : "", counted ? fixed_text("%.1f%%", r["peak_share"]) : ""});
  }
  table.print();
  if (rows.size() > most) std::printf("… and %zu more; --nodes %zu shows all\n", rows.size() - most, rows.size());
}

void print_report(const ProfileOptions& o, const Profile& p, const json& told) {
  std::printf("%s ms per run (median of %zu, %d thread%s), %s ms of it outside of nodes, where they are recorded\n",
              milliseconds_text(p.median_ms).c_str(), p.runs, o.threads.at(0), o.threads.at(0) == 1 ? "" : "s",
              milliseconds_text(p.overhead_ms).c_str());
  if (p.interrupted > 0)
    std::printf("left out: %zu times of nodes that were interrupted (more than twice the node's median)\n",
                p.interrupted);
  std::printf("peak of this machine, measured: %.1f GFLOP/s in float32\n", p.peak / 1e9);
  print_rows(told["operators"], "operator", told["operators"].size());
  print_rows(told["nodes"], "slowest nodes", o.nodes);
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
  write_file(path, json{{"displayTimeUnit", "ns"}, {"traceEvents", events}}.dump());
}

void write_html(const ProfileOptions& o, const json& model, const json& profile, const Profile& p) {
  json events = json::array();
  for (const NodeEvent& n : p.run.nodes)
    events.push_back({{"name", n.name}, {"op", n.op}, {"start", n.start - p.run.start}, {"duration", n.duration}});
  json page = model;
  page["file"] = o.model_name();
  page["profile"] = profile;
  page["profile"]["events"] = std::move(events);
  write_page(o.html, page);
}

void profile(const ProfileOptions& o) {
  HostValues inputs;
  ProfileOptions::kTable.check(*o.command, o.json ? ProfileOptions::kJson : ProfileOptions::kText);
  check_output_files({{"--trace", o.trace}, {"--html", o.html}}, o.files_read());
  catch_interrupt();
  std::vector<TracedRun> runs = trace_runs(o, inputs);
  Common shaped = o.shaped_as(inputs);  // the operations depend on the actual shapes
  const ToolsLibrary tools(o.library);
  const std::string engine = EngineLibrary(default_library(o.library)).name();
  if (!engine.starts_with("Retort ")) shaped.disabled.clear();  // they are names of another engine's passes
  const json model = tools.describe(shaped);
  const Profile p = summarise(std::move(runs), model, o.threads.at(0));
  const json told = report(o, p, engine);
  if (o.json)
    print_json(told);
  else
    print_report(o, p, clean(told));
  if (!o.trace.empty()) write_trace(o.trace, p);
  if (!o.html.empty()) write_html(o, model, told, p);
  end_if_interrupted();
}

void add_profile(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("profile", "show where the time of a run goes: per operator and per node");
  const auto o = std::make_shared<ProfileOptions>();
  o->add_model(*sub);
  o->add_inputs(*sub);
  o->add_disable(*sub);
  o->add_threads(*sub, "threads inside an operator");
  sub->add_option("--repeat", o->repeat, "number of runs, over which medians are taken; a few before do not count")
      ->capture_default_str()
      ->check(whole(1, 100000))  // each leaves a line per node in the engine's profile
      ->type_name("N");
  sub->add_option("--nodes", o->nodes, "how many of the slowest nodes to list")
      ->capture_default_str()
      ->check(whole(0, 1000000))
      ->type_name("N");
  sub->add_option("--trace", o->trace,
                  "write a typical run as trace events, which ui.perfetto.dev and chrome://tracing open")
      ->type_name("FILE");
  sub->add_option("--html", o->html,
                  "write a web page with a timeline of the run and the graph coloured by time; it needs no other file")
      ->type_name("FILE");
  sub->footer(
      "'Of peak' is a node's arithmetic per second (see retort inspect) as a share of what the processor reaches when "
      "it only multiplies and adds. Direct formulas cannot exceed 100 %, and nodes that mostly move data stay low. The "
      "engine's own profiler is on, which costs about a microsecond per node. Times are medians over the runs, without "
      "those in which the node was interrupted. The time of a node does not contain that of the nodes in its "
      "bodies.\n\nExample: retort profile model.onnx --threads 2 --html profile.html --trace profile.json");
  ProfileOptions::kTable.cover(*sub);
  sub->callback([o] { profile(*o); });
}

}  // namespace

extern const Command command_profile;
constinit const Command command_profile{40, add_profile};

}  // namespace retort::cli
