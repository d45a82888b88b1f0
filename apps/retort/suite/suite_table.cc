// The tables of a suite for terminals, means and legend also for Markdown.
#include "suite/suite_cells.h"

namespace retort::cli {
namespace {

using Json = nlohmann::json;

/// Of the group's peer with the i-th number of threads.
RowNumber of_mean(const char* key) { return of_peer(0, key); }

std::function<std::string(const Json&)> slowest_text(size_t i) {
  return [i](const Json& group) -> std::string {
    const Json& rows = group.at("report");
    if (i >= rows.size()) return "";
    const Json& s = rows.at(i).at("peers").at(0).at("slowest");
    return std::string(s.at("name")) + " " + digits("%.2f", s.at("ratio"));
  };
}

/// "120/95": at its peak and in the end.
std::function<std::string(const Json&)> memory_text(size_t engine) {
  return [=](const Json& scenario) {
    const std::string peak = measured(0, "%.0f", of_engine(engine, "peak_mib"))(scenario);
    const std::string steady = measured(0, "%.0f", of_engine(engine, "steady_mib"))(scenario);
    return peak + (steady.empty() ? "" : "/" + steady);
  };
}

}  // namespace

Columns scenario_columns(const std::vector<std::string>& engines, const std::vector<int>& threads) {
  Columns all{{"scenario", -32, name_text}};
  for (size_t i = 0; i < threads.size(); ++i) {
    const std::string t = std::to_string(threads[i]) + "T";
    all.push_back({t + " ms", 9, measured_ms(i, of_engine(0, "median_ms"))});
    if (engines.size() > 1) all.push_back({t + " peer", 9, measured_ms(i, of_peer(0, "median_ms"))});
    for (size_t peer = 1; peer < engines.size(); ++peer)
      all.push_back({peer_name(t + " ratio", peer), 9, measured(i, "%.2f", of_peer(peer - 1, "ratio"))});
  }
  if (engines.size() > 1) all.push_back({"load", 7, measured(0, "%.2f", of_peer(0, "start_ratio"))});
  all.push_back({"MiB", 9, memory_text(0)});
  if (engines.size() > 1) all.push_back({"peer MiB", 10, memory_text(1)});
  all.push_back({"GFLOP/s", 8, measured(0, "%.1f", of_row("gflops"))});
  all.push_back({"% of peak", 10, measured(0, "%.0f", of_row("peak_share"))});
  if (engines.size() > 1) all.push_back({"differs", 9, disagreement_text});
  return all;
}

Columns mean_columns(const std::vector<int>& threads) {
  Columns all{{"geometric mean of", -24, name_text},
              {"beside", -26, [](const Json& row) { return std::string(row.at("engine")); }},
              {"scenarios", 10, measured(0, "%.0f", of_mean("scenarios"))}};
  for (size_t i = 0; i < threads.size(); ++i)
    all.push_back({std::to_string(threads[i]) + "T ratio", 9, measured(i, "%.2f", of_mean("ratio"))});
  all.push_back({"load", 7, measured(0, "%.2f", of_mean("start_ratio"))});
  all.push_back({"peak", 7, measured(0, "%.2f", of_mean("peak_ratio"))});
  all.push_back({"steady", 7, measured(0, "%.2f", of_mean("steady_ratio"))});
  for (size_t i = 0; i < threads.size(); ++i)
    all.push_back({"slowest, " + std::to_string(threads[i]) + "T", 34, slowest_text(i)});
  return all;
}

Json mean_rows(const Json& means) {
  Json rows = Json::array();
  for (const Json& group : means) {
    for (const Json& peer : group.at("report").at(0).at("peers")) {
      Json row = {{"name", group.at("name")}, {"engine", peer.at("engine")}, {"report", Json::array()}};
      for (const Json& measured : group.at("report")) {
        for (const Json& same : measured.at("peers")) {
          if (same.at("engine") == peer.at("engine")) row["report"].push_back({{"peers", Json::array({same})}});
        }
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<std::string> legend(const std::vector<std::string>& engines) {
  const std::string engine = engines.empty() ? "the engine" : engines[0];
  std::vector<std::string> lines{"ms: median of " + engine +
                                 "; MiB: peak of loading and the first run, and what is left after more runs (steady); "
                                 "GFLOP/s and % of the measured peak: with the first number of threads"};
  if (engines.size() > 1)
    lines.push_back("ratio: peer's time over " + engine +
                    "'s, above 1 the latter is faster; load: the same of session creation and first run in fresh "
                    "processes; peak, steady: the same of memory; differs: largest difference of an output over its "
                    "scale");
  for (size_t peer = 1; peer < engines.size(); ++peer) lines.push_back(peer_name("peer", peer) + ": " + engines[peer]);
  return lines;
}

}  // namespace retort::cli
