// Outputs beside the expected ones, element by element.
#pragma once
#include <nlohmann/json.hpp>

#include "formats/tensors.h"

namespace retort::cli {

/// What --expected, --rtol and --atol say.
struct Expectation {
  std::vector<std::string> places;  ///< folders with output_0.pb, …; [name=]file
  double rtol = 1e-3, atol = 1e-7;  ///< an element agrees if |actual - expected| <= atol + rtol * |expected|
};

/// Reads the expected values of outputs. Throws Failure for an output that the model does not have.
HostValues read_expectation(const Expectation& expectation, const std::vector<PortInfo>& outputs);

/// {agree, outputs: {name: {agree, elements, outside, largest: the largest difference, null: infinite, what?: in type or
/// shape, texts?: its elements are texts, which have no distance}}}, for the outputs that are expected.
nlohmann::json compare_expected(const HostValues& actual, const HostValues& expected, const Expectation& tolerance);

/// A line for each output.
std::string expected_text(const nlohmann::json& comparison);

}  // namespace retort::cli
