#include "bench/bench_accuracy.h"

#include <set>

#include "measure/stats.h"

namespace retort::cli {

HostValues read_expected(const std::string& folder, const std::vector<PortInfo>& outputs) {
  HostValues all;
  std::set<std::string> names;
  for (const PortInfo& port : outputs) names.insert(port.name);
  const auto saved = find_numbered_file(folder, "output_", 0).empty() ? written_files(folder, names)
                                                                      : std::map<std::string, std::string>();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = outputs[i].name;
    const auto by_name = saved.find(name);
    const std::string path = by_name != saved.end() ? by_name->second : numbered_file(folder, "output_", i);
    HostValues values = read_value_file(path, outputs[i], {});
    const auto named = values.find(name);
    if (named == values.end() && values.size() != 1)
      throw Failure(std::string(path).append(" has no array '").append(name).append("'"));
    all[name] = std::move(named != values.end() ? named->second : values.begin()->second);
  }
  refuse_more_files(folder, "output_", outputs.size());
  return all;
}

double distance(const HostValues& outputs, const HostValues& right) {
  double worst = 0;
  for (const auto& [name, value] : right) {
    const auto found = outputs.find(name);
    if (found == outputs.end()) throw Failure("output '" + name + "' does not exist, so it cannot be compared");
    worst = std::max(worst, compare(found->second, value).scaled);
  }
  return worst;
}

StrictRun measure_strict(const Common& options, const BenchSide& engine, int block, double seconds,
                         HostValues& inputs) {
  SessionSettings settings = options.settings(options.threads[0]);
  settings.warns = false;  // the session that is measured later warns
  SessionSettings strict = settings;
  strict.config["session.strict"] = "1";
  std::vector<BenchSide> modes(2);
  for (BenchSide& m : modes) {
    m.name = engine.name;
    m.side = open_side(engine.library);
  }
  modes[1].name += " with session.strict=1";
  modes[0].load(options.model, settings, inputs);
  modes[1].load(options.model, strict, inputs);
  measure(modes, {.block = block, .seconds = seconds});
  return {modes[0].quantile(0.5), modes[1].quantile(0.5), modes[1].side->values({})};
}

}  // namespace retort::cli
