// The scenarios of a folder, each measured in a process of its own.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace retort::cli {

/// A model with inputs. What the folder does not tell is empty or 0.
struct Scenario {
  std::string name, model, inputs;  ///< model and inputs: paths
  std::string expected = {};        ///< folder with the right outputs
  std::string expected_from = {};   ///< where those come from: "float64"
  std::string kind, precision;      ///< "CNN", "float32": what means are taken over
  double flops = 0;
  bool hand_back = false;  ///< steps of a decoder in place of equal runs
  double tolerance = 0;    ///< of the largest difference of an output, as a share of its scale; 0: not judged
};

/// Patterns, one of which must match; no pattern: all do.
struct Choice {
  std::vector<std::string> only;        ///< a scenario's name or its model's name
  std::vector<std::string> precisions;  ///< its precision
};

/// What index.json of each folder lists, as bench/zoo/build_zoo.py writes it; without that file every .onnx file beneath
/// it, in order of their paths, with the input_0.pb, … beside it as inputs and output_0.pb, … as what is expected. Only
/// those that `choice` takes. Throws Failure where nothing is left.
std::vector<Scenario> find_scenarios(const std::vector<std::string>& folders, const Choice& choice);

/// Runs this program with `words`, which print JSON, and answers what stands about the scenario in reports: name, model,
/// kind, …, expected_from where outputs are expected, and `report`, or `error` where it failed.
nlohmann::json measure_scenario(const Scenario& scenario, const std::vector<std::string>& words);

}  // namespace retort::cli
