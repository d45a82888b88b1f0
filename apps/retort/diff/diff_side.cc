#include "diff/diff_side.h"

#include <cmath>

#include "contents/model_file.h"
#include "diff/proto.h"

namespace retort::cli {
namespace {

/// The chosen library if it is Retort, otherwise that of this installation.
std::string own_library(const std::string& given) {
  const std::string chosen = default_library(given);
  return EngineLibrary(chosen, false).is_retort() ? chosen : installed_library();
}

}  // namespace

DiffSide::DiffSide(const std::string& library, const std::string& file, bool devices)
    : engine(std::make_unique<EngineLibrary>(library, devices)), model(file), bytes(read_model_file(file)) {
  folder = std::filesystem::absolute(file).parent_path().string();
  const bool ort_format = bytes.size() > 8 && bytes.compare(4, 4, "ORTM") == 0;
  if (ort_format) bytes = whole_model(ToolsLibrary(library), file);
  try {
    find_graph(bytes);
  } catch (const Failure& e) {
    whole_model(ToolsLibrary(library), file);  // the engine knows more precisely what is wrong
    throw Failure(file + ": " + e.what());
  }
}

Arbiter::Arbiter(const std::string& library, const std::string& model)
    : side_(own_library(library), "the model in float64", in_doubles(model)) {}

HostValues Arbiter::run(std::vector<Mark> shown, const HostValues& inputs) const {
  HostValues wide;
  for (const auto& [name, value] : inputs) wide[name] = in_doubles(value);
  for (Mark& mark : shown) mark.type = in_doubles(mark.type);
  Common options;
  options.config = {"session.strict=1"};
  return side_.run(shown, options, wide);
}

nlohmann::json judge(const HostValue& first, const HostValue& second, const HostValue& exact) {
  constexpr double kClearly = 4, kEqual = 1e-15;
  const double a = compare(in_doubles(first), exact).scaled, b = compare(in_doubles(second), exact).scaled;
  const auto told = [](double d) { return std::isfinite(d) ? nlohmann::json(d) : nlohmann::json(nullptr); };
  const bool first_is = a < b && !(b <= kClearly * std::max(a, kEqual)),
             second_is = b < a && !(a <= kClearly * std::max(b, kEqual));
  return {{"first", told(a)}, {"second", told(b)}, {"closer", first_is ? "first" : second_is ? "second" : "both"}};
}

}  // namespace retort::cli
