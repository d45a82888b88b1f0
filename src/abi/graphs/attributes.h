// OrtOpAttr: an attribute without a node.
#pragma once
#include <string>

#include "abi/handle.h"
#include "ir/attributes.h"

struct OrtOpAttr : retort::abi::Handle<retort::abi::tag_of("attr")> {
  std::string name;
  retort::Attribute value;
  bool is_graph = false;  ///< whether the value is a subgraph of the node; the variant is empty then
};

namespace retort::abi {

OrtOpAttrType attribute_type(const OrtOpAttr& attribute);

}  // namespace retort::abi
