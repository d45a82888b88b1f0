// Allocators, copies and streams of plug-ins.
#include <algorithm>
#include <map>

#include "abi/host/instance.h"
#include "abi/slots.h"

namespace retort::abi {
namespace {

class PluginAllocator : public Allocator {
 public:
  /// `info`: the description that the plug-in received.
  PluginAllocator(std::shared_ptr<Plugin> plugin, OrtAllocator* allocator, std::shared_ptr<const OrtMemoryInfo> info)
      : info_(std::move(info)), plugin_(std::move(plugin)), allocator_(allocator) {}
  ~PluginAllocator() override {
    OrtEpFactory& factory = plugin_->factory();
    plugin_->give_back("ReleaseAllocator", factory.ReleaseAllocator, &factory, allocator_);
  }

  const MemorySpace& space() const override { return info_->space; }
  std::string name() const override { return info_->name; }
  void* allocate(size_t bytes) override {
    void* memory = plugin_->call("Alloc", allocator_->Alloc, allocator_, bytes);
    require(memory || bytes == 0, ErrorCode::ep_fail, "{} has no {} bytes of memory '{}'", plugin_->who(), bytes,
            info_->name);
    return memory;
  }
  void release(void* memory) noexcept override {
    if (memory) plugin_->give_back("Free", allocator_->Free, allocator_, memory);
  }
  std::map<std::string, std::string> statistics() const override {
    constexpr uint32_t kStatsSince = 23;
    OrtKeyValuePairs* pairs = nullptr;
    if (allocator_->version < kStatsSince || !allocator_->GetStats) return {};
    plugin_->call("GetStats", allocator_->GetStats, allocator_, &pairs);
    const std::unique_ptr<OrtKeyValuePairs> owned(pairs);
    return owned ? owned->entries() : std::map<std::string, std::string>();
  }

 private:
  const std::shared_ptr<const OrtMemoryInfo> info_;  // plug-ins keep its address in their objects
  const std::shared_ptr<Plugin> plugin_;
  OrtAllocator* const allocator_;
};

/// For each other stream, by number: the point in its work that this stream's later work is known to follow.
using SyncClock = std::map<uint64_t, uint64_t>;

class PluginNotification : public Notification {
 public:
  PluginNotification(std::shared_ptr<Plugin> plugin, OrtSyncNotificationImpl* impl, SyncClock clock)
      : plugin_(std::move(plugin)), impl_(impl), clock_(std::move(clock)) {}
  ~PluginNotification() override { plugin_->give_back("Release of a notification", impl_->Release, impl_); }
  bool wait_on_device(Stream& later) override;
  void wait_on_host() override { plugin_->call("WaitOnHost", impl_->WaitOnHost, impl_); }

 private:
  const std::shared_ptr<Plugin> plugin_;
  OrtSyncNotificationImpl* const impl_;
  const SyncClock clock_;  ///< at the notification's point
};

class PluginStream : public Stream {
 public:
  PluginStream(std::shared_ptr<Plugin> plugin, OrtSyncStreamImpl* impl, MemorySpace space)
      : plugin_(std::move(plugin)), impl_(impl), space_(space) {
    outward_.stream = this;
  }
  ~PluginStream() override { plugin_->give_back("Release of a stream", impl_->Release, impl_); }
  void* handle() const override {
    return impl_->GetHandle ? plugin_->call("GetHandle", impl_->GetHandle, impl_) : nullptr;
  }
  const MemorySpace& space() const override { return space_; }
  std::unique_ptr<Notification> notify() override {
    OrtSyncNotificationImpl* made = nullptr;
    plugin_->call("CreateNotification", impl_->CreateNotification, impl_, &made);
    require(made != nullptr, ErrorCode::ep_fail, "{} made no notification", plugin_->who());
    SyncClock now = clock_;
    now[number_] = ++sync_id_;
    auto notification = std::make_unique<PluginNotification>(plugin_, made, std::move(now));
    plugin_->call("Activate", made->Activate, made);
    return notification;
  }
  void flush() override {
    if (impl_->Flush) plugin_->call("Flush", impl_->Flush, impl_);
  }
  void run_ends() override {
    if (impl_->OnSessionRunEnd) plugin_->call("OnSessionRunEnd", impl_->OnSessionRunEnd, impl_);
  }
  OrtSyncStream* outward() { return &outward_; }
  const OrtSyncStreamImpl* impl() const { return impl_; }
  uint64_t sync_id() const { return sync_id_; }
  /// The producer's id at the point that this stream last waited for; 0 if it never waited for that stream.
  uint64_t waited_for(const PluginStream& producer) const {
    const auto found = clock_.find(producer.number_);
    return found == clock_.end() ? 0 : found->second;
  }
  void come_after(const SyncClock& point) {
    for (const auto& [stream, id] : point) clock_[stream] = std::max(clock_[stream], id);
  }

