// Where `retort diff` can look: the values of the main graph, or of a body of If, Loop or Scan.
#pragma once
#include <nlohmann/json.hpp>

#include "diff/diff_search.h"
#include "diff/mark.h"
#include "formats/tensors.h"

namespace retort::cli {

/// What can be looked at are values that nodes make in both models: in a body those that are tensors of numbers.
struct DiffPlace {
  const nlohmann::json* described = nullptr;        ///< the graph, as RetortDescribeModel tells it
  std::vector<BodyStep> path = {};                  ///< empty: the main graph
  nlohmann::json within = nlohmann::json::array();  ///< for each step of the path {node, op, body, iteration?}
  std::vector<std::string> names = {};
  std::vector<const nlohmann::json*> makers = {};  ///< node of each value
  std::vector<std::string> operators = {};         ///< of the makers, as the file has them: functions are not expanded
  std::vector<int32_t> types = {};                 ///< of the elements, as in TensorProto
  std::map<std::string, size_t> index = {};
  ValueGraph graph = {};

  /// The name of the node that makes value `v`.
  std::string maker(size_t v) const;
  /// What shows value `v`: under its own name in the main graph, else under `name`, `listed` or not.
  Mark mark(size_t v, const std::string& name, bool listed) const;
};

/// `first` and `second` are the models; `graph` describes the first one at that path.
DiffPlace list_place(const nlohmann::json& graph, std::vector<BodyStep> path, const std::string& first,
                     const std::string& second);

/// How many iterations are in a value that is stacked or listed.
size_t turns(const HostValue& v);
/// The item i, or the element i of the first axis.
HostValue turn(const HostValue& v, size_t i);

}  // namespace retort::cli
