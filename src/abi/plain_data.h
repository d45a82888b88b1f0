// Objects that only carry data.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "abi/handle.h"

struct OrtExternalInitializerInfo : retort::abi::Handle<retort::abi::tag_of("exti")> {
  std::string path;
  int64_t offset = 0;
  size_t bytes = 0;
};

struct OrtProfilingEvent : retort::abi::Handle<retort::abi::tag_of("even")> {
  OrtProfilingEventCategory category = OrtProfilingEventCategory_SESSION;
  int32_t process = 0, thread = 0;
  std::string name;
  int64_t timestamp_us = 0, duration_us = 0;
  std::map<std::string, std::string, std::less<>> arguments;
};
