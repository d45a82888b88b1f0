// Steps of a decoder, in which each step continues with the cache that the last step computed.
#pragma once
#include "engine/engine.h"

namespace retort::cli {

/// The outputs present… become the inputs past… or past_key_values… of the next step, without an access to their
/// elements; attention_mask gets one more entry, position_ids are incremented, the token stays the same.
class DecodeRun {
 public:
  /// Throws Failure if the model has no such names. `inputs` must outlive the object.
  DecodeRun(EngineSession& session, HostValues& inputs);
  /// Returns to the given inputs.
  void restart();
  /// Runs one step and sets the inputs of the next.
  void run();
  /// The outputs of the last step.
  HostValues values() const { return bound_->values(); }

 private:
  struct Cache {
    std::string past;
    size_t output;
  };
  void advance();

  EngineSession& session_;
  HostValues& inputs_;
  std::vector<Cache> caches_;
  std::unique_ptr<BoundRun> bound_;
  bool stale_ = false;   ///< whether the outputs are still bound to those of the last step
  HostValues counters_;  ///< mask and positions of the next step
};

}  // namespace retort::cli
