// The scenarios of a folder, each of which is measured in a separate process.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace retort::cli {

/// A model with inputs. Fields that the folder does not give are empty or 0.
struct Scenario {
  std::string name, model, inputs;  ///< model and inputs: paths
  std::string expected = {};        ///< folder with the correct outputs
  std::string expected_from = {};   ///< source of these outputs: "float64"
  std::string kind, precision;      ///< "CNN", "float32": the groups that means are taken over
  double flops = 0;
  bool hand_back = false;  ///< steps of a decoder instead of equal runs
  double tolerance = 0;    ///< of the largest difference of an output, relative to its scale; 0: not checked
};

/// Patterns, one of which must match; without patterns, everything matches.
struct Choice {
  std::vector<std::string> only;        ///< a scenario's name or its model's name
  std::vector<std::string> precisions;  ///< its precision
};

/// Lists the scenarios of each folder's index.json, as bench/zoo/build_zoo.py writes it: no name twice, no field that
/// is not known. Without that file, every .onnx file below the folder is one, in order of paths, with the input_0.pb, …
/// beside it as inputs and output_0.pb, … as expected outputs. Only the scenarios that `choice` matches. Throws Failure
/// if none is left.
std::vector<Scenario> find_scenarios(const std::vector<std::string>& folders, const Choice& choice);

/// Runs this program with `words`, which make it print JSON, and returns the scenario's entry in reports: name, model,
/// kind, …, expected_from if outputs are expected, and `report`, or `error` if it failed.
nlohmann::json measure_scenario(const Scenario& scenario, const std::vector<std::string>& words);

}  // namespace retort::cli
