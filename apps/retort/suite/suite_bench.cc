#include "suite/suite_bench.h"

#include <cstdio>
#include <ctime>

#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "formats/tensors.h"
#include "measure/machine.h"
#include "measure/peak.h"
#include "suite/suite_report.h"
#include "web/page.h"

namespace retort::cli {
namespace {

using Json = nlohmann::json;

std::string now() {
  const std::time_t t = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", std::gmtime(&t));
  return text;
}

/// Peaks by number of threads, in thousand millions per second.
Json peaks(const std::vector<int>& threads, double (*rate)(int)) {
  Json all = Json::object();
  for (const int n : threads) all[std::to_string(n)] = rate(n) / 1e9;
  return all;
}

/// Writes the table to standard output, each row as soon as it is measured.
class SuiteTable {
 public:
  SuiteTable(std::vector<int> threads, bool silent) : threads_(std::move(threads)), silent_(silent) {}

  void row(const Json& scenario) {
    if (silent_) return;
    if (scenario.contains("error"))
      std::printf("%-32s %s\n", shortened(clean(std::string(scenario.at("name"))), 32).c_str(),
                  clean(std::string(scenario.at("error"))).c_str());
    else
      print(head_for(scenario), scenario);
    std::fflush(stdout);
  }

  void end(const Json& report) {
    if (silent_) return;
    const std::vector<std::string> engines = report.at("engines");
    const Columns columns = mean_columns(threads_);
    if (!report.at("means").empty()) {
      std::printf("\n");
      head(columns);
    }
    for (const Json& mean : mean_rows(report.at("means"))) print(columns, mean);
    std::printf("\n");
    for (const std::string& line : legend(engines)) std::printf("%s\n", line.c_str());
    const Counts n = count(report.at("scenarios"));
    std::printf("%zu scenario%s measured, %zu failed, %zu differ\n", n.measured, n.measured == 1 ? "" : "s", n.failed,
                n.differ);
  }

 private:
  const std::vector<Column>& head_for(const Json& scenario) {
    if (columns_.empty()) {
      columns_ = scenario_columns(engines_of(Json::array({scenario})), threads_);
      head(columns_);
    }
    return columns_;
  }
  static void cell(const Column& column, const std::string& text) {
    const size_t width = size_t(std::abs(column.width));
    const std::string cell = column.width < 0 ? shortened(clean(text), width) : clean(text);
    const std::string space(width - std::min(width, columns_of(cell)), ' ');
    std::printf("%s", (column.width < 0 ? cell + space : " " + space + cell).c_str());
  }
  static void head(const std::vector<Column>& columns) {
    for (const Column& c : columns) cell(c, c.title);
    std::printf("\n");
  }
  static void print(const std::vector<Column>& columns, const Json& row) {
    for (const Column& c : columns) cell(c, c.text(row));
    std::printf("\n");
  }

