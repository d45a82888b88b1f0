#include "results/layers.h"

#include <algorithm>
#include <cstdio>

#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "diff/diff_place.h"
#include "diff/diff_side.h"

namespace retort::cli {
namespace {

using nlohmann::json;

// Each run makes a session that keeps some values. It keeps more of them as long as they are small, because making a
// session of thousands of nodes takes long.
constexpr size_t kFirstValues = 32, kMostValues = 256, kWantedBytes = size_t(64) << 20;

std::string four_digits(const json& number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number.get<double>());
  return text;
}

std::string dims_of(const json& shape) {
  std::string text;
  for (const json& extent : shape) text += (text.empty() ? "" : ",") + extent.dump();
  return "[" + text + "]";
}

}  // namespace

json measure_layers(const Common& options) {
  const DiffSide side(default_library(options.library), options.model);
  const json described = ToolsLibrary(options.library).describe(options);
  const DiffPlace place = list_place(described["graph"], {}, side.bytes, side.bytes);
  json layers = json::array();
  HostValues inputs;
  Progress progress("measuring");
  size_t at_once = kFirstValues;
  for (size_t from = 0, to = 0; from < place.names.size() && !interrupted(); from = to) {
    to = std::min(from + at_once, place.names.size());
    std::vector<Mark> marks;
    for (size_t v = from; v < to; ++v) marks.push_back(place.mark(v, place.names[v], false));
    for (const size_t id : described["graph"]["outputs"])
      std::erase_if(marks, [&](const Mark& m) { return m.name == described["graph"]["values"][id]["name"]; });
    const HostValues values = side.run(marks, options, inputs);
    size_t bytes = 0;
    for (const auto& [name, value] : values) bytes += value.tensor.bytes.size();
    at_once = bytes < kWantedBytes / 2 ? std::min(2 * at_once, kMostValues)
              : bytes > kWantedBytes   ? std::max<size_t>(at_once / 2, 1)
                                       : at_once;
    for (size_t v = from; v < to; ++v) {
      const auto found = values.find(place.names[v]);
      if (found == values.end() || !is_real(found->second.tensor.type) || found->second.tensor.count() == 0) continue;
      const HostTensor& t = found->second.tensor;
      layers.push_back({{"value", place.names[v]},
                        {"node", place.maker(v)},
                        {"op", place.operators[v]},
                        {"type", type_name(t.type)},
                        {"shape", t.shape}});
      layers.back().update(statistics_json(statistics(t)));
    }
    progress.show(double(to) / double(place.names.size()));
  }
  return layers;
}

void print_layers(const json& layers) {
  Table table({{"value"},
               {"operator"},
               {"type"},
               {"min", true},
               {"mean", true},
               {"max", true},
               {"deviation", true},
               {"zeros", true},
               {"histogram"}},
              0);
  for (const json& l : layers) {
    std::vector<std::string> row{l["value"], l["op"], l["type"].get<std::string>() + dims_of(l["shape"])};
    for (const char* key : {"min", "mean", "max", "deviation"}) row.push_back(four_digits(l[key]));
    row.push_back(l["zeros"].dump());
    row.push_back(histogram_text(l["histogram"]) +
                  (l["not_finite"] > 0 ? "  not finite: " + l["not_finite"].dump() : ""));
    table.row(std::move(row));
  }
  table.print();
}

}  // namespace retort::cli
