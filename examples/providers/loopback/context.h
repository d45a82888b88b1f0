// EPContext nodes: compiled parts that a model keeps instead of their nodes.
#pragma once
#include "part.h"

namespace loopback {

/// Whether a node is one that this provider, by that name, has made.
bool is_context(const Host& host, const OrtNode* node, const std::string& provider);
/// Where the program of a node goes.
struct ContextPlace {
  bool inside = false;  ///< into the node; else into a file beside the model
  std::string model;    ///< the path of the model that is made, "" where it is none
};
/// A node with the program, in the place of `fused`; the host takes it over.
OrtNode* make_context(const Host& host, const OrtNode* fused, const Program& program, const std::string& provider,
                      const ContextPlace& place);
/// What is in such a node. `model`: the path of the model that it is in. Throws for what this version did not write.
Program read_context(const Host& host, const OrtNode* node, const std::string& model);

/// What compiled parts can be read by; a host asks for it before it loads a model.
constexpr const char* kCompatibility = "loopback-program-1";

}  // namespace loopback
