// The graphs that `retort diff` can look into: the main graph, or a body of If, Loop or Scan.
#pragma once
#include <nlohmann/json.hpp>

#include "diff/diff_search.h"
#include "diff/mark.h"
#include "formats/tensors.h"

namespace retort::cli {

/// Values can be shown if nodes compute them in both models; in a body, only tensors of numbers.
struct DiffPlace {
  const nlohmann::json* described = nullptr;        ///< the graph, as RetortDescribeModel describes it
  std::vector<BodyStep> path = {};                  ///< empty: the main graph
  nlohmann::json within = nlohmann::json::array();  ///< for each step of the path {node, op, body, iteration?}
  std::vector<std::string> names = {};
  std::vector<const nlohmann::json*> makers = {};  ///< node that computes each value
  std::vector<std::string> operators = {};         ///< of these nodes, as in the file: functions are not expanded
  std::vector<int32_t> types = {};                 ///< of the elements, as in TensorProto
  std::map<std::string, size_t> index = {};
  ValueGraph graph = {};

  /// The name of the node that computes value `v`.
  std::string maker(size_t v) const;
  /// The mark that shows value `v`: under its own name in the main graph, otherwise under `name`, `listed` or not.
  Mark mark(size_t v, const std::string& name, bool listed) const;
};

/// `first` and `second` are the models; `graph` describes the first one at that path.
DiffPlace list_place(const nlohmann::json& graph, std::vector<BodyStep> path, const std::string& first,
                     const std::string& second);

/// The names of tensors that nodes of the body at `path` can read, its own and those of graphs around it, with their
/// element types as in TensorProto. `graph`: the main graph, as RetortDescribeModel describes it.
std::map<std::string, int32_t> readable_tensors(const nlohmann::json& graph, const std::vector<BodyStep>& path);

/// The number of iterations in a value that is stacked or listed.
size_t turns(const HostValue& v);
/// Item i, or element i of the first axis.
HostValue turn(const HostValue& v, size_t i);

}  // namespace retort::cli
