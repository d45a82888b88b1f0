// What is made of the measurements of a suite: figures, means, and the columns of its tables.
//
// A report is {format, date, machine, engines, threads, peak_gflops: {"1": …}, scenarios, means}. `scenarios` holds what
// measure_scenario() answers; add_figures() adds to it. engines[0] is the one that is measured, the others are peers.
// Every ratio is a peer's figure over that of engines[0]: above 1 the first engine is better.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace retort::cli {

inline constexpr int kReportFormat = 1;

/// Adds to each entry of scenario.report gflops and peak_share (in %) where operations and peak are known, and to each of
/// its peers the median_ms and peak_mib of sides. Sets `differs` where an output is farther from the first peer's than the
/// tolerance.
void add_figures(nlohmann::json& scenario, const nlohmann::json& peak_gflops);

/// Names of the engines as the first scenario that was measured has them; empty where none was.
std::vector<std::string> engines_of(const nlohmann::json& scenarios);

/// Geometric means over all, over those of each precision and of each kind: [{name, scenarios, report: [{threads, peers:
/// [{engine, ratio, start_ratio, peak_ratio, slowest: {name, ratio}}]}]}]. Empty where there are no peers.
nlohmann::json means_of(const nlohmann::json& scenarios);

struct Counts {
  size_t measured = 0, failed = 0, differ = 0;
};
Counts count(const nlohmann::json& scenarios);

/// A column of the table of scenarios: width in a terminal, and its text.
struct Column {
  std::string title;
  int width;
  std::function<std::string(const nlohmann::json& scenario)> text;
};
std::vector<Column> scenario_columns(const std::vector<std::string>& engines, const std::vector<int>& threads);
/// Of the table of means.
std::vector<Column> mean_columns(const std::vector<std::string>& engines, const std::vector<int>& threads);
/// What the titles mean, a line each.
std::vector<std::string> legend(const std::vector<std::string>& engines);

/// Reads what a suite wrote. Throws Failure where it is none.
nlohmann::json read_report(const std::string& path);

/// The report as Markdown, machine included. Throws Failure when the file cannot be written.
void write_markdown(const std::string& path, const nlohmann::json& report);

}  // namespace retort::cli
