// Text as models hold it: UTF-8.
#pragma once
#include <string>

namespace retort::ops {

/// Every letter in upper or lower case, by Unicode's simple mappings. Bytes that are no UTF-8 stay as they are.
std::string with_case(const std::string& text, bool upper);

}  // namespace retort::ops