  std::vector<int> threads_;
  bool silent_;
  std::vector<Column> columns_;
};

Json measure_all(const std::vector<Scenario>& scenarios, const Common& options, const ScenarioWords& words,
                 SuiteTable& table) {
  Json report = {{"format", kReportFormat},
                 {"date", now()},
                 {"machine", describe_machine()},
                 {"threads", options.threads},
                 {"peak_gflops", peaks(options.threads, peak_flops)},
                 {"read_gbs", peaks(options.threads, read_bandwidth)},
                 {"scenarios", Json::array()}};
  for (size_t i = 0; i < scenarios.size() && !interrupted(); ++i) {
    Json row;
    {
      Progress progress(std::to_string(i + 1) + " of " + std::to_string(scenarios.size()) + ": " +
                        clean(scenarios[i].name));
      progress.show(double(i) / double(scenarios.size()));
      row = measure_scenario(scenarios[i], words(scenarios[i]));
    }
    if (interrupted()) break;  // its process got the same signal
    add_figures(row, report.at("peak_gflops"));
    table.row(row);
    report.at("scenarios").push_back(std::move(row));
  }
  report["engines"] = engines_of(report.at("scenarios"));
  report["means"] = means_of(report.at("scenarios"));
  return report;
}

void write_json(const std::string& path, const Json& report) { write_file(path, report.dump(1) + "\n"); }

void show_report(const Json& report, const Common& options) {
  SuiteTable table(report.at("threads"), options.json);
  for (const Json& scenario : report.at("scenarios")) table.row(scenario);
  table.end(report);
}

void check_files(const SuiteOptions& suite, const Common& options, const std::vector<Scenario>& scenarios) {
  refuse_same_files("--from", suite.from);
  if (suite.from.size() > 1 && (options.json || !suite.report.empty() || !suite.html.empty()))
    throw WrongUsage("--json, --report and --html are about one report, and --from names " +
                     std::to_string(suite.from.size()) + "; --markdown takes several");
  std::vector<NamedFile> read;
  for (const std::string& path : suite.from) read.push_back({"--from", path});
  for (const Scenario& scenario : scenarios) read.push_back({"--suite", scenario.model});
  check_output_files({{"--report", suite.report}, {"--html", suite.html}, {"--markdown", suite.markdown}}, read);
}

}  // namespace

void SuiteOptions::add(CLI::App& app) {
  constexpr const char* kGroup = "Many models";
  const auto file = [&](const char* name, std::string& to, const char* what) {
    app.add_option(name, to, what)->type_name("FILE")->group(kGroup);
  };
  app.add_option(
         "--suite", folders,
         "measure many models, each in a separate process: the scenarios that the folder's index.json lists "
         "(make zoo writes one), or else every .onnx file below the folder, with the inputs input_0.pb (or .npy), … "
         "and the expected outputs output_0.pb, … beside it; may be repeated")
      ->check(existing_folder())
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->group(kGroup);
  app.add_option("--only", choice.only, "measure only scenarios whose name or model matches; may be repeated")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->group(kGroup);
  app.add_option(
         "--precision", choice.precisions,
         "measure only scenarios whose precision in index.json matches, for example 'float32*'; may be repeated")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->group(kGroup);
  app.add_option(
         "--from", from,
         "show a file that --report of an earlier run wrote, instead of measuring; may be repeated, for reports "
         "of several instruction levels (RETORT_ISA)")
      ->check(existing_file())
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(kGroup);
  file("--report", report, "write all measurements as JSON, in addition to the table");
  file("--html", html, "write a web page with plots: one file that loads nothing");
  file("--markdown", markdown, "write machine, means and table as Markdown");
}

void bench_suite(const SuiteOptions& suite, const Common& options, const ScenarioWords& words) try {
  refuse_same_files("--suite", suite.folders);
  const auto scenarios = suite.from.empty() ? find_scenarios(suite.folders, suite.choice) : std::vector<Scenario>();
  check_files(suite, options, scenarios);
  catch_interrupt();
  std::vector<Json> reports;
  for (const std::string& path : suite.from) reports.push_back(read_report(path));
  for (const Json& report : reports) show_report(report, options);
  if (suite.from.empty()) {
    SuiteTable table(options.threads, options.json);
    reports.push_back(measure_all(scenarios, options, words, table));
    table.end(reports[0]);
  }
  if (options.json) print_json(reports[0]);
  if (!suite.report.empty()) write_json(suite.report, reports[0]);
  if (!suite.html.empty()) write_suite_page(suite.html, reports[0]);
  if (!suite.markdown.empty()) write_markdown(suite.markdown, reports);
  end_if_interrupted();
  const Counts n = count(reports[0].at("scenarios"));
  if (suite.from.empty() && n.failed + n.differ > 0) {
    std::fprintf(stderr, "retort bench: scenarios that failed: %zu; with other outputs: %zu\n", n.failed, n.differ);
    throw Exit{kFailed};
  }
} catch (const nlohmann::json::exception&) {
  std::string name = "the output of a scenario's process";
  for (const std::string& path : suite.from) name = (&path == &suite.from[0] ? "'" : name + " or '") + path + "'";
  throw Failure(name + " is not a complete report; write it again with --report");
}

}  // namespace retort::cli
