// A report of a suite as Markdown.
#include <cstdio>
#include <map>
#include <sstream>

#include "cli/terminal.h"
#include "engine/engine.h"
#include "formats/tensors.h"
#include "suite/suite_report.h"

namespace retort::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kAccuracy =
    "Errors are the largest difference of an output, relative to its scale: from the correct outputs, which a run in "
    "float64 "
    "gave "
    "or which another engine stored beside the model, or from the first peer's. If all engines are equally far "
    "from float64, the model itself loses the digits in float32. Strict is `session.strict=1`, which avoids "
    "shortcuts that cost accuracy; its time ratio is relative to the default.";

/// Escapes text for a cell.
std::string markdown_cell(std::string text) {
  for (size_t at = 0; (at = text.find_first_of("|*<\\", at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

using Rows = std::vector<const Json*>;

template <typename Wanted>
Rows rows_of(const Json& all, Wanted wanted) {
  Rows rows;
  for (const Json& row : all) {
    if (wanted(row)) rows.push_back(&row);
  }
  return rows;
}

/// A page in progress, or a chapter of it.
struct Page {
  std::ostringstream& out;
  std::string mark;  ///< of the titles: "##"
};

/// Writes nothing if there are no rows.
void section(const Page& page, const char* title, const std::string& about, const Columns& columns, const Rows& rows) {
  if (rows.empty()) return;
  std::ostream& out = page.out;
  out << page.mark << " " << title << "\n" << about << (about.empty() ? "" : "\n\n");
  for (const Column& c : columns) out << "| " << c.title << " ";
  out << "|\n";
  for (const Column& c : columns) out << (c.width < 0 ? "|---" : "|---:");
  out << "|\n";
  for (const Json* row : rows) {
    for (const Column& c : columns) out << "| " << markdown_cell(c.text(*row)) << " ";
    out << "|\n";
  }
  out << "\n";
}

std::string listing(const Json& values) {
  std::string all;
  for (const auto& [key, value] : values.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (!all.empty()) all += ", ";
    if (values.is_object()) all.append(key).append(" ");
    all += text;
  }
  return all;
}

std::string peak_text(const Json& peaks, const char* unit) {
  std::string all;
  for (const auto& [threads, rate] : peaks.items())
    all += (all.empty() ? "" : ", ") + scaled(double(rate) * 1e9, unit) + " with " + threads +
           (threads == "1" ? " thread" : " threads");
  return all;
}

/// The instruction level of Retort; "" if the report does not say it.
std::string level_of(const Json& report) { return report.at("machine").value("level", ""); }

std::string level_text(const Json& report) {
  const std::string level = level_of(report);
  const bool forced = level != report.at("machine").value("best_level", level);
  return forced ? level + ", which RETORT_ISA sets; the peers choose theirs themselves" : level;
}

void machine_table(std::ostream& out, const Json& report) {
  const Json& m = report.at("machine");
  const auto row = [&](const char* title, const std::string& text) {
    if (!text.empty()) out << "| " << title << " | " << markdown_cell(text) << " |\n";
  };
  char load[32] = "";
  if (m.contains("load")) std::snprintf(load, sizeof load, "%.1f before the run", double(m["load"]));
  out << "| | |\n|---|---|\n";
  row("processor", m.at("processor"));
  row("cores", m.at("cores").dump());
  row("caches", listing(m.value("caches", Json::object())));
  row("memory", scaled(m.at("memory_bytes"), "B"));
  row("instructions", listing(m.at("isa")));
  row("instruction level of Retort", level_text(report));
  row("measured peak, float32", peak_text(report.at("peak_gflops"), "FLOP/s"));
  row("measured memory bandwidth (reading)", peak_text(report.at("read_gbs"), "B/s"));
  row("system", m.at("system"));
  row("load", load);
  row("engines", listing(report.at("engines")));
  row("date", report.at("date"));
  out << "\n";
}

void failures(const Page& page, const Json& scenarios) {
  std::ostream& out = page.out;
  bool head = false;
  for (const Json& s : scenarios) {
    if (!s.contains("error")) continue;
    if (!head) out << page.mark << " Failed\n";
    head = true;
    out << "- " << markdown_cell(s.at("name")) << ": " << markdown_cell(s.at("error")) << "\n";
  }
}

/// Lists which peers rejected which scenarios, without the engines' long messages, which the report has.
void refusals(const Page& page, const Json& scenarios) {
  std::ostream& out = page.out;
  std::map<std::string, std::string> names;  // by engine
  for (const Json& s : scenarios) {
    if (!s.contains("report")) continue;
    for (const Json& peer : s.at("report").at(0).at("peers")) {
      std::string& of_engine = names[peer.at("engine")];
      if (peer.contains("error")) of_engine.append(of_engine.empty() ? "" : ", ").append(s.at("name"));
    }
  }
  std::erase_if(names, [](const auto& entry) { return entry.second.empty(); });
  if (!names.empty()) out << page.mark << " Models that a peer rejected\n";
  for (const auto& [engine, refused] : names) out << "- " << engine << ": " << markdown_cell(refused) << "\n";
  if (!names.empty()) out << "\n";
}

void write_report(const Page& page, const Json& report) {
  const std::vector<std::string> engines = report.at("engines");
  const std::vector<int> threads = report.at("threads");
  machine_table(page.out, report);
  for (const std::string& line : legend(engines)) page.out << "- " << line << "\n";
  page.out << "\n";
  const Json &scenarios = report.at("scenarios"), means = mean_rows(report.at("means"));
  const auto is_measured = [](const Json& s) { return s.contains("report"); };
  section(page, "Geometric means", "", mean_columns(threads), rows_of(means, [](const Json&) { return true; }));
  section(page, "Latency", "", latency_columns(engines, threads), rows_of(scenarios, is_measured));
  section(page, "Loading and memory",
          "In fresh processes, of which the first does not count, with the first thread count.",
          memory_columns(engines), rows_of(scenarios, is_measured));
  section(page, "Accuracy", kAccuracy, accuracy_columns(engines), rows_of(scenarios, has_accuracy));
  section(page, "Operators", "The operators with the largest share of a run's time, by the engines' own profiles.",
          ops_columns(scenarios), rows_of(scenarios, has_ops));
  refusals(page, scenarios);
  failures(page, scenarios);
}

}  // namespace

void write_markdown(const std::string& path, const std::vector<Json>& reports) {
  std::ostringstream out;
  out << "# Benchmarks\nWritten by `retort bench --suite … --markdown` (`make bench-docs`), not by hand: measure again "
         "instead of editing.\n\n";
  const bool one = reports.size() == 1;
  for (const Json& report : reports) {
    if (!one) out << "## " << level_of(report) << " on " << std::string(report.at("machine").at("processor")) << "\n";
    write_report({out, one ? "##" : "###"}, report);
  }
  std::string text = out.str();
  text.erase(text.find_last_not_of('\n') + 1);
  write_file(path, text + "\n");
}

}  // namespace retort::cli
