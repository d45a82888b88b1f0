// The tables of a suite, for terminals and for Markdown.
#include <cmath>
#include <fstream>

#include "engine.h"
#include "stats.h"
#include "suite_report.h"
#include "terminal.h"

namespace retort::cli {
namespace {

using Json = nlohmann::json;

std::string digits(const char* format, double number) {
  char text[32];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

/// The text of a number in what was measured with the i-th number of threads; "" where there is none.
template <typename Number>
std::function<std::string(const Json&)> measured(size_t i, const char* format, Number number) {
  return [=](const Json& scenario) -> std::string {
    const Json& rows = scenario.at("report");
    if (i >= rows.size()) return "";
    const Json value = number(rows.at(i));
    return value.is_number() ? digits(format, value) : "";
  };
}

auto of_peer(size_t peer, const char* key) {
  return [=](const Json& row) -> Json {
    const Json& peers = row.at("peers");
    return peer < peers.size() && peers[peer].contains(key) ? peers[peer].at(key) : Json();
  };
}
Json own_memory(const Json& row) { return row.at("sides").at(0).at("peak_mib"); }
auto of_row(const char* key) {
  return [=](const Json& row) -> Json { return row.contains(key) ? row.at(key) : Json(); };
}

std::string median_text(size_t i, const Json& scenario) {
  const Json& rows = scenario.at("report");
  return i < rows.size() ? milliseconds_text(rows[i].at("sides").at(0).at("median_ms")) : "";
}

std::string peer_median_text(size_t i, const Json& scenario) {
  const Json& rows = scenario.at("report");
  const Json value = i < rows.size() ? of_peer(0, "median_ms")(rows[i]) : Json();
  return value.is_number() ? milliseconds_text(value) : "";
}

std::string disagreement_text(const Json& scenario) {
  double worst = 0;
  for (const Json& row : scenario.at("report")) {
    const Json value = row.value("disagreement", Json(0));
    worst = std::max(worst, value.is_null() ? INFINITY : double(value));
  }
  return digits("%.1e", worst) + (scenario.value("differs", false) ? " DIFFERS" : "");
}

std::string peer_name(const std::string& title, size_t peer) {
  return title + (peer > 1 ? " " + std::to_string(peer) : "");
}

/// The text of one of a group's means.
std::function<std::string(const Json&)> mean_text(size_t i, size_t peer, const char* key) {
  return measured(i, "%.2f", of_peer(peer, key));
}

std::function<std::string(const Json&)> slowest_text(size_t i) {
  return [i](const Json& group) -> std::string {
    const Json& rows = group.at("report");
    if (i >= rows.size() || rows.at(i).at("peers").empty()) return "";
    const Json& s = rows.at(i).at("peers").at(0).at("slowest");
    return std::string(s.at("name")) + " " + digits("%.2f", s.at("ratio"));
  };
}

}  // namespace

std::vector<Column> scenario_columns(const std::vector<std::string>& engines, const std::vector<int>& threads) {
  std::vector<Column> all{{"scenario", -32, [](const Json& s) { return std::string(s.at("name")); }}};
  for (size_t i = 0; i < threads.size(); ++i) {
    const std::string t = std::to_string(threads[i]) + "T";
    all.push_back({t + " ms", 9, [i](const Json& s) { return median_text(i, s); }});
    if (engines.size() > 1) all.push_back({t + " peer", 9, [i](const Json& s) { return peer_median_text(i, s); }});
    for (size_t peer = 1; peer < engines.size(); ++peer)
      all.push_back({peer_name(t + " ratio", peer), 9, measured(i, "%.2f", of_peer(peer - 1, "ratio"))});
  }
  if (engines.size() > 1) all.push_back({"load", 7, measured(0, "%.2f", of_peer(0, "start_ratio"))});
  all.push_back({"MiB", 7, measured(0, "%.0f", own_memory)});
  if (engines.size() > 1) all.push_back({"peer MiB", 10, measured(0, "%.0f", of_peer(0, "peak_mib"))});
  all.push_back({"GFLOP/s", 8, measured(0, "%.1f", of_row("gflops"))});
  all.push_back({"% of peak", 10, measured(0, "%.0f", of_row("peak_share"))});
  if (engines.size() > 1) all.push_back({"differs", 9, disagreement_text});
  return all;
}

std::vector<Column> mean_columns(const std::vector<std::string>& engines, const std::vector<int>& threads) {
  std::vector<Column> all{{"geometric mean of", -32, [](const Json& g) { return std::string(g.at("name")); }},
                          {"scenarios", 10, [](const Json& g) { return std::to_string(int(g.at("scenarios"))); }}};
  for (size_t peer = 1; peer < engines.size(); ++peer) {
    for (size_t i = 0; i < threads.size(); ++i)
      all.push_back({peer_name(std::to_string(threads[i]) + "T ratio", peer), 11, mean_text(i, peer - 1, "ratio")});
    all.push_back({peer_name("load", peer), 8, mean_text(0, peer - 1, "start_ratio")});
    all.push_back({peer_name("memory", peer), 9, mean_text(0, peer - 1, "peak_ratio")});
  }
  for (size_t i = 0; i < threads.size(); ++i) {
    const std::string title = "slowest, " + std::to_string(threads[i]) + "T";
    if (engines.size() > 1) all.push_back({title, 34, slowest_text(i)});
  }
  return all;
}

std::vector<std::string> legend(const std::vector<std::string>& engines) {
  std::vector<std::string> lines{
      "ms: median of " + (engines.empty() ? "the engine" : engines[0]) +
      "; MiB: peak of loading and the first run; GFLOP/s and % of the measured peak: with the "
      "first number of threads"};
  if (engines.size() > 1)
    lines.push_back(
        "ratio: peer's time over " + engines[0] +
        "'s, above 1 the latter is faster; load: the same of session creation and first run in fresh "
        "processes; memory: the same of peak memory; differs: largest difference of an output over its scale");
  for (size_t peer = 1; peer < engines.size(); ++peer) lines.push_back(peer_name("peer", peer) + ": " + engines[peer]);
  return lines;
}

}  // namespace retort::cli
