// A provider for tests whose memory the host really cannot access: host code that touches it outside of the provider's
// kernels and copies crashes. Its streams are asynchronous, and as slow as a test sets.
#pragma once
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "ep/cpu.h"
#include "ep/provider.h"
#include "plan/plan.h"
#include "run/frame.h"

namespace retort::testing {

/// Blocks of pages that cannot be accessed while they are not open.
class FencedMemory : public Allocator {
 public:
  explicit FencedMemory(MemorySpace space) : space_(space) {}
  ~FencedMemory() override { EXPECT_TRUE(blocks_.empty()) << "memory of the device was not freed"; }

  const MemorySpace& space() const override { return space_; }
  std::string name() const override { return "TestMemory"; }
  void* allocate(size_t bytes) override {
    if (full) throw Error(ErrorCode::fail, "allocate failed");
    const size_t size = (std::max<size_t>(bytes, 1) + 4095) / 4096 * 4096;
    void* p = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const std::lock_guard lock(mutex_);
    blocks_[static_cast<char*>(p)] = {size, 0};
    ++allocations;
    return p;
  }
  void release(void* p) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.find(static_cast<char*>(p));
    munmap(p, block->second.size);
    blocks_.erase(block);
  }
  /// While it exists, the host may access the block that contains `p`; does nothing for other memory.
  class Open {
   public:
    Open(FencedMemory& memory, const void* p) : memory_(memory), p_(p) { memory_.fence(p_, +1); }
    ~Open() { memory_.fence(p_, -1); }
    Open(const Open&) = delete;

   private:
    FencedMemory& memory_;
    const void* p_;
  };
  size_t blocks() const {
    const std::lock_guard lock(mutex_);
    return blocks_.size();
  }
  std::atomic<int> allocations{0};
  std::atomic<bool> full{false};

 private:
  struct Block {
    size_t size;
    int open;
  };
  void fence(const void* p, int change) {
    const std::lock_guard lock(mutex_);
    auto after = blocks_.upper_bound(const_cast<char*>(static_cast<const char*>(p)));
    if (after == blocks_.begin()) return;
    auto& [begin, block] = *std::prev(after);
    if (static_cast<const char*>(p) >= begin + block.size) return;
    block.open += change;
    mprotect(begin, block.size, block.open ? PROT_READ | PROT_WRITE : PROT_NONE);
  }

  const MemorySpace space_;
  mutable std::mutex mutex_;
  std::map<char*, Block> blocks_;
};

/// Host memory that the device can access.
class PinnedMemory : public Allocator {
 public:
  explicit PinnedMemory(MemorySpace space) : space_(space) { space_.kind = MemoryKind::host_accessible; }
  const MemorySpace& space() const override { return space_; }
  void* allocate(size_t bytes) override { return ::operator new(std::max<size_t>(bytes, 1)); }
  void release(void* p) noexcept override { ::operator delete(p); }

 private:
  MemorySpace space_;
};

/// Does its work in order on its own thread.
class ThreadStream : public Stream {
 public:
  ThreadStream(MemorySpace space, std::chrono::microseconds delay, const std::atomic<bool>* lost = nullptr)
      : space_(space), delay_(delay), state_(std::make_shared<State>(lost)), thread_([this] { work(); }) {}
  ~ThreadStream() override {
    {
      const std::lock_guard lock(state_->mutex);
      state_->closing = true;
    }
    state_->changed.notify_all();
    thread_.join();
  }
  void* handle() const override { return state_.get(); }
  const MemorySpace& space() const override { return space_; }
  void flush() override {}
  void give(std::function<void()> task) {
    const std::lock_guard lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
    ++state_->given;
    state_->changed.notify_all();
  }
  std::unique_ptr<Notification> notify() override {
    const std::lock_guard lock(state_->mutex);
    return std::make_unique<Point>(state_, state_->given);
  }

 private:
  struct State {
    explicit State(const std::atomic<bool>* l) : lost(l) {}
    const std::atomic<bool>* lost;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    uint64_t given = 0, done = 0;
    bool closing = false;
  };
  class Point : public Notification {
   public:
    Point(std::shared_ptr<State> state, uint64_t at) : state_(std::move(state)), at_(at) {}
    void wait_on_host() override {
      std::unique_lock lock(state_->mutex);
      state_->changed.wait(lock, [&] { return state_->done >= at_; });
      if (state_->lost && *state_->lost) throw Error(ErrorCode::ep_fail, "wait failed");
    }
    bool wait_on_device(Stream& later) override {
      auto* stream = dynamic_cast<ThreadStream*>(&later);
      if (!stream) return false;
      stream->give([state = state_, at = at_] {
        std::unique_lock lock(state->mutex);
        state->changed.wait(lock, [&] { return state->done >= at; });
      });
      return true;
    }

