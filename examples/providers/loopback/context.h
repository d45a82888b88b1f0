// EPContext nodes: compiled parts that a saved model has in place of their nodes.
#pragma once
#include "part.h"

namespace loopback {

/// Whether this provider, with that name, has made the node.
bool is_context(const Host& host, const OrtNode* node, const std::string& provider);
/// Where the program of a node is stored.
struct ContextPlace {
  bool inside = false;  ///< in the node; otherwise in a file beside the model
  std::string model;    ///< path of the model that is written; "" if there is none
};
/// Makes a node with the program, which replaces `fused`; the host takes ownership.
OrtNode* make_context(const Host& host, const OrtNode* fused, const Program& program, const std::string& provider,
                      const ContextPlace& place);
/// Reads the program of such a node. `model`: path of the model that has it. Throws for programs of other versions.
Program read_context(const Host& host, const OrtNode* node, const std::string& model);

/// The compatibility text of compiled parts, which a host reads before it loads a model.
constexpr const char* kCompatibility = "loopback-program-1";

}  // namespace loopback
