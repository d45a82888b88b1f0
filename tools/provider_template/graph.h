// Reading the graph that the host shows, and which of its nodes the provider takes.
#pragma once
#include <string>
#include <vector>

#include "host.h"

namespace sample_provider {

std::vector<const OrtNode*> nodes_of(const Host& host, const OrtGraph* graph);
/// Of If, Loop or Scan. Their nodes are better left alone: ONNX Runtime 1.31.1 makes invalid graphs of some such
/// claims.
bool is_body(const Host& host, const OrtGraph* graph);
std::string type_of(const Host& host, const OrtNode* node);
/// Names of the values that a node reads and makes; "" for one that is left out. Values are known by their names.
std::vector<std::string> inputs_of(const Host& host, const OrtNode* node);
std::vector<std::string> outputs_of(const Host& host, const OrtNode* node);
/// What bodies of the node (If, Loop, Scan) read besides.
std::vector<std::string> captures_of(const Host& host, const OrtNode* node);

/// Whether the provider can run the node. It must be sure: what it claims and then cannot run is an error of the
/// session, because no other provider gets the node then.
bool can_do(const Host& host, const OrtNode* node);

/// An option of this provider for this session; "" where it is not set.
std::string option(const Host& host, const OrtSessionOptions* options, const std::string& name);

}  // namespace sample_provider
