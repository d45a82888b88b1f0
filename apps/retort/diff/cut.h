// Cuts a few nodes out of a model, as a model of its own.
#pragma once
#include <set>
#include <string>

#include "diff/mark.h"
#include "formats/tensors.h"

namespace retort::cli {

/// Nodes of a model.
struct CutPlace {
  std::vector<BodyStep> path;  ///< to the body that has them; empty: the main graph
  std::set<std::string> made;  ///< values that they make
  std::string output;          ///< the one that is the output of the cut model
};

struct CutModel {
  std::string bytes;                ///< an ONNX file
  std::vector<std::string> inputs;  ///< in the order of the model's inputs
  size_t nodes = 0;
};

/// The values that the nodes read and do not make themselves, outer values that their bodies read included, and which
/// are neither weights nor results of Constant nodes beside them. `model` is an ONNX file. Throws Failure if it has no
/// such body.
std::set<std::string> cut_inputs(const std::string& model, const CutPlace& place);

/// The nodes with their weights, also those of graphs around them, as a model whose inputs are cut_inputs(); `values` has
/// these and the output, for their types and shapes. Throws Failure if one of them is not a tensor.
CutModel cut(const std::string& model, const CutPlace& place, const HostValues& values);

/// Writes DIR/model.onnx and DIR/input_0.pb, … in the order of the cut model's inputs. Throws Failure.
void write_cut_files(const std::string& folder, const CutModel& model, const HostValues& inputs);

}  // namespace retort::cli
