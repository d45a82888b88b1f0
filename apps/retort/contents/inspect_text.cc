#include "contents/inspect_text.h"

#include <cstdio>

#include "cli/terminal.h"
#include "cli/text.h"
#include "measure/stats.h"

namespace retort::cli {
namespace {

using nlohmann::json;

std::string word(const json& j) { return j.get<std::string>(); }

std::string short_number(const json& number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number.get<double>());
  return text;
}

}  // namespace

void print_trees(const json& trees) {
  std::printf("%s\n", paint(Paint::bold, "trees").c_str());
  Table table({{"node"}, {"trees", true}, {"nodes", true}, {"leaves", true}, {"depth", true}});
  for (const auto& [name, size] : trees.items())
    table.row({name, size["trees"].dump(), size["nodes"].dump(), size["leaves"].dump(), size["depth"].dump()});
  table.print();
}

void print_weights(const json& weights) {
  std::printf("%s\n", paint(Paint::bold, "weights").c_str());
  Table table({{"name"},
               {"type"},
               {"size", true},
               {"min", true},
               {"mean", true},
               {"max", true},
               {"deviation", true},
               {"zeros", true},
               {"histogram"}});
  for (const json& w : weights) {
    std::string shape;
    for (const json& extent : w["shape"]) shape += (shape.empty() ? "" : ",") + extent.dump();
    std::vector<std::string> row{w["name"], word(w["type"]) + "[" + shape + "]", scaled(w["bytes"], "B")};
    if (w.contains("min")) {
      for (const char* key : {"min", "mean", "max", "deviation"}) row.push_back(short_number(w[key]));
      row.push_back(w["zeros"].dump());
      row.push_back(histogram_text(w["histogram"]) +
                    (w["not_finite"] > 0 ? "  not finite: " + w["not_finite"].dump() : ""));
    }
    table.row(std::move(row));
  }
  table.print();
}

void print_passes(const json& passes, const json& total) {
  std::printf("%s\n", paint(Paint::bold, "passes").c_str());
  Table table(
      {{"in order"}, {"ms", true}, {"nodes", true}, {"changes", true}, {"rules and how often each was applied"}});
  const auto ms = [](const json& of) {
    char number[32];
    std::snprintf(number, sizeof number, "%.2f", of["milliseconds"].get<double>());
    return std::string(number);
  };
  for (const json& p : passes) {
    std::string counts;
    for (const auto& [what, times] : p["counts"].items())
      counts += (counts.empty() ? "" : ", ") + what + " " + times.dump();
    table.row(
        {p["name"], ms(p), p["nodes_before"].dump() + " → " + p["nodes_after"].dump(), p["changes"].dump(), counts});
  }
  table.row({"total", ms(total), "", total["changes"].dump()});
  table.print();
}

void print_placement(const json& placement) {
  std::printf("%s\n  %s\n", paint(Paint::bold, "placement").c_str(), word(placement["summary"]).c_str());
  Table table({{"node"}, {"operator"}, {"runs on"}, {"part, or why no other"}});
  for (const json& n : placement["nodes"]) {
    std::string why = n.value("part", "");
    if (n.contains("gone")) why = "gone after optimisation";
    for (const json& other : n["others"])
      why += (why.empty() ? "" : "; ") + word(other["provider"]) + ": " + word(other["why"]);
    table.row({n["name"], n["op"], n.contains("gone") ? "-" : word(n["provider"]), why});
  }
  table.print();
  std::string copies;
  for (const json& c : placement["copies"])
    copies += "  " + word(c["tensor"]) + ": " +
              (c.contains("bytes") ? scaled(c["bytes"], "B") : "size depends on the run") + " from " + word(c["from"]) +
              " to " + word(c["to"]) + " for " + word(c["reader"]) + "\n";
  for (const char* side : {"inputs", "outputs"}) {
    for (const json& port : placement[side]) {
      const std::string memory = port["memory"].size() == 1 ? word(port["memory"][0]) : port["memory"].dump();
      if (memory != "the CPU")
        copies += "  " + word(port["name"]) + (*side == 'i' ? ": read in " : ": made in ") + memory +
                  "; copied unless it is bound there\n";
    }
  }
  if (!copies.empty()) std::printf("%s\n%s", paint(Paint::bold, "copies in every run").c_str(), copies.c_str());
  if (placement.contains("problem"))
    std::printf("%s %s\n", paint(Paint::red, "No session:").c_str(), word(placement["problem"]).c_str());
}

}  // namespace retort::cli
