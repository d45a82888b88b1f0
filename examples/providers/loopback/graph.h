// Graphs and nodes of the host. They are valid during the call that they were passed to.
#pragma once
#include <string>
#include <vector>

#include "operators.h"

namespace loopback {

std::string name_of(const Host& host, const OrtValueInfo* value);  ///< "" for an omitted one
std::string name_of(const Host& host, const OrtNode* node);
std::string type_of(const Host& host, const OrtNode* node);
std::string domain_of(const Host& host, const OrtNode* node);
std::vector<const OrtNode*> nodes_of(const Host& host, const OrtGraph* graph);  ///< in an order in which they can run
std::vector<const OrtValueInfo*> inputs_of(const Host& host, const OrtNode* node);
std::vector<const OrtValueInfo*> outputs_of(const Host& host, const OrtNode* node);
/// Names of all values that a node reads, including its bodies.
std::vector<std::string> read_by(const Host& host, const OrtNode* node);
std::vector<std::string> names_of(const Host& host, const std::vector<const OrtValueInfo*>& values);
/// The value of a constant; null for others.
const OrtValue* constant_of(const Host& host, const OrtValueInfo* value);
/// Attributes of a node; "" or `otherwise` if it has none of that name.
std::string text_of(const Host& host, const OrtNode* node, const char* attribute);
int64_t number_of(const Host& host, const OrtNode* node, const char* attribute, int64_t otherwise);

/// Whether the node's operator is supported with its version and types, and `claim` names it.
bool can_do(const Host& host, const OrtNode* node, const std::string& claim);
/// Whether it is If, Loop or Scan, and `claim` names it.
bool is_control_flow(const Host& host, const OrtNode* node, const std::string& claim);
Operation operation_of(const Host& host, const OrtNode* node);

}  // namespace loopback
