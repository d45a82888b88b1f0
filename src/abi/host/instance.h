// A plug-in's provider of one session.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "abi/host/plugin.h"
#include "abi/host/shared_weights.h"
#include "abi/sessions/options.h"

struct OrtKernelRegistry;

namespace retort::abi {

/// Released together with the last of its parts.
class Instance {
 public:
  Instance(std::shared_ptr<Plugin> p, const ProviderSpec& spec, const Logger& log);
  ~Instance();
  Instance(const Instance&) = delete;
  OrtEp& ep() const { return *made_; }
  /// Whether the struct's version has the fields that `version` added.
  bool since(uint32_t version) const { return made_->ort_version_supported >= version; }
  /// Calls a function: call("Sync", &OrtEp::Sync). Throws ep_fail naming provider and function if it returns an error
  /// or throws.
  template <typename R, typename Ep, typename... P, typename... A>
  requires std::same_as<std::remove_const_t<Ep>, OrtEp>
  auto call(const char* name, R (*function)(Ep*, P...), A&&... args) const {
    return plugin->call(name, function, made_, std::forward<A>(args)...);
  }

  /// Whether it compiles what the session's options ask for; called before it compiles. Throws if not.
  void check_compiles() const;

  const std::shared_ptr<Plugin> plugin;
  const OrtLogger logger;
  OrtSessionOptions options;
  const OrtKernelRegistry* kernels = nullptr;  ///< the plug-in's kernels; null: it only compiles
  SharedWeights shared_weights;                ///< set before the session makes anything

 private:
  void check() const;
  mutable std::once_flag checked_compiles_;
  OrtEp* made_ = nullptr;
};

}  // namespace retort::abi
