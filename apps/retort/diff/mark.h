// Model files with intermediate values as extra outputs, made without understanding the rest of them.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace retort::cli {

/// From a graph into a body: the attribute of the node that makes the value `output`.
struct BodyStep {
  std::string output, attribute, op;
};

/// A value to show, of the main graph or of the body that `path` leads to.
struct Mark {
  std::string name;                 ///< of the model's new output: in the main graph, that of the value
  std::vector<BodyStep> path = {};  ///< outermost first
  std::string value;
  int32_t type = 0;     ///< of its elements, as in TensorProto; for values of bodies
  bool listed = false;  ///< as a sequence of what it is in each iteration, where can_list(path)
};

/// Whether values there can be listed: within one Loop, which can carry a sequence, and in no other iterations.
bool can_list(const std::vector<BodyStep>& path);

/// The whole file. Throws Failure naming it.
std::string read_model_file(const std::string& path);
/// Values that nodes of the main graph, or of the body at `path`, make, with the operators that make them; none where
/// the file has no such body.
std::map<std::string, std::string> made_values(const std::string& model, const std::vector<BodyStep>& path);
/// The model with these values, which it makes, as outputs after its own; engines infer their types. A value of a body
/// of If is an empty tensor where another branch runs; one of a body of Loop or Scan gets an axis of iterations in
/// front, or is listed.
std::string with_outputs(const std::string& model, const std::vector<Mark>& marks);

}  // namespace retort::cli
