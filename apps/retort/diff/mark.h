// Adds intermediate values to a model file as outputs, without parsing the rest of the file.
#pragma once
#include <cstdint>
#include <map>
#include <protozero/data_view.hpp>
#include <string>
#include <vector>

namespace retort::cli {

/// A step from a graph into a body: the attribute of the node that computes the value `output`.
struct BodyStep {
  std::string output, attribute, op;
};

/// A value to show, of the main graph or of the body at `path`.
struct Mark {
  std::string name;                 ///< of the model's new output; in the main graph, the value's own name
  std::vector<BodyStep> path = {};  ///< outermost first
  std::string value;
  int32_t type = 0;     ///< of its elements, as in TensorProto; for values of bodies
  bool listed = false;  ///< shown as a sequence with one item per iteration, if can_list(path)
};

/// Whether values there can be listed: inside one Loop, which can carry a sequence, and in no other iterations.
bool can_list(const std::vector<BodyStep>& path);

/// Reads the whole file. Throws Failure naming it.
std::string read_model_file(const std::string& path);
/// The main graph of an ONNX file and the bodies on the path, outermost first; empty if the file has no such body.
std::vector<protozero::data_view> graphs_at(const std::string& model, const std::vector<BodyStep>& path);
/// The values that nodes of the main graph, or of the body at `path`, compute, with their operators; empty if the file
/// has no such body.
std::map<std::string, std::string> made_values(const std::string& model, const std::vector<BodyStep>& path);
/// Returns the model with these values as additional outputs; engines infer their types. A value of a body of If is an
/// empty tensor if another branch runs. A value of a body of Loop or Scan gets an axis of iterations in front, or is
/// listed.
std::string with_outputs(const std::string& model, const std::vector<Mark>& marks);

}  // namespace retort::cli
