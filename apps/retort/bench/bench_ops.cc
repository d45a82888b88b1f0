#include "bench/bench_ops.h"

#include <cmath>
#include <cstdio>
#include <thread>
#include <tuple>

#include "bench/turns.h"
#include "cli/terminal.h"
#include "measure/stats.h"
#include "measure/traced.h"

namespace retort::cli {
namespace {

using nlohmann::json;

constexpr size_t kMostRuns = 60;  // engines keep all nodes of all runs in memory until the end, up to a million

/// The time of one engine for the nodes of one operator.
struct OpTime {
  size_t nodes = 0;
  double ms = 0;
  double operations = 0;  ///< NaN: unknown
};

struct EngineTimes {
  size_t runs = 0;
  double run_ms = 0, nodes_ms = 0, outside_ms = 0;
  std::map<std::string, OpTime> ops;
};

/// A common name for variants that engines make of one operator: fused with neighbours (Conv+Relu, FusedConv), for
/// another layout, or another kind of matrix product.
std::string plain(std::string op) {
  op.erase(std::min(op.find('+'), op.size()));
  for (const std::string prefix : {"Nhwc", "Fused"}) {
    if (op.starts_with(prefix)) op.erase(0, prefix.size());
  }
  return op == "MatMul" || op == "Gemm" || op == "Linear" ? "MatMul, Gemm" : op;
}

/// The first run of each block is dropped, as in all comparisons.
std::vector<TracedRun> counted_runs(std::vector<TracedRun> all, size_t block) {
  std::vector<TracedRun> counted;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % (block + 1) > 0) counted.push_back(std::move(all[i]));
  }
  if (counted.empty()) throw Failure("the engine's profile has no runs in it");
  return counted;
}

/// The operations of a node; those of nodes in bodies are unknown, as they depend on the number of iterations.
double work_of(const OpsPlan& plan, const std::string& node, const std::string& within) {
  const auto found = plan.operations.find(node);
  return within.empty() && found != plan.operations.end() ? found->second : std::nan("");
}

EngineTimes summed(const std::vector<TracedRun>& runs, const OpsPlan& plan) {
  EngineTimes sum{.runs = runs.size(), .outside_ms = outside_of_nodes(runs)};
  std::vector<double> durations;
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<double>> nodes;
  for (size_t i = 0; i < runs.size(); ++i) {
    durations.push_back(runs[i].duration / 1000);
    for (const NodeEvent& n : runs[i].nodes) {
      auto& times = nodes[{plain(n.op), n.name, n.within}];
      times.resize(runs.size());  // 0 where it did not run
      times[i] += n.self / 1000;
    }
  }
  sum.run_ms = quantile(durations, 0.5);
  for (const auto& [key, times] : nodes) {
    const auto& [name, node, within] = key;
    OpTime& op = sum.ops[name];
    ++op.nodes;
    op.ms += quantile(times, 0.5);
    op.operations += work_of(plan, node, within);
  }
  for (const auto& [name, op] : sum.ops) sum.nodes_ms += op.ms;
  return sum;
}

std::vector<EngineTimes> measure_times(const OpsPlan& plan, const std::vector<const EngineLibrary*>& engines,
                                       HostValues& inputs) {
  std::vector<std::unique_ptr<TracedSession>> sessions;
  for (const EngineLibrary* engine : engines) {
    sessions.push_back(std::make_unique<TracedSession>(*engine, plan.model, plan.settings));
    sessions.back()->bind(inputs);
  }
  const size_t most = std::max<size_t>(2, kMostRuns / size_t(plan.block + 1));
  const auto begin = Clock::now();
  Progress progress("operators");
  for (size_t round = 0; round < most; ++round) {
    for (const size_t e : turns(round, engines.size())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      for (int i = 0; i <= plan.block; ++i) sessions[e]->run();
    }
    const double spent = milliseconds(Clock::now() - begin) / 1000;
    progress.show(std::max(double(round + 1) / double(most), std::min(1.0, spent / plan.seconds)));
    if (round % 2 && spent > plan.seconds) break;
  }
  std::vector<EngineTimes> all;
  for (auto& session : sessions) all.push_back(summed(counted_runs(session->runs(), size_t(plan.block)), plan));
  return all;
}

