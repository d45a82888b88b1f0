// When the form of each operator that ONNX Runtime knows changed, which of its ports share a type, and what its
// attributes are when a model leaves them out.
#pragma once
#include <string_view>
#include <vector>

#include "ir/attributes.h"

namespace retort::onnx {

struct OperatorForm {
  int since = 0;
  std::string_view types;  ///< "T:i0,v1,o0;B:o1": ports by type parameter, see tools/gen_operator_facts.py
  std::vector<std::string_view> defaults;  ///< "axis=i:1"
};

/// The form that the operator has in that version of its domain, 0: in the newest. Null for operators that are not known.
const OperatorForm* operator_form(std::string_view domain, std::string_view type, int version);

/// "axis=i:1" as an attribute.
Attributes::Item read_default(std::string_view text);

}  // namespace retort::onnx
