// EPContext nodes: compiled parts that a model keeps instead of their nodes.
#pragma once
#include "part.h"

namespace loopback {

/// Whether a node is one that this provider, by that name, has made.
bool is_context(const Host& host, const OrtNode* node, const std::string& provider);
/// A node with the program inside, in the place of `fused`; the host takes it over.
OrtNode* make_context(const Host& host, const OrtNode* fused, const Program& program, const std::string& provider);
/// What is in such a node. Throws for what this version did not write.
Program read_context(const Host& host, const OrtNode* node);

/// What compiled parts can be read by; a host asks for it before it loads a model.
constexpr const char* kCompatibility = "loopback-program-1";

}  // namespace loopback
