#include <algorithm>

#include "common/partition.h"
#include "known.h"
#include "nvrtc.h"
#include "part.h"
#include "place.h"

namespace providers::cuda {
namespace {

constexpr int64_t kMostRead = 64;  // elements of a tensor that the host reads before a run

bool is_integer(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
}

class Claims : public Claiming {
 public:
  explicit Claims(const OrtLogger* log) : log_(log) {}

  bool known(const Value* value) const override {
    if (!value || value->constant || known_.count(value)) return true;
    if (value->maker && claimed_.count(value->maker)) return false;
    // It becomes an input of the part, which the host can read.
    if (!value->has_rank || value->rank() > 1 || (value->rank() == 1 && value->dims[0] > kMostRead)) return false;
    // Lists of integers are short where shapes depend on them; lists of floats may have any length.
    const bool sized = value->rank() == 0 || value->dims[0] >= 0;
    return is_integer(value->type) || (value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && sized);
  }

  /// Whether the node is run here.
  bool take(const Node& node) {
    const auto kind = kinds().find({node.domain == "ai.onnx" ? "" : node.domain, node.type});
    if (kind == kinds().end()) return leave(node, "the provider has no kernel for it");
    if (kind->second.missing && lacks(kind->second.missing, node)) return false;
    const std::string why = kind->second.refuses ? kind->second.refuses(node, *this) : "";
    if (!why.empty()) return leave(node, why);
    claimed_.insert(&node);
    if (plannable(node) && std::all_of(node.in.begin(), node.in.end(),
                                       [&](const Value* v) { return follows_from_shape(node) || known(v); }))
      known_.insert(node.out.begin(), node.out.end());
    if (kind->second.alone) alone_.insert(&node);
    return true;
  }
  /// Writes which operators are left for want of a library: a line for each library.
  void tell_lacking() const {
    for (const auto& [missing, lack] : lacking_) {
      if (lack.why.empty()) continue;
      std::string types;
      for (const std::string& type : lack.types) types += (types.empty() ? "" : ", ") + type;
      warn(log_, text(kName, ": nodes of type ", types, " are left to other providers: ", lack.why));
    }
  }
  bool is_alone(const Node& node) const { return alone_.count(&node) > 0; }
  bool claimed(const Node& node) const { return claimed_.count(&node) > 0; }
  /// Whether the host computes all of the node's results while it plans, so that the device has nothing to do.
  bool is_planning(const Node* node) const {
    return std::all_of(node->out.begin(), node->out.end(), [&](const Value* v) { return !v || known_.count(v); });
  }
  /// Whether shapes are computed from its inputs or results. Short lists of other numbers are data like any other.
  static bool touches_shapes(const Node* node) {
    const auto listed = [](const Value* v) { return v && is_integer(v->type); };
    return std::any_of(node->in.begin(), node->in.end(), listed) ||
           std::any_of(node->out.begin(), node->out.end(), listed);
  }

 private:
  struct Lack {
    std::string why;  ///< "" if the library is there
    std::set<std::string> types;
  };
  bool lacks(std::string (*missing)(), const Node& node) {
    const auto [at, is_new] = lacking_.try_emplace(missing);
    if (is_new) at->second.why = missing();
    at->second.types.insert(node.type);
    return !at->second.why.empty();
  }
  bool leave(const Node& node, const std::string& why) const {
    tell(log_, text("CUDA leaves ", node.who(), " to other providers: ", why));
    return false;
  }
  const OrtLogger* log_;
  std::set<const Node*> claimed_, alone_;
  std::set<const Value*> known_;
  std::map<std::string (*)(), Lack> lacking_;
};

}  // namespace

std::vector<std::vector<const Node*>> claim(const Graph& graph, const OrtLogger* log) {
  // A Gradient node follows the nodes of the model one by one, which those of a part no longer are.
  for (const Node& node : graph.nodes()) {
    if (node.type != "Gradient" || node.domain != "ai.onnx.preview.training") continue;
    tell(log, text("CUDA leaves all nodes to other providers, since ", node.who(), " needs them"));
    return {};
  }
  if (const std::string why = Nvrtc::missing(); !why.empty()) {
    warn(log, text(kName, ": no node is claimed, since no kernel can be compiled: ", why));
    return {};
  }
  Claims claims(log);
  for (const Node& node : graph.nodes()) claims.take(node);
  claims.tell_lacking();
  auto groups = groups_of(graph, [&](const Node& node) { return claims.claimed(node) && !claims.is_alone(node); });
  // Arithmetic on shapes alone is the host's.
  std::erase_if(groups, [&](const auto& group) {
    return std::all_of(group.begin(), group.end(), [&](const Node* n) { return claims.is_planning(n); }) &&
           std::any_of(group.begin(), group.end(), Claims::touches_shapes);
  });
  for (const Node& node : graph.nodes())
    if (claims.is_alone(node)) groups.push_back({&node});
  return groups;
}

}  // namespace providers::cuda
