// OrtOpAttr: an attribute on its own, between a caller and a node.
#pragma once
#include <string>

#include "abi/handle.h"
#include "ir/attributes.h"

struct OrtOpAttr : retort::abi::Handle<retort::abi::tag_of("attr")> {
  std::string name;
  retort::Attribute value;
};

namespace retort::abi {

OrtOpAttrType attribute_type(const Attribute& value);

}  // namespace retort::abi
