// Steps of a decoder as programs run them: what a step makes of the cache is what the next one starts from.
#pragma once
#include "engine/engine.h"

namespace retort::cli {

/// Outputs present… are handed back as the inputs past… or past_key_values… of the next step, without a look at their
/// elements; attention_mask gets one entry more, position_ids count on, the token stays.
class DecodeRun {
 public:
  /// Throws Failure where the model has no such names. `inputs` must outlive the object.
  DecodeRun(EngineSession& session, HostValues& inputs);
  /// Back to the given inputs.
  void restart();
  /// One step, then the next one is given what it needs.
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
  bool stale_ = false;   ///< the outputs are bound to those of the last step
  HostValues counters_;  ///< mask and positions of the next step
};

}  // namespace retort::cli