 private:
  static uint64_t next_number() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }
  const uint64_t number_ = next_number();  ///< unlike an address, never used again
  std::atomic<uint64_t> sync_id_{0};       ///< number of notifications of its work so far
  SyncClock clock_;                        ///< of the thread that submits its work
  const std::shared_ptr<Plugin> plugin_;
  OrtSyncStreamImpl* const impl_;
  const MemorySpace space_;
  OrtSyncStream outward_;
};

bool PluginNotification::wait_on_device(Stream& later) {
  auto* stream = dynamic_cast<PluginStream*>(&later);
  if (!stream || !impl_->WaitOnDevice) return false;
  plugin_->call("WaitOnDevice", impl_->WaitOnDevice, impl_, stream->outward());
  stream->come_after(clock_);
  return true;
}

class PluginTransfer : public DataTransfer {
 public:
  PluginTransfer(std::shared_ptr<Plugin> plugin, OrtDataTransferImpl* impl) : plugin_(std::move(plugin)), impl_(impl) {}
  ~PluginTransfer() override { plugin_->give_back("Release of a data transfer", impl_->Release, impl_); }
  bool can_copy(const MemorySpace& from, const MemorySpace& to) const override {
    const OrtMemoryDevice a = device_of(from), b = device_of(to);
    return impl_->CanCopy && plugin_->call("CanCopy", impl_->CanCopy, impl_, &a, &b);
  }
  void copy(std::span<const Transfer> transfers, Stream* stream) override {
    std::vector<std::unique_ptr<OrtValue>> values;
    std::vector<const OrtValue*> from;
    std::vector<OrtValue*> to;
    for (const Transfer& t : transfers) {
      from.push_back(values.emplace_back(std::make_unique<OrtValue>(Tensor(*t.from))).get());
      to.push_back(values.emplace_back(std::make_unique<OrtValue>(Tensor(*t.to))).get());
    }
    std::vector<OrtSyncStream*> streams(transfers.size(), abi::outward(stream));
    plugin_->call("CopyTensors", impl_->CopyTensors, impl_, from.data(), to.data(), stream ? streams.data() : nullptr,
                  transfers.size());
  }

 private:
  const std::shared_ptr<Plugin> plugin_;
  OrtDataTransferImpl* const impl_;
};

const PluginStream* plugin_stream_behind(const OrtSyncStream* stream) {
  if (!stream || stream->tag != OrtSyncStream::kTag) return nullptr;
  return dynamic_cast<const PluginStream*>(stream->stream);
}

}  // namespace

OrtMemoryDevice device_of(const MemorySpace& space) {
  OrtMemoryDevice device;
  static_cast<MemorySpace&>(device) = space;
  return device;
}