/// The time of each engine for one operator; null if an engine has none.
json op_json(const OpsPlan& plan, const std::string& name, const std::vector<EngineTimes>& times) {
  json row = {{"op", name}, {"engines", json::array()}};
  const auto ours = times[0].ops.find(name);
  if (ours != times[0].ops.end() && ours->second.operations > 0 && ours->second.ms > 0) {
    row["gflops"] = ours->second.operations / ours->second.ms / 1e6;
    if (plan.peak_gflops > 0) row["peak_share"] = 100 * double(row["gflops"]) / plan.peak_gflops;
  }
  for (size_t e = 0; e < times.size(); ++e) {
    const auto found = times[e].ops.find(name);
    if (found == times[e].ops.end()) {
      row["engines"].push_back(nullptr);
      continue;
    }
    json cell = {{"nodes", found->second.nodes},
                 {"ms", found->second.ms},
                 {"share", 100 * found->second.ms / std::max(times[e].run_ms, 1e-9)}};
    if (e > 0 && ours != times[0].ops.end() && ours->second.ms > 0) cell["ratio"] = found->second.ms / ours->second.ms;
    row["engines"].push_back(std::move(cell));
  }
  return row;
}

json engine_json(const EngineLibrary& engine, const EngineTimes& t, const EngineTimes* ours) {
  json told = {{"engine", engine.name()},
               {"runs", t.runs},
               {"run_ms", t.run_ms},
               {"nodes_ms", t.nodes_ms},
               {"outside_ms", t.outside_ms}};
  if (ours) told["ratio"] = t.run_ms / std::max(ours->run_ms, 1e-9);
  return told;
}

constexpr size_t kNameWidth = 28;

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

std::string cell_text(const json& cell, const char* key, double run_ms, bool has_ratio) {
  if (cell.is_null()) return std::string(has_ratio ? 34 : 26, ' ');
  const double ms = cell[key];
  char text[64];
  std::snprintf(text, sizeof text, "%6s %9s %5.1f%%", cell.contains("nodes") ? cell["nodes"].dump().c_str() : "",
                milliseconds_text(ms).c_str(), 100 * ms / std::max(run_ms, 1e-9));
  std::string all = text;
  std::snprintf(text, sizeof text, " %7.2f", cell.value("ratio", 0.0));
  if (has_ratio) all += cell.contains("ratio") ? text : std::string(8, ' ');
  return all + "   ";
}

}  // namespace

json measure_ops(const OpsPlan& plan, const std::vector<const EngineLibrary*>& engines, HostValues& inputs) {
  const std::vector<EngineTimes> times = measure_times(plan, engines, inputs);
  json all = {{"threads", plan.settings.threads}, {"engines", json::array()}, {"operators", json::array()}};
  std::map<std::string, double> slowest;  // by operator, the largest on any engine
  for (size_t e = 0; e < times.size(); ++e) {
    all["engines"].push_back(engine_json(*engines[e], times[e], e ? &times[0] : nullptr));
    for (const auto& [name, op] : times[e].ops) slowest[name] = std::max(slowest[name], op.ms);
  }
  std::vector<std::pair<std::string, double>> order(slowest.begin(), slowest.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, ms] : order) all["operators"].push_back(op_json(plan, name, times));
  return all;
}

void print_ops(const json& ops) {
  const json& engines = ops["engines"];
  std::string names, titles;
  for (size_t e = 0; e < engines.size(); ++e) {
    names += padded(engines[e]["engine"], e ? 34 : 26);
    titles += e ? " nodes        ms  share   ratio   " : " nodes        ms  share   ";
  }
  std::printf("\n%s%s\n%s%s\n", padded("", kNameWidth).c_str(), names.c_str(),
              paint(Paint::bold, padded("operator", kNameWidth)).c_str(), (titles + "  GFLOP/s of peak").c_str());
  const auto line = [&](const std::string& title, const json& cells, const char* key, const json& row) {
    std::string text = padded(title, kNameWidth);
    for (size_t e = 0; e < cells.size(); ++e) text += cell_text(cells[e], key, engines[e]["run_ms"], e > 0);
    char rate[64];
    std::snprintf(rate, sizeof rate, "%9.1f %6.0f%%", row.value("gflops", 0.0), row.value("peak_share", 0.0));
    if (row.contains("gflops")) text += rate;
    std::printf("%s\n", text.substr(0, text.find_last_not_of(' ') + 1).c_str());
  };
  for (const json& row : ops["operators"]) line(row["op"], row["engines"], "ms", row);
  json outside = engines;
  for (json& e : outside) e.erase("ratio");
  line("outside of nodes", outside, "outside_ms", json::object());
  line("a run, profiled", engines, "run_ms", json::object());
}

}  // namespace retort::cli
