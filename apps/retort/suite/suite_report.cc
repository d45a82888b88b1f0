#include "suite/suite_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "formats/tensors.h"

namespace retort::cli {
namespace {

using Json = nlohmann::json;

/// Adds each peer's times and memory from `sides`, which lacks failed peers, to its ratios.
void add_sides(Json& row) {
  size_t side = 0;
  for (Json& peer : row.at("peers")) {
    if (peer.contains("error")) continue;
    const Json& from = row.at("sides").at(++side);
    for (const char* key : {"median_ms", "load_ms", "peak_mib", "steady_mib", "deviation"}) {
      if (from.contains(key)) peer[key] = from.at(key);
    }
  }
}

bool differs(const Json& row, double tolerance) {
  const Json& peers = row.at("peers");
  if (peers.empty() || peers[0].contains("error")) return false;
  const Json& apart = peers[0].at("disagreement");
  return apart.is_null() || !(apart <= tolerance);  // JSON has null for infinity
}

constexpr const char* kRatios[] = {"ratio", "start_ratio", "peak_ratio", "steady_ratio"};

/// Sums of logarithms of one peer's ratios over some scenarios.
struct Mean {
  std::map<std::string, double> logs;
  std::string slowest;
  double least = INFINITY;
  size_t n = 0;

  void add(const std::string& scenario, const Json& ratios) {
    for (const char* key : kRatios) logs[key] += std::log(double(ratios.at(key)));
    ++n;
    if (ratios.at("ratio") < least) {
      least = ratios.at("ratio");
      slowest = scenario;
    }
  }
  Json json(const std::string& engine) const {
    Json row = {{"engine", engine}, {"scenarios", n}, {"slowest", {{"name", slowest}, {"ratio", least}}}};
    for (const auto& [key, sum] : logs) row[key] = std::exp(sum / double(n));
    return row;
  }
};

/// Values by key, in the order in which the keys were added.
template <typename Key, typename Value>
using Ordered = std::vector<std::pair<Key, Value>>;

template <typename Key, typename Value>
Value& find_or_add(Ordered<Key, Value>& all, const Key& key) {
  auto at = std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == key; });
  if (at == all.end()) at = all.insert(at, {key, {}});
  return at->second;
}

/// By number of threads, then by peer.
using Means = Ordered<int, Ordered<std::string, Mean>>;

void add_to(Means& means, const Json& scenario) {
  for (const Json& row : scenario.at("report")) {
    auto& peers = find_or_add(means, int(row.at("threads")));
    for (const Json& ratios : row.at("peers")) {
      if (ratios.contains("error")) continue;
      find_or_add(peers, std::string(ratios.at("engine"))).add(scenario.at("name"), ratios);
    }
  }
}

using Members = std::vector<const Json*>;
/// By name, in the order of the suite.
using Groups = Ordered<std::string, Members>;

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

/// CNNs, transformers and the rest; "" if the kind is unknown.
std::string family(const std::string& kind) {
  if (kind.empty() || kind == "CNN") return kind;
  return kind == "encoder" || kind == "decoder" ? "transformer" : "rest";
}

/// Adds the group itself, then its families if there is more than one.
void add_groups(Json& means, const std::string& name, const Members& members) {
  Groups families;
  for (const Json* s : members) {
    const std::string of = family(s->at("kind"));
    if (!of.empty()) find_or_add(families, of).push_back(s);
  }
  means.push_back(group_json(name, members));
  for (const auto& [of, some] : families) {
    if (some.size() < members.size()) means.push_back(group_json(std::string(name).append(", ").append(of), some));
  }
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
  Groups precisions;
  for (const Json& s : scenarios) {
    if (!s.contains("report") || s.at("report").empty() || s.at("report")[0].at("peers").empty()) continue;
    const std::string precision = s.at("precision");
    all.push_back(&s);
    if (!precision.empty()) find_or_add(precisions, precision).push_back(&s);
  }
  Json means = Json::array();
  if (!all.empty()) add_groups(means, "all", all);
  for (const auto& [precision, members] : precisions) {
    if (members.size() < all.size()) add_groups(means, precision, members);
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
  std::ifstream file = open_file(path);
  Json report = Json::parse(file, nullptr, false);
  if (!report.is_object() || !report.contains("scenarios") || !report.contains("machine"))
    throw Failure("'" + path + "' is not a report of retort bench --suite");
  if (report.value("format", 0) != kReportFormat)
    throw Failure("'" + path + "' is a report of another version of retort; measure again");
  return report;
}

}  // namespace retort::cli
