// A plug-in's provider of one session.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi/host/plugin.h"
#include "abi/host/shared_weights.h"
#include "abi/sessions/options.h"

struct OrtKernelRegistry;

namespace retort::abi {

/// Given back with the last of its parts.
class Instance {
 public:
  Instance(std::shared_ptr<Plugin> p, const ProviderSpec& spec, const Logger& log);
  ~Instance();
  Instance(const Instance&) = delete;
  OrtEp& ep() const { return *made_; }
  /// Whether the struct is new enough for fields that came with `version`.
  bool since(uint32_t version) const { return made_->ort_version_supported >= version; }
  /// Throws ep_fail, naming provider and call, where it answers with an error or throws: call("Sync", &OrtEp::Sync).
  template <typename R, typename Ep, typename... P, typename... A>
  requires std::same_as<std::remove_const_t<Ep>, OrtEp>
  auto call(const char* name, R (*function)(Ep*, P...), A&&... args) const {
    return plugin->call(name, function, made_, std::forward<A>(args)...);
  }

  const std::shared_ptr<Plugin> plugin;
  const OrtLogger logger;
  OrtSessionOptions options;
  const OrtKernelRegistry* kernels = nullptr;  ///< the plug-in's; null: it only compiles
  SharedWeights shared_weights;                ///< set before the session makes anything

 private:
  void check() const;
  OrtEp* made_ = nullptr;
};

}  // namespace retort::abi
