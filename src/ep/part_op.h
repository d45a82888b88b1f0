// The operator of the step that a provider's part becomes.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ep/provider.h"
#include "ep/uploads.h"
#include "ops/external.h"

namespace retort {

/// Pairs of an output and an input of a part: the output may lie over the input.
using Replacements = std::vector<std::pair<size_t, size_t>>;

struct PartSpec {
  std::shared_ptr<Provider> provider;
  std::shared_ptr<Uploads> uploads;
  std::string type;  ///< the node's operator type
  std::shared_ptr<const Compiled> compiled;
  std::vector<ValueType> inputs, outputs;  ///< inputs without captures
  Replacements replacements;
};
std::shared_ptr<const ExternalOp> part_op(PartSpec spec);

}  // namespace retort
