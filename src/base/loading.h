// Ends the loading of a model that the program has cancelled.
#pragma once
#include "base/error.h"
#include "base/parallel.h"

namespace retort {

/// Throws model_load_canceled if loading has been cancelled. `parallel` is that of the loading. To be called every few
/// milliseconds: callers count on loading to end within 50 ms.
inline void check_loading(const Parallel& parallel) {
  require(!parallel.cancelled(), ErrorCode::model_load_canceled,
          "loading was cancelled; call SessionOptionsSetLoadCancellationFlag with false to load again");
}

}  // namespace retort
