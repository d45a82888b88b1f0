#include "diff/diff_text.h"

#include <cstdio>

#include "cli/terminal.h"

namespace retort::cli {
namespace {

using nlohmann::json;

std::string joined_names(const json& names) {
  std::string all;
  for (const std::string name : names) all += (all.empty() ? "'" : ", '") + name + "'";
  return all.empty() ? "none" : all;
}

std::string scale_text(const json& difference) {
  char text[64];
  if (difference.is_null()) return "by infinity, or in type or shape";
  std::snprintf(text, sizeof text, "by %.3g of their scale", difference.get<double>());
  return text;
}

std::string step_text(const json& step) {
  std::string text = "inside " + step["op"].get<std::string>() + " '" + step["node"].get<std::string>() + "', in its " +
                     step["body"].get<std::string>();
  if (step.contains("iteration")) text += ", in iteration " + step["iteration"].dump() + " (the first is 0)";
  return text;
}

std::string distance_text(const json& difference) {
  char text[64];
  if (difference.is_null()) return "by infinity";
  std::snprintf(text, sizeof text, "by %.2g of its scale", difference.get<double>());
  return text;
}

/// What the arbiter says.
void print_judgement(const json& judgement, const char* indent) {
  if (judgement.contains("unknown")) {
    std::printf("%sa run in float64 failed: %s\n", indent, judgement["unknown"].get<std::string>().c_str());
    return;
  }
  const std::string closer = judgement["closer"];
  std::printf("%sthe first differs from a run in float64 %s, the second %s: %s\n", indent,
              distance_text(judgement["first"]).c_str(), distance_text(judgement["second"]).c_str(),
              closer == "both" ? "neither is clearly nearer" : ("the " + closer + " is right").c_str());
}

std::string counted(size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void print_cut(const json& cut) {
  if (cut.contains("failed")) {
    std::printf("  no model was cut out: %s\n", cut["failed"].get<std::string>().c_str());
    return;
  }
  std::printf("  cut out: %s/model.onnx with %s and %s; run alone, it %s\n", cut["folder"].get<std::string>().c_str(),
              counted(cut["nodes"], "node").c_str(), counted(cut["inputs"].size(), "input").c_str(),
              cut["differs"] ? ("differs " + scale_text(cut["difference"])).c_str() : "agrees");
}

}  // namespace

void print_difference(const json& report) {
  for (const json& out : report["outputs"]) {
    std::printf("output %-24s differs %s\n", out["name"].get<std::string>().c_str(),
                scale_text(out["difference"]).c_str());
    if (out.contains("arbiter")) print_judgement(out["arbiter"], "  ");
  }
  if (report["agree"]) {
    std::printf("%s\n", paint(Paint::green, "the outputs agree").c_str());
    return;
  }
  if (report.contains("stopped")) {
    std::printf("the search for the first difference was interrupted after %s runs\n",
                report["stopped"]["looks"].dump().c_str());
    return;
  }
  if (!report.contains("first")) {
    std::printf("%s\n",
                paint(Paint::red, "the engines differ in an output that no node of the main graph computes").c_str());
    return;
  }
  const json& f = report["first"];
  std::printf("\n%s node '%s' (%s), value '%s', %s\n", paint(Paint::red, "they first differ at").c_str(),
              f["node"].get<std::string>().c_str(), f["op"].get<std::string>().c_str(),
              f["value"].get<std::string>().c_str(), scale_text(f["difference"]).c_str());
  for (const json& step : f.value("inside", json::array())) std::printf("  %s\n", step_text(step).c_str());
  if (f.contains("inside_unseen"))
    std::printf("  the place inside is unknown: %s\n", f["inside_unseen"].get<std::string>().c_str());
  if (const auto what = f["what"].get<std::string>(); !what.empty()) std::printf("  %s\n", what.c_str());
  if (f.contains("at"))
    std::printf("  the largest difference is at %s: %s in the first, %s in the second\n",
                f["at"].get<std::string>().c_str(), f["values"][0].dump().c_str(), f["values"][1].dump().c_str());
  if (f.contains("arbiter")) print_judgement(f["arbiter"], "  ");
  std::printf("  its inputs agree: %s\n", joined_names(f["agreeing"]).c_str());
  if (f.contains("only_fused_with"))
    std::printf("  only while it is fused with %s: if shown one by one, they agree\n",
                joined_names(f["only_fused_with"]).c_str());
  if (f.contains("runs_within"))
    std::printf("  Retort runs it inside a %s that replaces %s\n", f["runs_within"]["op"].get<std::string>().c_str(),
                joined_names(f["runs_within"]["origins"]).c_str());
  if (report.contains("cut")) print_cut(report["cut"]);
}

}  // namespace retort::cli
