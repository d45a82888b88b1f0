// What plug-ins add to profiles: they are told of the engine's events, and hand in those of their devices at the end.
#include "abi/host/plugin.h"
#include "abi/plain_data.h"
#include "abi/slots.h"

/// What a plug-in writes its events into.
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

/// A profile matters less than the run that it is of: what a plug-in fails at is logged, and it is left alone from then on.
class PluginListener : public ProfileListener {
 public:
  PluginListener(std::shared_ptr<const void> owner, OrtEpProfilerImpl* impl, std::string who, const Logger& logger)
      : owner_(std::move(owner)), impl_(impl), who_(std::move(who)), logger_(logger) {}
  ~PluginListener() override {
    if (impl_->Release) impl_->Release(impl_);
  }

  void profile_begins(int64_t ns_ago) override {
    ask("StartProfiling", impl_->StartProfiling, [&] { return impl_->StartProfiling(impl_, ns_ago); });
  }
  void event_begins(uint64_t id) override {
    ask("StartEvent", impl_->StartEvent, [&] { return impl_->StartEvent(impl_, id); });
  }
  void event_ends(uint64_t id, const ProfileEvent& event) override {
    const OrtProfilingEvent told = as_told(event);
    ask("StopEvent", impl_->StopEvent, [&] { return impl_->StopEvent(impl_, id, &told); });
  }
  std::vector<ProfileEvent> profile_ends() override {
    OrtProfilingEventsContainer container;
    ask("EndProfiling", impl_->EndProfiling, [&] { return impl_->EndProfiling(impl_, &container); });
    return std::move(container.events);
  }

 private:
  template <typename Function, typename Call>
  void ask(std::string_view name, Function function, Call call) {
    if (!function || failed_) return;
    try {
      check_plugin(call(), who_, name);
    } catch (const Error& e) {
      failed_ = true;
      logger_.warn("{}; the profile goes on without it", e.what());
    }
  }

  const std::shared_ptr<const void> owner_;
  OrtEpProfilerImpl* const impl_;
  const std::string who_;
  const Logger logger_;
  std::atomic<bool> failed_{false};
};

}  // namespace

std::unique_ptr<ProfileListener> plugin_listener(std::shared_ptr<const void> owner, OrtEp& ep, std::string who,
                                                 const Logger& logger) {
  constexpr uint32_t kProfilersSince = 25;
  if (ep.ort_version_supported < kProfilersSince || !ep.CreateProfiler) return nullptr;
  OrtEpProfilerImpl* made = nullptr;
  check_plugin(ep.CreateProfiler(&ep, &made), who, "CreateProfiler");
  if (!made) return nullptr;
  return std::make_unique<PluginListener>(std::move(owner), made, std::move(who), logger);
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
