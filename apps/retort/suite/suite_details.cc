// The tables of a suite that Markdown has: latency, memory, accuracy and operators, each of all engines.
#include <algorithm>

#include "suite/suite_cells.h"

namespace retort::cli {
namespace {

using Json = nlohmann::json;
using Text = std::function<std::string(const Json&)>;

/// "1.2e-06", "inf"; "" where `number` has nothing to say. JSON has no infinity: there is null for it.
Text error_text(const char* within, const char* key) {
  return [=](const Json& scenario) -> std::string {
    const Json row = scenario.at("report").at(0), from = *within ? entry(row, within) : row.at("sides").at(0);
    if (!from.contains(key)) return "";
    return digits("%.1e", from.at(key).is_null() ? INFINITY : double(from.at(key)));
  };
}

Text peer_error_text(size_t peer) {
  return [=](const Json& scenario) -> std::string {
    const Json& peers = scenario.at("report").at(0).at("peers");
    if (peer >= peers.size() || !peers[peer].contains("deviation")) return "";
    const Json& value = peers[peer].at("deviation");
    return digits("%.1e", value.is_null() ? INFINITY : double(value));
  };
}

constexpr size_t kMostOps = 3;

/// "Conv 85 %, MaxPool 4 %, Add 2 %"
Text slowest_ops(size_t engine) {
  return [=](const Json& scenario) {
    std::vector<std::pair<double, std::string>> shares;
    for (const Json& row : scenario.at("report").at(0).at("ops").at("operators")) {
      const Json& cells = row.at("engines");
      if (engine < cells.size() && !cells[engine].is_null())
        shares.emplace_back(cells[engine].at("share"), row.at("op"));
    }
    std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    shares.resize(std::min(shares.size(), kMostOps));
    std::string text;
    for (const auto& [share, op] : shares)
      text.append(text.empty() ? "" : ", ").append(op).append(digits(" %.0f %%", share));
    return text;
  };
}

}  // namespace

Columns latency_columns(const std::vector<std::string>& engines, const std::vector<int>& threads) {
  Columns all{{"scenario", -1, name_text}};
  for (size_t i = 0; i < threads.size(); ++i) {
    const std::string t = std::to_string(threads[i]) + "T";
    all.push_back({t + " ms", 1, measured_ms(i, of_engine(0, "median_ms"))});
    for (size_t peer = 1; peer < engines.size(); ++peer)
      all.push_back({peer_name(t + " ratio", peer), 1, measured(i, "%.2f", of_peer(peer - 1, "ratio"))});
    all.push_back({t + " GFLOP/s", 1, measured(i, "%.1f", of_row("gflops"))});
    all.push_back({t + " % of peak", 1, measured(i, "%.0f", of_row("peak_share"))});
  }
  if (engines.size() > 1) all.push_back({"differs", 1, disagreement_text});
  return all;
}

Columns memory_columns(const std::vector<std::string>& engines) {
  Columns all{{"scenario", -1, name_text},
              {"load ms", 1, measured(0, "%.1f", of_engine(0, "load_ms"))},
              {"first run ms", 1, measured(0, "%.1f", of_engine(0, "first_run_ms"))}};
  for (size_t peer = 1; peer < engines.size(); ++peer)
    all.push_back({peer_name("load ratio", peer), 1, measured(0, "%.2f", of_peer(peer - 1, "start_ratio"))});
  for (const auto& [title, key] : {std::pair("peak MiB", "peak_mib"), std::pair("steady MiB", "steady_mib")}) {
    for (size_t e = 0; e < engines.size(); ++e) {
      const std::string whose = e ? peer_name("peer", e) + " " : "";
      all.push_back({whose + title, 1, measured(0, "%.1f", of_engine(e, key))});
    }
  }
  return all;
}

Columns accuracy_columns(const std::vector<std::string>& engines) {
  const auto held = [](const Json& s) { return s.value("expected_from", ""); };
  Columns all{{"scenario", -1, name_text},
              {"right outputs", -1, held},
              {"error", 1, error_text("", "deviation")},
              {"strict error", 1, error_text("strict", "deviation")}};
  for (size_t peer = 1; peer < engines.size(); ++peer)
    all.push_back({peer_name("peer", peer) + " error", 1, peer_error_text(peer - 1)});
  if (engines.size() > 1) {
    all.push_back({"from peer", 1, disagreement_text});
    all.push_back({"strict from peer", 1, error_text("strict", "disagreement")});
  }
  all.push_back({"strict from default", 1, error_text("strict", "from_default")});
  const RowNumber strict_ratio = [](const Json& row) { return entry(entry(row, "strict"), "ratio"); };
  all.push_back({"strict time ratio", 1, measured(0, "%.2f", strict_ratio)});
  return all;
}

Columns ops_columns(const Json& scenarios) {
  Columns all{{"scenario", -1, name_text}};
  size_t most = 0;
  for (const Json& s : scenarios) {
    if (!has_ops(s)) continue;
    const Json& engines = s.at("report").at(0).at("ops").at("engines");
    for (; most < engines.size(); ++most) all.push_back({engines[most].at("engine"), -1, slowest_ops(most)});
  }
  return all;
}

bool has_accuracy(const Json& scenario) {
  if (!scenario.contains("report")) return false;
  const Json& row = scenario.at("report").at(0);
  return row.contains("strict") || row.at("sides").at(0).contains("deviation");
}

bool has_ops(const Json& scenario) {
  return scenario.contains("report") && scenario.at("report").at(0).contains("ops");
}

}  // namespace retort::cli
