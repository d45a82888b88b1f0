// What does not depend on the style: options, the registry of kernels, which nodes are taken.
#include <sstream>

#include "ep.h"
#include "graph.h"
#include "memory.h"

namespace sample_provider {

Ep::Ep(const Host& given, const OrtSessionOptions* options) : OrtEp{}, host(given) {
  std::istringstream list(option(host, options, "claim"));
  for (std::string type; std::getline(list, type, ',');) claim_.insert(type);
  ort_version_supported = ORT_API_VERSION;
  GetName = [](const OrtEp*) noexcept { return kName; };  // as the factory's
  GetKernelRegistry = [](OrtEp* ep, const OrtKernelRegistry** registry) noexcept {
    Ep& self = *static_cast<Ep*>(ep);
    return entry(self.host, [&] {
      if (!self.registry_) {
        check(self.host, self.host.ep->CreateKernelRegistry(&self.registry_));
        add_copies(self.host, self.registry_);
        self.add_kernels();
      }
      *registry = self.registry_;
    });
  };
  set_functions();
}

Ep::~Ep() {
  if (registry_) host.ep->ReleaseKernelRegistry(registry_);
}

bool Ep::takes(const OrtNode* node) const {
  const std::string type = type_of(host, node);
  return (claim_.empty() || claim_.count(type) > 0) && can_do(host, node);
}

}  // namespace sample_provider