   private:
    std::shared_ptr<State> state_;
    uint64_t at_;
  };
  void work() {
    std::unique_lock lock(state_->mutex);
    for (;;) {
      state_->changed.wait(lock, [&] { return state_->closing || !state_->tasks.empty(); });
      if (state_->tasks.empty()) return;
      const auto task = std::move(state_->tasks.front());
      state_->tasks.pop_front();
      lock.unlock();
      std::this_thread::sleep_for(delay_);
      task();
      lock.lock();
      ++state_->done;
      state_->changed.notify_all();
    }
  }

  const MemorySpace space_;
  const std::chrono::microseconds delay_;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

/// The settings and counters of a test.
struct DeviceControl {
  std::string name = "TestProvider";
  MemorySpace space{DeviceType::gpu, MemoryKind::device, 0xbeef, 0, 0};
  bool in_bodies = false;                                                ///< also claims nodes in bodies
  std::set<std::string> claimed{"Add", "Mul", "MatMul", "Relu", "Sub"};  ///< operators
  bool one_by_one = false;                                               ///< makes a part of every node
  bool streams = true;
  std::chrono::microseconds delay{0};
  std::function<std::vector<Claim>(const Graph&)> claim;  ///< replaces all of these settings
  /// Replaces the engine's kernels.
  std::function<std::shared_ptr<const Compiled>(const Partition&, FencedMemory&)> compile;
  struct Faults {
    std::set<std::string> functions;  ///< that throw: run_begins, run_ends, make_stream, copy
    std::atomic<bool> lost{false};    ///< waiting for a stream throws
    std::string compile, run;         ///< messages of errors to throw
    bool no_output = false;           ///< run() computes nothing
  } faults;
  bool pinned = false;  ///< it has host memory that the device can access
  bool results_on_host = false;
  std::map<std::string, std::string> why_not;  ///< by operator: its reason for not claiming such nodes
  std::atomic<int> runs{0}, copies_up{0}, copies_down{0}, copies_across{0};
  std::atomic<int> run_begins{0}, run_ends{0};
  void may_fail(const std::string& function) const {
    if (faults.functions.contains(function)) throw Error(ErrorCode::ep_fail, function + " failed");
  }
};

class TestTransfer : public DataTransfer {
 public:
  TestTransfer(DeviceControl& control, FencedMemory& memory) : control_(control), memory_(memory) {}
  bool can_copy(const MemorySpace& from, const MemorySpace& to) const override {
    const auto ours = [&](const MemorySpace& s) {
      return s.vendor_id == control_.space.vendor_id && !s.host_readable();
    };
    return (ours(from) || from.host_readable()) && (ours(to) || to.host_readable());
  }
  void copy(std::span<const Transfer> transfers, Stream* stream) override {
    control_.may_fail("copy");
    for (const Transfer& t : transfers) {
      const bool up = t.from->space().host_readable(), down = t.to->space().host_readable();
      ++(up ? control_.copies_up : down ? control_.copies_down : control_.copies_across);
      const auto task = [this, from = *t.from, to = *t.to]() mutable {
        const FencedMemory::Open a(memory_, from.data()), b(memory_, to.data());
        std::memcpy(to.mutable_data(), from.data(), from.bytes());
      };
      auto* queue = dynamic_cast<ThreadStream*>(stream);
      queue ? queue->give(task) : [](auto t) { t(); }(task);
    }
  }

 private:
  DeviceControl& control_;
  FencedMemory& memory_;
};

/// Runs its part with the engine's own kernels.
class TestCompiled : public Compiled {
 public:
  TestCompiled(DeviceControl& control, FencedMemory& memory, const Partition& part)
      : control_(control), memory_(memory) {
    Model model;
    model.dims = part.graph->shared_dims();
    model.graph = part.graph->clone();
    lower_for_cpu(model, {.level = 0});
    graph_ = model.graph->clone();
    plan_ = build_plan(*model.graph, {});
  }
  MemorySpace input_space(size_t) const override { return control_.space; }
  MemorySpace output_space(size_t) const override { return control_.results_on_host ? MemorySpace() : control_.space; }

  void run(PartitionRun& run) const override {
    ++control_.runs;
    if (!control_.faults.run.empty()) throw Error(ErrorCode::ep_fail, control_.faults.run);
    if (control_.faults.no_output) return;
    const std::shared_ptr<Graph> shapes = graph_->clone();
    std::vector<Tensor> inputs, outputs;
    for (size_t i = 0; i < run.input_count(); ++i) {
      inputs.push_back(run.input(i));
      EXPECT_TRUE(inputs.back().space().readable_as(control_.space)) << "an input on the host";
      shapes->value(shapes->inputs[i]).type = ValueType::tensor(inputs[i].dtype(), inputs[i].shape());
    }
    for (const NodeId id : shapes->order()) infer_node(*shapes, shapes->node(id));
    for (size_t i = 0; i < run.output_count(); ++i) {
      const ValueType& type = shapes->value(shapes->outputs[i]).type;
      outputs.push_back(run.output(i, type.dtype, type.shape));
    }
    const auto task = [this, inputs, outputs] { compute(inputs, outputs); };
    auto* queue = dynamic_cast<ThreadStream*>(run.stream());
    queue ? queue->give(task) : task();
  }

