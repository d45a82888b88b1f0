// For each operator that ONNX Runtime knows: the versions in which its form changed, which of its ports share a type,
// and its attributes with their defaults.
#pragma once
#include <string_view>
#include <vector>

#include "ir/attributes.h"

namespace retort::onnx {

struct OperatorForm {
  struct Named {
    std::string_view name;
    std::string_view kind;  ///< i, f, s, is, fs, ss; empty for others
    bool required = false;
  };
  int since = 0;
  std::string_view types;  ///< "T:i0,v1,o0;B:o1": ports by type parameter, see tools/gen_operator_facts.py
  std::vector<std::string_view> defaults;  ///< "axis=i:1"
  std::vector<std::string_view> unset;     ///< optional attributes without a default
  std::vector<Named> attributes;           ///< all of them
};

/// The form of the operator in this version of its domain; 0 means the newest. Null for unknown operators.
const OperatorForm* operator_form(std::string_view domain, std::string_view type, int version);

/// Parses "axis=i:1" as an attribute.
Attributes::Item read_default(std::string_view text);

}  // namespace retort::onnx
