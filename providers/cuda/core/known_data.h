// Elements of small tensors between memory and the host's knowledge of them.
#pragma once
#include <memory>

#include "plan.h"

namespace providers::cuda {

/// The elements of a tensor in memory of the host; null if there are more than kMostKnown or the type is not numeric.
std::shared_ptr<const Known> load_known(const TensorView& tensor);
/// Writes the elements in `type`, one after another; `to` has room for them. Throws Error for types without numbers.
void store_known(const Known& known, Type type, void* to);

}  // namespace providers::cuda
