// OrtOpAttr: an attribute on its own, between a caller and a node.
#pragma once
#include <string>

#include "abi/handle.h"
#include "ir/attributes.h"

struct OrtOpAttr : retort::abi::Handle<retort::abi::tag_of("attr")> {
  std::string name;
  retort::Attribute value;
  bool is_graph = false;  ///< its value is a subgraph of its node, and none of the above
};

namespace retort::abi {

OrtOpAttrType attribute_type(const OrtOpAttr& attribute);

}  // namespace retort::abi
