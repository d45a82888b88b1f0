// OrtValueInfo: name and type of a value in a graph.
#pragma once
#include <string>

#include "abi/type_info.h"

struct OrtValueInfo : retort::abi::Handle<retort::abi::tag_of("vinf")> {
  std::string name;
  OrtTypeInfo type;
};
