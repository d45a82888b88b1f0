#include "bench/bench_report.h"

#include <cstdio>

#include "cli/text.h"
#include "measure/stats.h"

namespace retort::cli {
namespace {

/// Below this, differences of a process's memory are noise, and ratios of them have no meaning.
constexpr double kLeastMib = 0.1;

double memory_ratio(double peer, double ours) { return std::max(peer, kLeastMib) / std::max(ours, kLeastMib); }

nlohmann::json side_json(const BenchSide& s, const Start& start, const std::vector<double>& percentiles) {
  return {{"engine", s.name},
          {"median_ms", s.quantile(0.5)},
          {"p99_ms", s.quantile(0.99)},
          {"min_ms", s.quantile(0)},
          {"load_ms", start.load_ms},
          {"first_run_ms", start.first_ms},
          {"load_peak_mib", start.load_peak_mib},
          {"peak_mib", start.peak_mib},
          {"steady_mib", start.steady_mib},
          {"percentiles", percentiles_json(s.times, percentiles)},
          {"runs", s.times.size()}};
}

/// A peer's figures beside Retort's: ratios are the peer's figure divided by Retort's.
nlohmann::json peer_json(const BenchSide& ours, const BenchSide& peer, size_t i, double disagreement) {
  return {{"engine", peer.name},
          {"library", peer.library},
          {"ratio", peer.quantile(0.5) / ours.quantile(0.5)},
          {"min_ratio", peer.quantile(0) / ours.quantile(0)},
          {"start_ratio", peer.starts[i].total_ms() / ours.starts[i].total_ms()},
          {"peak_ratio", memory_ratio(peer.starts[i].peak_mib, ours.starts[i].peak_mib)},
          {"steady_ratio", memory_ratio(peer.starts[i].steady_mib, ours.starts[i].steady_mib)},
          {"disagreement", disagreement}};
}

void print_peer(const nlohmann::json& peer, const std::string& own) {
  const std::string name = peer["engine"];
  if (peer.contains("error")) {
    std::printf("%s is left out: %s\n", name.c_str(), clean(peer["error"].get<std::string>()).c_str());
    return;
  }
  std::printf(
      "%s / %s: time %.3f (minima %.3f), load and first run %.3f, peak memory %.2f, steady %.2f; outputs differ by "
      "%.2g of their scale\n",
      name.c_str(), own.c_str(), peer["ratio"].get<double>(), peer["min_ratio"].get<double>(),
      peer["start_ratio"].get<double>(), peer["peak_ratio"].get<double>(), peer["steady_ratio"].get<double>(),
      peer["disagreement"].get<double>());
}

/// Figures about the strict mode that need no other engine, followed by those that do.
nlohmann::json strict_json(const Checks& checks, const HostValues& ours, const HostValues* peer) {
  const StrictRun& strict = *checks.strict;
  nlohmann::json told = {{"median_ms", strict.ms},
                         {"ratio", strict.ms / std::max(strict.default_ms, 1e-9)},
                         {"from_default", distance(strict.outputs, ours)}};
  if (!checks.expected.empty()) told["deviation"] = distance(strict.outputs, checks.expected);
  if (peer) told["disagreement"] = distance(strict.outputs, *peer);
  return told;
}

void print_accuracy(const nlohmann::json& row) {
  for (const auto& side : row["sides"]) {
    if (side.contains("deviation"))
      std::printf("%s: outputs are within %.2g of their scale of the expected ones\n",
                  side["engine"].get<std::string>().c_str(), side["deviation"].get<double>());
  }
  if (!row.contains("strict")) return;
  const auto& strict = row["strict"];
  std::printf("session.strict=1 takes %.3f times as long; outputs differ by %.2g of their scale",
              strict["ratio"].get<double>(), strict["from_default"].get<double>());
  if (strict.contains("deviation"))
    std::printf(", and by %.2g from the expected ones", strict["deviation"].get<double>());
  std::printf("\n");
}

}  // namespace

nlohmann::json row_json(const BenchOptions& o, std::vector<BenchSide>& sides, const Checks& checks, size_t i) {
  std::vector<HostValues> values(sides.size());
  for (size_t e = 0; e < sides.size(); ++e)
    attempt(sides, e, [&](BenchSide& s) { values[e] = s.side->values(checks.outputs); });
  nlohmann::json row = {
      {"threads", o.threads[i]}, {"sides", nlohmann::json::array()}, {"peers", nlohmann::json::array()}};
  for (size_t e = 0; e < sides.size(); ++e) {
    const BenchSide& s = sides[e];
    if (!s.failure.empty()) {
      row["peers"].push_back({{"engine", s.name}, {"library", s.library}, {"error", s.failure}});
      continue;
    }
    row["sides"].push_back(side_json(s, s.starts[i], o.percentiles));
    if (!checks.expected.empty()) row["sides"].back()["deviation"] = distance(values[e], checks.expected);
    if (e > 0) row["peers"].push_back(peer_json(sides[0], s, i, distance(values[0], values[e])));
  }
  if (checks.strict && i == 0) row["strict"] = strict_json(checks, values[0], values.size() > 1 ? &values[1] : nullptr);
  for (const char* key : {"ratio", "start_ratio", "disagreement"}) {
    if (sides.size() > 1) row[key] = row["peers"][0][key];
  }
  return row;
}

void print_bench(const BenchOptions& o, const std::vector<BenchSide>& sides, const nlohmann::json& row, size_t i) {
  std::vector<Table::Column> columns{{"engine"},           {"threads", true}, {"median ms", true}, {"p99 ms", true},
                                     {"min ms", true},     {"load ms", true}, {"first ms", true},  {"peak MiB", true},
                                     {"steady MiB", true}, {"runs", true}};
  const bool asked = o.given("--percentiles");
  for (const double p : asked ? o.percentiles : std::vector<double>())
    columns.push_back({"p" + percent_text(p) + " ms", true});
  Table table(std::move(columns), 0);
  const auto tenths = [](double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", number);
    return std::string(text);
  };
  for (const BenchSide& s : sides) {
    if (!s.failure.empty()) continue;
    const Start& start = s.starts[i];
    std::vector<std::string> cells{s.name, std::to_string(o.threads[i]), milliseconds_text(s.quantile(0.5)),
                                   milliseconds_text(s.quantile(0.99)), milliseconds_text(s.quantile(0))};
    for (const double n : {start.load_ms, start.first_ms, start.peak_mib, start.steady_mib}) cells.push_back(tenths(n));
    cells.push_back(std::to_string(s.times.size()));
    for (const double p : asked ? o.percentiles : std::vector<double>())
      cells.push_back(milliseconds_text(s.quantile(p / 100)));
    table.row(std::move(cells));
  }
  table.print();
  for (const auto& peer : row["peers"]) print_peer(peer, sides[0].name);
  print_accuracy(row);
  std::fflush(stdout);
}

}  // namespace retort::cli