std::shared_ptr<Allocator> plugin_allocator(const std::shared_ptr<Plugin>& plugin, const OrtMemoryInfo& info,
                                            const OrtKeyValuePairs* options) {
  OrtEpFactory& factory = plugin->factory();
  OrtAllocator* made = nullptr;
  if (!plugin->since(23) || !factory.CreateAllocator) return nullptr;
  const auto kept = std::make_shared<const OrtMemoryInfo>(info);
  plugin->call("CreateAllocator", factory.CreateAllocator, &factory, kept.get(), options, &made);
  if (made) return std::make_shared<PluginAllocator>(plugin, made, kept);
  require(info.allocator_type == OrtReadOnlyAllocator, ErrorCode::fail,
          "{} made no allocator for memory '{}', which its device declares; its factory's CreateAllocator must "
          "make one",
          plugin->who(), info.name);
  return nullptr;
}

namespace {

/// What a factory is told about the session that it makes allocators for: its provider, and the session's entries for
/// arenas of the provider.
OrtKeyValuePairs allocator_options(const Instance& provider) {
  std::map<std::string, std::string> told{{"ep_instance_id", cat("{}", reinterpret_cast<uintptr_t>(&provider.ep()))}};
  std::string owner = cat("ep.{}.", provider.plugin->name());
  std::ranges::transform(owner, owner.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  for (const auto& [key, value] : provider.options.options.config) {
    if (key.starts_with(owner + "arena.")) told[key.substr(owner.size())] = value;
  }
  return OrtKeyValuePairs(std::move(told));
}

}  // namespace

SessionMemory session_memory(const Instance& provider, std::span<const OrtMemoryInfo> infos) {
  SessionMemory memory;
  const auto create = provider.since(23) ? provider.ep().CreateAllocator : nullptr;
  const OrtKeyValuePairs options = allocator_options(provider);
  const auto make = [&](const OrtMemoryInfo& info) -> std::shared_ptr<Allocator> {
    if (!create) return plugin_allocator(provider.plugin, info, &options);
    OrtAllocator* made = nullptr;
    const auto kept = std::make_shared<const OrtMemoryInfo>(info);
    provider.call("CreateAllocator", create, kept.get(), &made);
    return made ? std::make_shared<PluginAllocator>(provider.plugin, made, kept) : nullptr;
  };
  for (const OrtMemoryInfo& info : infos) {
    auto& kind = info.allocator_type == OrtReadOnlyAllocator ? memory.constants : memory.any;
    if (auto made = make(info)) kind.push_back(std::move(made));
  }
  return memory;
}

std::unique_ptr<DataTransfer> plugin_transfer(const std::shared_ptr<Plugin>& plugin) {
  OrtEpFactory& factory = plugin->factory();
  OrtDataTransferImpl* made = nullptr;
  if (!plugin->since(23) || !factory.CreateDataTransfer) return nullptr;
  plugin->call("CreateDataTransfer", factory.CreateDataTransfer, &factory, &made);
  return made ? std::make_unique<PluginTransfer>(plugin, made) : nullptr;
}

std::unique_ptr<Stream> plugin_stream(std::shared_ptr<Plugin> plugin, OrtSyncStreamImpl* stream, MemorySpace space) {
  return std::make_unique<PluginStream>(std::move(plugin), stream, space);
}

OrtSyncStream* outward(Stream* stream) {
  auto* plugin = dynamic_cast<PluginStream*>(stream);
  return plugin ? plugin->outward() : nullptr;
}

const OrtSyncStreamImpl* stream_behind(const OrtSyncStream& stream) {
  const auto* plugin = dynamic_cast<const PluginStream*>(stream.stream);
  return plugin ? plugin->impl() : nullptr;
}

namespace ep_api {

uint64_t ORT_API_CALL SyncStream_GetSyncId(const OrtSyncStream* stream) noexcept {
  const PluginStream* own = plugin_stream_behind(stream);
  return own ? own->sync_id() : 0;
}

uint64_t ORT_API_CALL GetSyncIdForLastWaitOnSyncStream(const OrtSyncStream* producer_stream,
                                                       const OrtSyncStream* consumer_stream) noexcept {
  const PluginStream* producer = plugin_stream_behind(producer_stream);
  const PluginStream* consumer = plugin_stream_behind(consumer_stream);
  return producer && consumer ? consumer->waited_for(*producer) : 0;
}

}  // namespace ep_api
}  // namespace retort::abi
