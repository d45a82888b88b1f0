#include "bench/bench_accuracy.h"

#include <filesystem>
#include <set>

#include "measure/stats.h"

namespace retort::cli {

namespace {

/// Throws Failure for a file that has the name of an output although outputs are read by their numbers; and where they
/// are read by name, for each other array: it may be an output that this model lacks.
void refuse_other_files(const std::string& folder, const std::map<std::string, std::string>& by_name,
                        const std::set<std::string>& used) {
  const auto refuse = [](const std::string& file, const std::string& why) {
    throw Failure(file + " is not used: " + why + "; choose a folder with the outputs alone, or name files");
  };
  const bool numbered = !find_numbered_file(folder, "output_", 0).empty();
  if (numbered) {
    for (const auto& [name, file] : by_name)
      if (!used.contains(file)) refuse(file, "output '" + name + "' is read by its number, as output_0 exists, too");
    return;
  }
  std::set<std::string> others;  // sorted, for a message that does not depend on the order of the folder
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string kind = entry.path().extension(), file = folder + "/" + entry.path().filename().string();
    if (kind != ".pb" && kind != ".npy" && kind != ".csv") continue;
    if (!used.contains(file) && !entry.path().filename().string().starts_with("input_")) others.insert(file);
  }
  if (!others.empty()) refuse(*others.begin(), "no output is read from it");
}

}  // namespace

HostValues read_expected(const std::string& folder, const std::vector<PortInfo>& outputs) {
  HostValues all;
  std::set<std::string> names;
  for (const PortInfo& port : outputs) names.insert(port.name);
  const bool numbered = !find_numbered_file(folder, "output_", 0).empty();
  const auto saved = written_files(folder, names);
  std::set<std::string> used;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = outputs[i].name;
    const auto by_name = saved.find(name);
    const std::string path = numbered || by_name == saved.end() ? numbered_file(folder, "output_", i) : by_name->second;
    used.insert(path);
    HostValues values = read_value_file(path, outputs[i], {});
    const auto named = values.find(name);
    if (named == values.end() && values.size() != 1)
      throw Failure(std::string(path).append(" has no array '").append(name).append("'"));
    all[name] = std::move(named != values.end() ? named->second : values.begin()->second);
  }
  refuse_more_files(folder, "output_", outputs.size());
  refuse_other_files(folder, saved, used);
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
