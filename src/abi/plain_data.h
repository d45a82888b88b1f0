// Objects that only carry data.
#pragma once
#include <string>

#include "abi/handle.h"

struct OrtExternalInitializerInfo : retort::abi::Handle<retort::abi::tag_of("exti")> {
  std::string path;
  int64_t offset = 0;
  size_t bytes = 0;
};
