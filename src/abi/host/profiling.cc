// Events that plug-ins add to profiles: plug-ins are notified of the engine's events, and return those of their devices
// at the end.
#include "abi/host/instance.h"
#include "abi/plain_data.h"
#include "abi/slots.h"

/// Collects the events of a plug-in.
struct OrtProfilingEventsContainer : retort::abi::Handle<retort::abi::tag_of("evnc")> {
  std::vector<retort::ProfileEvent> events;
};

namespace retort::abi {
namespace {

constexpr std::string_view kCategories[] = {"Session", "Node", "Kernel", "Api"};

OrtProfilingEvent as_told(const ProfileEvent& e) {
  OrtProfilingEvent told;
  told.category = e.category == "Session" ? OrtProfilingEventCategory_SESSION
                  : e.category == "Node"  ? OrtProfilingEventCategory_NODE
                                          : OrtProfilingEventCategory_API;
  told.process = int32_t(e.process);
  told.thread = int32_t(e.thread);
  told.name = e.name;
  told.timestamp_us = e.start_ns / 1000;
  told.duration_us = e.duration_ns / 1000;
  for (const ProfileEvent::Argument& a : e.arguments) told.arguments[a.key] = a.value;
  return told;
}

ProfileEvent as_written(const OrtProfilingEvent& e) {
  ProfileEvent written{.name = e.name,
                       .category = std::string(kCategories[e.category]),
                       .arguments = {},
                       .start_ns = e.timestamp_us * 1000,
                       .duration_ns = e.duration_us * 1000,
                       .process = e.process,
                       .thread = e.thread};
  for (const auto& [key, value] : e.arguments) written.arguments.push_back({key, value});
  return written;
}

/// A profile must not fail its run: errors of a plug-in are logged, and it is not called any more.
class PluginListener : public ProfileListener {
 public:
  PluginListener(std::shared_ptr<const Instance> provider, OrtEpProfilerImpl* impl)
      : provider_(std::move(provider)), impl_(impl) {}
  ~PluginListener() override { provider_->plugin->give_back("Release of a profiler", impl_->Release, impl_); }

  void profile_begins(int64_t ns_ago) override { ask("StartProfiling", impl_->StartProfiling, ns_ago); }
  void event_begins(uint64_t id) override { ask("StartEvent", impl_->StartEvent, id); }
  void event_ends(uint64_t id, const ProfileEvent& event) override {
    const OrtProfilingEvent told = as_told(event);
    ask("StopEvent", impl_->StopEvent, id, &told);
  }
  std::vector<ProfileEvent> profile_ends() override {
    OrtProfilingEventsContainer container;
    ask("EndProfiling", impl_->EndProfiling, &container);
    return std::move(container.events);
  }

 private:
  template <typename... P, typename... A>
  void ask(const char* name, OrtStatusPtr (*function)(OrtEpProfilerImpl*, P...), A... args) {
    if (!function || failed_) return;
    try {
      provider_->plugin->call(name, function, impl_, args...);
    } catch (const Error& e) {
      failed_ = true;
      provider_->logger.logger.warn("{}; the profile goes on without it", e.what());
    }
  }

  const std::shared_ptr<const Instance> provider_;
  OrtEpProfilerImpl* const impl_;
  std::atomic<bool> failed_{false};
};

}  // namespace

std::unique_ptr<ProfileListener> plugin_listener(std::shared_ptr<const Instance> provider) {
  constexpr uint32_t kProfilersSince = 25;
  const auto create = provider->ep().CreateProfiler;
  if (!provider->since(kProfilersSince) || !create) return nullptr;
  OrtEpProfilerImpl* made = nullptr;
  provider->call("CreateProfiler", create, &made);
  return made ? std::make_unique<PluginListener>(std::move(provider), made) : nullptr;
}

OrtStatusPtr ORT_API_CALL ep_api::ProfilingEventsContainer_AddEvents(OrtProfilingEventsContainer* events_container,
                                                                     const OrtProfilingEvent* const* events,
                                                                     size_t num_events) noexcept {
  return guard([&] {
    OrtProfilingEventsContainer& container = handle(events_container, "events_container");
    if (num_events > 0) need(events, "events");
    std::vector<ProfileEvent> added;
    for (size_t i = 0; i < num_events; ++i) {
      const OrtProfilingEvent& e = handle(events[i], "events");
      require(size_t(e.category) < std::size(kCategories), ErrorCode::invalid_argument,
              "event {}, '{}', is of category {}, which does not exist", i, e.name, int(e.category));
      added.push_back(as_written(e));
    }
    std::move(added.begin(), added.end(), std::back_inserter(container.events));
  });
}

}  // namespace retort::abi
