#include "memory.h"

#include "common/api.h"
#include "device.h"
#include "pool.h"

namespace providers::cuda {
namespace {

Address take_device(size_t bytes) {
  Address address = 0;
  return driver().allocate(&address, bytes) == 0 ? address : 0;
}

Address take_pinned(size_t bytes) {
  void* memory = nullptr;
  return driver().host_allocate(&memory, bytes, kHostAllocPortable) == 0 ? Address(memory) : 0;
}

bool is_capturing(CUstream stream) {
  int status = kCaptureNone;
  return driver().stream_is_capturing(stream, &status) != 0 || status != kCaptureNone;
}

}  // namespace

struct Memory::State {
  std::mutex mutex;
  Events events;
  std::map<CUstream, int> streams;  // how often each was added
  Pool device{{take_device, [](Address a) { driver().release(a); }}};
  std::mutex spare_mutex;
  std::map<int, std::function<void()>> spare;
  int last_spare = 0;
  Pool pinned{{take_pinned, [](Address a) { driver().host_release(reinterpret_cast<void*>(a)); }}};

  /// Marks of the streams that have work. A capturing stream does no work, and its events cannot be waited for outside
  /// of the graph: what a captured run uses belongs to its graph (capture.h).
  std::vector<Mark> marks() {
    std::vector<Mark> made;
    for (const auto& [stream, times] : streams) {
      if (is_capturing(stream) || driver().stream_query(stream) != kNotReady) continue;
      if (auto event = events.record(stream)) made.push_back({stream, std::move(event)});
    }
    return made;
  }

  void forget(CUstream stream) {
    streams.erase(stream);
    device.forget(stream);
    pinned.forget(stream);
  }
};

Memory::Memory(const Device& device) : device_(device), state_(std::make_shared<State>()) {}

Address Memory::allocate(size_t bytes, CUstream stream) {
  device_.enter();
  const auto attempt = [&] {
    const std::lock_guard lock(state_->mutex);
    const bool orders = stream && !is_capturing(stream);
    return state_->device.allocate(bytes, orders ? stream : nullptr, orders);
  };
  if (const Address address = attempt()) return address;
  {
    const std::lock_guard lock(state_->spare_mutex);
    for (const auto& [number, give_up] : state_->spare) give_up();
  }
  return attempt();
}

CUresult Memory::begin_capture(CUstream stream, int mode) {
  const std::lock_guard lock(state_->mutex);
  return driver().capture_begin(stream, mode);
}

int Memory::add_spare(std::function<void()> give_up) {
  const std::lock_guard lock(state_->spare_mutex);
  state_->spare[++state_->last_spare] = std::move(give_up);
  return state_->last_spare;
}

void Memory::remove_spare(int number) {
  const std::lock_guard lock(state_->spare_mutex);
  state_->spare.erase(number);
}

void Memory::release(Address address) {
  if (!address) return;
  device_.enter();
  const std::lock_guard lock(state_->mutex);
  if (state_->device.owns(address)) state_->device.release(address, state_->marks());
}

void* Memory::allocate_pinned(size_t bytes) {
  device_.enter();
  const std::lock_guard lock(state_->mutex);
  return reinterpret_cast<void*>(state_->pinned.allocate(bytes, nullptr, false));
}

void Memory::release_pinned(void* memory) {
  if (!memory) return;
  device_.enter();
  const std::lock_guard lock(state_->mutex);
  if (state_->pinned.owns(Address(memory))) state_->pinned.release(Address(memory), state_->marks());
}

void Memory::add_stream(CUstream stream) {
  if (!stream) return;
  const std::lock_guard lock(state_->mutex);
  ++state_->streams[stream];
}

void Memory::remove_stream(CUstream stream) {
  const std::lock_guard lock(state_->mutex);
  const auto at = state_->streams.find(stream);
  if (at != state_->streams.end() && --at->second <= 0) state_->forget(stream);
}

void Memory::drop_stream(CUstream stream) {
  const std::lock_guard lock(state_->mutex);
  state_->forget(stream);
}

void Memory::limit(size_t bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->device.limit(bytes);
}

void Memory::trim() {
  device_.enter();
  const std::lock_guard lock(state_->mutex);
  state_->device.trim(false);
  state_->pinned.trim(false);
}

MemoryStatistics Memory::statistics() const {
  const std::lock_guard lock(state_->mutex);
  return state_->device.statistics();
}

MemoryStatistics Memory::pinned_statistics() const {
  const std::lock_guard lock(state_->mutex);
  return state_->pinned.statistics();
}

Block::Block(Device& device, size_t bytes, CUstream stream)
    : device_(&device), address_(device.memory().allocate(bytes, stream)), bytes_(bytes) {
  if (address_) return;
  const MemoryStatistics now = device.memory().statistics();
  throw Error(text("CUDA device ", device.number(), " (", device.name(), ") has no room for ", bytes,
                   " bytes: ", now.in_use, " bytes are in use, ", now.reserved, " are taken from the driver",
                   now.limit ? text(", the limit is ", now.limit) : std::string(),
                   "; use smaller inputs or fewer sessions, or raise gpu_mem_limit if it is set"));
}

Block& Block::operator=(Block&& other) noexcept {
  if (this == &other) return *this;
  if (address_) device_->memory().release(address_);
  device_ = other.device_;
  address_ = other.address_;
  bytes_ = other.bytes_;
  other.address_ = 0;
  return *this;
}

// At the exit of the process the driver may be gone before the last block: its memory went with it.
Block::~Block() {
  try {
    if (address_) device_->memory().release(address_);
  } catch (const std::exception&) {
  }
}

}  // namespace providers::cuda
