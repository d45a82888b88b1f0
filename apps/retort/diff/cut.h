// Cuts a few nodes out of a model, as a model of its own.
#pragma once
#include <set>
#include <string>

#include "formats/tensors.h"

namespace retort::cli {

struct CutModel {
  std::string bytes;                ///< an ONNX file
  std::vector<std::string> inputs;  ///< in the order of the model's inputs
  size_t nodes = 0;
};

/// The values that the nodes which make `made` read and do not make themselves, outer values that their bodies read
/// included, and which are neither weights nor results of Constant nodes. `model` is an ONNX file.
std::set<std::string> cut_inputs(const std::string& model, const std::set<std::string>& made);

/// The nodes of the main graph that make the values `made`, with their weights, as a model whose inputs are
/// cut_inputs() and whose output is `output`; `values` has all of these, for their types and shapes. Throws Failure if
/// one of them is not a tensor.
CutModel cut(const std::string& model, const std::set<std::string>& made, const std::string& output,
             const HostValues& values);

/// Writes DIR/model.onnx and DIR/input_0.pb, … in the order of the cut model's inputs. Throws Failure.
void write_cut_files(const std::string& folder, const CutModel& model, const HostValues& inputs);

}  // namespace retort::cli
