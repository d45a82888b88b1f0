// Conversion of element types: Cast and CastLike.
#pragma once
#include <string>

#include "ops/op.h"

namespace retort::ops {

struct CastBase {
  bool saturate = true;
  std::string round_mode = "up";

  /// Sets type `to` and the input's shape for output 0, with its content as far as `to` can represent it.
  static void infer_to(InferContext& c, DType to);
  void run(RunContext& c) const;
  void check() const;
};

}  // namespace retort::ops