 private:
  void compute(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) const {
    std::deque<FencedMemory::Open> open;
    std::vector<Value> values;  // the same memory, declared as host memory while it is open
    values.reserve(inputs.size() + outputs.size());
    const auto show = [&](const Tensor& t) {
      open.emplace_back(memory_, t.data());
      return &values.emplace_back(Tensor(t.dtype(), t.shape(), const_cast<void*>(t.data()), nullptr));
    };
    std::vector<const Value*> in;
    std::vector<Value*> out;
    for (const Tensor& t : inputs) in.push_back(show(t));
    for (const Tensor& t : outputs) out.push_back(show(t));
    Frame(plan_).run({.inputs = in, .outputs = out});
  }

  DeviceControl& control_;
  FencedMemory& memory_;
  std::shared_ptr<Graph> graph_;
  std::shared_ptr<const Plan> plan_;
};

class TestProvider : public Provider {
 public:
  TestProvider(DeviceControl& control, std::shared_ptr<FencedMemory> memory)
      : control_(control), memory_(std::move(memory)) {}
  const std::string& name() const override { return control_.name; }
  MemorySpace space() const override { return control_.space; }

  // Nodes that follow each other in the model's order become one part.
  std::vector<Claim> claim(const Model& model, const Graph& graph) override {
    if (&graph != model.graph.get() && !control_.in_bodies) return {};
    if (control_.claim) return control_.claim(graph);
    std::vector<Claim> claims;
    bool open = false;
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      const auto why = control_.why_not.find(node.type);
      if (why != control_.why_not.end()) why_not_[id] = why->second;
      const bool wanted = !node.op && control_.claimed.contains(node.type);
      if (wanted && (!open || control_.one_by_one)) claims.emplace_back();
      if (wanted) claims.back().nodes.push_back(id);
      open = wanted;
    }
    return claims;
  }
  std::string why_not(NodeId node) const override {
    const auto why = why_not_.find(node);
    return why == why_not_.end() ? "" : why->second;
  }
  std::shared_ptr<const Compiled> compile(const Partition& part) override {
    if (!control_.faults.compile.empty()) throw Error(ErrorCode::ep_fail, control_.faults.compile);
    if (control_.compile) return control_.compile(part, *memory_);
    return std::make_shared<TestCompiled>(control_, *memory_, part);
  }
  std::unique_ptr<Stream> make_stream() override {
    control_.may_fail("make_stream");
    return control_.streams ? std::make_unique<ThreadStream>(control_.space, control_.delay, &control_.faults.lost)
                            : nullptr;
  }
  void run_begins(const void*) override {
    control_.may_fail("run_begins");
    ++control_.run_begins;
  }
  void run_ends(const void*, bool) override {
    ++control_.run_ends;
    control_.may_fail("run_ends");
  }

 private:
  DeviceControl& control_;
  const std::shared_ptr<FencedMemory> memory_;
  std::map<NodeId, std::string> why_not_;
};

/// One device with its own memory. `control` must outlive its users.
class TestFactory : public ProviderFactory {
 public:
  explicit TestFactory(DeviceControl& control, size_t hardware = 0)
      : control_(control),
        memory_(std::make_shared<FencedMemory>(control.space)),
        transfer_(control, *memory_),
        devices_{ProviderDevice{
            .hardware = hardware, .metadata = {{"version", "1"}}, .options = {}, .memory = all_memory()}} {}
  const std::string& name() const override { return control_.name; }
  const std::string& vendor() const override { return vendor_; }
  std::span<const ProviderDevice> devices() const override { return devices_; }
  std::unique_ptr<Provider> make_provider(std::span<const size_t>, const std::map<std::string, std::string>&,
                                          const void*) override {
    return std::make_unique<TestProvider>(control_, memory_);
  }
  DataTransfer* transfer() override { return &transfer_; }
  std::unique_ptr<Stream> make_stream(size_t, const std::map<std::string, std::string>&) override {
    return control_.streams ? std::make_unique<ThreadStream>(control_.space, control_.delay) : nullptr;
  }
  FencedMemory& memory() { return *memory_; }

 private:
  std::vector<std::shared_ptr<Allocator>> all_memory() const {
    std::vector<std::shared_ptr<Allocator>> all{memory_};
    if (control_.pinned) all.push_back(std::make_shared<PinnedMemory>(control_.space));
    return all;
  }

  DeviceControl& control_;
  const std::string vendor_ = "Retort tests";
  const std::shared_ptr<FencedMemory> memory_;
  TestTransfer transfer_;
  const std::vector<ProviderDevice> devices_;
};

}  // namespace retort::testing
