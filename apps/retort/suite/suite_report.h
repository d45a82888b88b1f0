// What is made of the measurements of a suite: figures, means, and the columns of its tables.
//
// A report is {format, date, machine, engines, threads, peak_gflops: {"1": …}, read_gbs: {"1": …}, scenarios, means}.
// `scenarios` holds what measure_scenario() answers; add_figures() adds to it. engines[0] is the one that is measured, the others are peers.
// Every ratio is a peer's figure over that of engines[0]: above 1 the first engine is better.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace retort::cli {

inline constexpr int kReportFormat = 2;

/// Adds to each entry of scenario.report gflops and peak_share (in %) where operations and peak are known, and to each of
/// its peers what stands in sides: median_ms, load_ms, peak_mib, steady_mib and deviation. Sets `differs` where an output is farther from the first peer's than the
/// tolerance.
void add_figures(nlohmann::json& scenario, const nlohmann::json& peak_gflops);

/// Names of the engines as the first scenario that was measured has them; empty where none was.
std::vector<std::string> engines_of(const nlohmann::json& scenarios);

/// Geometric means over all and over those of each precision, where there are several, and in each over CNNs,
/// transformers and the rest: [{name, scenarios, report: [{threads, peers: [{engine, scenarios, ratio, start_ratio,
/// peak_ratio, steady_ratio, slowest: {name, ratio}}]}]}]. Empty where there are no peers.
nlohmann::json means_of(const nlohmann::json& scenarios);

struct Counts {
  size_t measured = 0, failed = 0, differ = 0;
};
Counts count(const nlohmann::json& scenarios);

/// A column of a table: width in a terminal (below 0: to the left), and the text of a row.
struct Column {
  std::string title;
  int width;
  std::function<std::string(const nlohmann::json& row)> text;
};
using Columns = std::vector<Column>;

/// All about a scenario in one line, for terminals; of memory the first peer's only.
Columns scenario_columns(const std::vector<std::string>& engines, const std::vector<int>& threads);
/// Of the table of means, whose rows are mean_rows(): one for each group and peer.
Columns mean_columns(const std::vector<int>& threads);
nlohmann::json mean_rows(const nlohmann::json& means);
/// What the titles mean, a line each.
std::vector<std::string> legend(const std::vector<std::string>& engines);

/// Of Markdown, whose tables each show one side of the scenarios.
Columns latency_columns(const std::vector<std::string>& engines, const std::vector<int>& threads);
Columns memory_columns(const std::vector<std::string>& engines);
Columns accuracy_columns(const std::vector<std::string>& engines);
/// For each engine that wrote a profile the operators that take most of the time; rows: scenarios with `ops`.
Columns ops_columns(const nlohmann::json& scenarios);
/// Whether outputs were held against anything but each other: what accuracy_columns() shows.
bool has_accuracy(const nlohmann::json& scenario);
bool has_ops(const nlohmann::json& scenario);

/// Reads what a suite wrote. Throws Failure where it is none.
nlohmann::json read_report(const std::string& path);

/// The report as Markdown, machine included. Throws Failure when the file cannot be written.
void write_markdown(const std::string& path, const nlohmann::json& report);

}  // namespace retort::cli
