#include "suite_report.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include "engine.h"

namespace retort::cli {
namespace {

using Json = nlohmann::json;

/// Beside each peer's ratios its times and memory, which stand in `sides` without those that failed.
void add_sides(Json& row) {
  size_t side = 0;
  for (Json& peer : row.at("peers")) {
    if (peer.contains("error")) continue;
    const Json& from = row.at("sides").at(++side);
    for (const char* key : {"median_ms", "peak_mib"}) peer[key] = from.at(key);
  }
}

bool differs(const Json& row, double tolerance) {
  const Json& peers = row.at("peers");
  if (peers.empty() || peers[0].contains("error")) return false;
  const Json& apart = peers[0].at("disagreement");
  return apart.is_null() || !(apart <= tolerance);  // JSON has no infinity: there is null for it
}

/// Sums of logarithms of what one peer has over some scenarios.
struct Mean {
  std::map<std::string, double> logs;
  std::string slowest;
  double least = INFINITY;
  size_t n = 0;

  void add(const std::string& scenario, const Json& ratios) {
    for (const char* key : {"ratio", "start_ratio", "peak_ratio"}) logs[key] += std::log(double(ratios.at(key)));
    ++n;
    if (ratios.at("ratio") < least) {
      least = ratios.at("ratio");
      slowest = scenario;
    }
  }
  Json json(const std::string& engine) const {
    Json row = {{"engine", engine}, {"slowest", {{"name", slowest}, {"ratio", least}}}};
    for (const auto& [key, sum] : logs) row[key] = std::exp(sum / double(n));
    return row;
  }
};

/// By number of threads, then by peer.
using Means = std::map<int, std::vector<std::pair<std::string, Mean>>>;

void add_to(Means& means, const Json& scenario) {
  for (const Json& row : scenario.at("report")) {
    auto& peers = means[row.at("threads")];
    for (const Json& ratios : row.at("peers")) {
      if (ratios.contains("error")) continue;
      const std::string engine = ratios.at("engine");
      auto at = std::find_if(peers.begin(), peers.end(), [&](const auto& p) { return p.first == engine; });
      if (at == peers.end()) at = peers.insert(at, {engine, {}});
      at->second.add(scenario.at("name"), ratios);
    }
  }
}

using Members = std::vector<const Json*>;
/// By name, in the order of the suite.
using Groups = std::vector<std::pair<std::string, Members>>;

Members& group(Groups& groups, const std::string& name) {
  auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
  if (at == groups.end()) at = groups.insert(at, {name, {}});
  return at->second;
}

Json group_json(const std::string& name, const Members& members) {
  Means means;
  for (const Json* scenario : members) add_to(means, *scenario);
  Json rows = Json::array();
  for (const auto& [threads, peers] : means) {
    Json ratios = Json::array();
    for (const auto& [engine, mean] : peers) ratios.push_back(mean.json(engine));
    rows.push_back({{"threads", threads}, {"peers", ratios}});
  }
  return {{"name", name}, {"scenarios", members.size()}, {"report", rows}};
}

}  // namespace

void add_figures(Json& scenario, const Json& peak_gflops) {
  if (!scenario.contains("report")) return;
  const double flops = scenario.at("flops"), tolerance = scenario.at("tolerance");
  for (Json& row : scenario.at("report")) {
    add_sides(row);
    const double ms = row.at("sides").at(0).at("median_ms");
    const double peak = peak_gflops.value(std::to_string(int(row.at("threads"))), 0.0);
    if (flops > 0 && ms > 0) row["gflops"] = flops / ms / 1e6;
    if (row.contains("gflops") && peak > 0) row["peak_share"] = 100 * double(row.at("gflops")) / peak;
    if (tolerance > 0 && differs(row, tolerance)) scenario["differs"] = true;
  }
}

std::vector<std::string> engines_of(const Json& scenarios) {
  for (const Json& s : scenarios) {
    if (!s.contains("report") || s.at("report").empty()) continue;
    const Json& row = s.at("report").at(0);
    std::vector<std::string> names{row.at("sides").at(0).at("engine")};
    for (const Json& peer : row.at("peers")) names.push_back(peer.at("engine"));
    return names;
  }
  return {};
}

Json means_of(const Json& scenarios) {
  Members all;
  Groups precisions, kinds;
  for (const Json& s : scenarios) {
    if (!s.contains("report") || s.at("report").empty() || s.at("report")[0].at("peers").empty()) continue;
    const std::string kind = s.at("kind"), precision = s.at("precision");
    all.push_back(&s);
    if (!precision.empty()) group(precisions, precision).push_back(&s);
    if (!kind.empty()) group(kinds, std::string(precision).append(" ").append(kind)).push_back(&s);
  }
  Json means = Json::array();
  if (!all.empty()) means.push_back(group_json("all", all));
  for (const auto& [precision, members] : precisions) {
    means.push_back(group_json(precision, members));
    for (const auto& [kind, some] : kinds) {
      if (kind.starts_with(precision + " ") && some.size() < members.size()) means.push_back(group_json(kind, some));
    }
  }
  return means;
}

Counts count(const Json& scenarios) {
  Counts n;
  for (const Json& s : scenarios) {
    n.failed += s.contains("error");
    n.measured += s.contains("report");
    n.differ += s.value("differs", false);
  }
  return n;
}

Json read_report(const std::string& path) {
  std::ifstream file(path);
  Json report = Json::parse(file, nullptr, false);
  if (!report.is_object() || !report.contains("scenarios") || !report.contains("machine"))
    throw Failure("'" + path + "' is no report of retort bench --suite");
  if (report.value("format", 0) != kReportFormat)
    throw Failure("'" + path + "' is a report of another version of retort; measure again");
  return report;
}

}  // namespace retort::cli
