// Evaluates the measurements of a suite: figures, means, and the columns of its tables.
//
// A report is {format, date, machine, engines, threads, peak_gflops: {"1": …}, read_gbs: {"1": …}, scenarios, means}.
// `scenarios` holds the results of measure_scenario(), to which add_figures() adds. engines[0] is measured, the others
// are its peers. Every ratio is a peer's figure divided by that of engines[0]: above 1, the first engine is better.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace retort::cli {

inline constexpr int kReportFormat = 2;

/// Adds gflops and peak_share (in %) to each entry of scenario.report if operations and peak are known, and adds to
/// each of its peers the figures in sides: median_ms, load_ms, peak_mib, steady_mib and deviation. Sets `differs` if an
/// output differs from the first peer's by more than the tolerance.
void add_figures(nlohmann::json& scenario, const nlohmann::json& peak_gflops);

/// Names of the engines, from the first scenario that was measured; empty if none was.
std::vector<std::string> engines_of(const nlohmann::json& scenarios);

/// Geometric means over all scenarios, over those of each precision if there are several, and inside each over CNNs,
/// transformers and the rest: [{name, scenarios, report: [{threads, peers: [{engine, scenarios, ratio, start_ratio,
/// peak_ratio, steady_ratio, slowest: {name, ratio}}]}]}]. Empty if there are no peers.
nlohmann::json means_of(const nlohmann::json& scenarios);

struct Counts {
  size_t measured = 0, failed = 0, differ = 0;
};
Counts count(const nlohmann::json& scenarios);

/// A column of a table: width in a terminal (negative: left-aligned), and the text of a row.
struct Column {
  std::string title;
  int width;
  std::function<std::string(const nlohmann::json& row)> text;
};
using Columns = std::vector<Column>;

/// All figures of a scenario in one line, for terminals; memory only for the first peer.
Columns scenario_columns(const std::vector<std::string>& engines, const std::vector<int>& threads);
/// For the table of means, whose rows are mean_rows(): one per group and peer.
Columns mean_columns(const std::vector<int>& threads);
nlohmann::json mean_rows(const nlohmann::json& means);
/// Explains the titles, one line each.
std::vector<std::string> legend(const std::vector<std::string>& engines);

/// For Markdown, whose tables each show one side of the scenarios.
Columns latency_columns(const std::vector<std::string>& engines, const std::vector<int>& threads);
Columns memory_columns(const std::vector<std::string>& engines);
Columns accuracy_columns(const std::vector<std::string>& engines);
/// For each engine that wrote a profile, the operators with the most time; rows: scenarios with `ops`.
Columns ops_columns(const nlohmann::json& scenarios);
/// Whether outputs were compared with anything but each other's, so that accuracy_columns() has something to show.
bool has_accuracy(const nlohmann::json& scenario);
bool has_ops(const nlohmann::json& scenario);

/// Reads a report of a suite. Throws Failure if the file is not one.
nlohmann::json read_report(const std::string& path);

/// Writes reports as Markdown, including the machines: one page; several have a chapter each, named by instruction level
/// and processor. Throws Failure if the file cannot be written.
void write_markdown(const std::string& path, const std::vector<nlohmann::json>& reports);

}  // namespace retort::cli
