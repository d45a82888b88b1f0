#include <algorithm>

#include "engine.h"

namespace retort::conformance {

void Engine::use_provider(const ProviderChoice& choice) {
  // Some plug-ins give their provider the name of the registration.
  check(api_->RegisterExecutionProviderLibrary(env_.get(), choice.name.c_str(), choice.library.c_str()));
  const OrtEpDevice* const* all = nullptr;
  size_t count = 0;
  check(api_->GetEpDevices(env_.get(), &all, &count));
  const auto found =
      std::find_if(all, all + count, [&](const OrtEpDevice* d) { return choice.name == api_->EpDevice_EpName(d); });
  if (found == all + count) throw std::runtime_error(choice.library + " offers no " + choice.name);
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : choice.options) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  check(api_->SessionOptionsAppendExecutionProvider_V2(options_.get(), env_.get(), found, 1, keys.data(), values.data(),
                                                       keys.size()));
  check(api_->AddSessionConfigEntry(options_.get(), "session.record_ep_graph_assignment_info", "1"));
  provider_ = choice.name;
}

size_t Engine::claimed(const OrtSession* session) const {
  if (provider_.empty()) return 0;
  const OrtEpAssignedSubgraph* const* parts = nullptr;
  size_t count = 0, nodes = 0;
  check(api_->Session_GetEpGraphAssignmentInfo(session, &parts, &count));
  for (size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    const OrtEpAssignedNode* const* list = nullptr;
    size_t n = 0;
    check(api_->EpAssignedSubgraph_GetEpName(parts[i], &name));
    check(api_->EpAssignedSubgraph_GetNodes(parts[i], &list, &n));
    if (provider_ == name) nodes += n;
  }
  return nodes;
}

std::string Engine::heard(const std::string& text) {
  std::string lines;
  for (const std::string& line : log_)
    if (line.find(text) != std::string::npos) lines += (lines.empty() ? "" : "; ") + line;
  log_.clear();
  return lines;
}

size_t Session::claimed() const { return engine_->claimed(session_.get()); }

}  // namespace retort::conformance
