// A report of a suite as Markdown.
#include <fstream>
#include <sstream>

#include "engine.h"
#include "suite_report.h"
#include "terminal.h"

namespace retort::cli {
namespace {

using Json = nlohmann::json;

/// Text that stands in a cell as it is.
std::string markdown_cell(std::string text) {
  for (size_t at = 0; (at = text.find_first_of("|*<\\", at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

void markdown_table(std::ostream& out, const std::vector<Column>& columns, const std::vector<const Json*>& rows) {
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

std::string peak_text(const Json& peaks) {
  std::string all;
  for (const auto& [threads, gflops] : peaks.items())
    all += (all.empty() ? "" : ", ") + scaled(double(gflops) * 1e9, "FLOP/s") + " with " + threads +
           (threads == "1" ? " thread" : " threads");
  return all;
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
  row("measured peak, float32", peak_text(report.at("peak_gflops")));
  row("system", m.at("system"));
  row("load", load);
  row("engines", listing(report.at("engines")));
  row("date", report.at("date"));
  out << "\n";
}

void failures(std::ostream& out, const Json& scenarios) {
  bool head = false;
  for (const Json& s : scenarios) {
    if (!s.contains("error")) continue;
    if (!head) out << "## Failed\n";
    head = true;
    out << "- " << markdown_cell(s.at("name")) << ": " << markdown_cell(s.at("error")) << "\n";
  }
}

}  // namespace

void write_markdown(const std::string& path, const Json& report) {
  const std::vector<std::string> engines = report.at("engines");
  const std::vector<int> threads = report.at("threads");
  std::ostringstream out;
  out << "# Benchmarks\nWritten by `retort bench --suite … --markdown` (`make bench-docs`), not by hand: measure again "
         "instead of editing.\n\n";
  machine_table(out, report);
  for (const std::string& line : legend(engines)) out << "- " << line << "\n";
  out << "\n";
  std::vector<const Json*> means, rows;
  for (const Json& group : report.at("means")) means.push_back(&group);
  for (const Json& s : report.at("scenarios")) {
    if (s.contains("report")) rows.push_back(&s);
  }
  if (!means.empty()) {
    out << "## Geometric means\n";
    markdown_table(out, mean_columns(engines, threads), means);
  }
  out << "## Scenarios\n";
  markdown_table(out, scenario_columns(engines, threads), rows);
  failures(out, report.at("scenarios"));
  std::string text = out.str();
  text.erase(text.find_last_not_of('\n') + 1);
  std::ofstream file(path, std::ios::binary);
  file << text << "\n";
  file.close();
  if (!file) throw Failure("cannot write '" + path + "'");
}

}  // namespace retort::cli
