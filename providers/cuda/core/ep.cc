#include "ep.h"

#include <cstdlib>

#include "allocator.h"
#include "memory.h"

namespace providers::cuda {
namespace {

Ep& own(OrtEp* ep) { return *static_cast<Ep*>(ep); }

/// The number of the captured run that this run records or repeats; negative: none.
int graph_id(const OrtRunOptions* options) {
  const char* number = options ? api().GetRunConfigEntry(options, "gpu_graph_id") : nullptr;
  return number ? std::atoi(number) : 0;
}

}  // namespace

class Ep::ComputeInfo : public OrtNodeComputeInfo {
 public:
  ComputeInfo(Ep& ep, std::unique_ptr<DevicePart> part) : OrtNodeComputeInfo{}, ep_(ep), part_(std::move(part)) {
    ort_version_supported = ORT_API_VERSION;
    CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = self;
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* context) {
      auto& info = *static_cast<ComputeInfo*>(self);
      return entry([&] { info.ep_.run(*info.part_, context); });
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }

 private:
  Ep& ep_;
  const std::unique_ptr<DevicePart> part_;
};

Ep::Ep(Device& device, SessionOptions options, const OrtMemoryInfo* memory, const OrtMemoryInfo* pinned,
       const OrtLogger* log)
    : OrtEp{}, device_(device), options_(std::move(options)), memory_(memory), pinned_(pinned), log_(log) {
  ort_version_supported = ORT_API_VERSION;
  OrtEp::GetName = [](const OrtEp*) noexcept { return kName; };
  add_parts();
  add_runs();
  add_memory();
  if (options_.captures_runs) add_capture();
  if (options_.memory_limit) device_.memory().limit(options_.memory_limit);
  if (const std::string why = device_.kernels().keep_in(options_.kernel_folder); !why.empty())
    tell(log_, text(kName, ": ", why));
  own_stream_ = options_.stream ? OwnedStream::find(options_.stream) : OwnedStream::make(device_);
  stream_ = own_stream_ ? own_stream_->handle() : options_.stream;
  device_.memory().add_stream(stream_);
  if (options_.captures_runs) captures_ = std::make_shared<Captures>(device_, stream_);
  copies_ = {&device_, captures_};
}

Ep::~Ep() {
  if (registry_) ep_api().ReleaseKernelRegistry(registry_);
  if (captures_) captures_->end();
  device_.memory().remove_stream(stream_);
}

void Ep::add_parts() {
  OrtEp::GetCapability = [](OrtEp* ep, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept {
    return entry([&] { own(ep).claim(graph, info); });
  };
  OrtEp::Compile = [](OrtEp* ep, const OrtGraph** graphs, const OrtNode** fused, size_t count,
                      OrtNodeComputeInfo** infos, OrtNode**) noexcept {
    return entry([&] {
      std::vector<std::unique_ptr<ComputeInfo>> made;
      for (size_t i = 0; i < count; ++i) made.emplace_back(own(ep).compile(graphs[i], fused[i]));
      for (size_t i = 0; i < count; ++i) infos[i] = made[i].release();
    });
  };
  OrtEp::ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) delete static_cast<ComputeInfo*>(infos[i]);
  };
  OrtEp::GetKernelRegistry = [](OrtEp* ep, const OrtKernelRegistry** registry) noexcept {
    return entry([&] {
      Ep& self = own(ep);
      if (!self.registry_) self.registry_ = make_copy_kernels(&self.copies_);
      *registry = self.registry_;
    });
  };
}

void Ep::add_runs() {
  // A captured run belongs to the session as a whole, so its runs come one after the other.
  OrtEp::IsConcurrentRunSupported = [](OrtEp* ep, bool* is) noexcept -> OrtStatus* {
    *is = !own(ep).captures_;
    return nullptr;
  };
  OrtEp::OnRunStart = [](OrtEp* ep, const OrtRunOptions* options) noexcept {
    return entry([&] {
      if (own(ep).captures_) own(ep).captures_->run_begins(graph_id(options));
    });
  };
  // The official library leaves the wait at the end of a run to the provider, since the application reads results next.
  OrtEp::OnRunEnd = [](OrtEp* ep, const OrtRunOptions*, bool waits) noexcept {
    return entry([&] {
      if (own(ep).captures_) own(ep).captures_->run_ends();
      if (waits) own(ep).wait();
    });
  };
  OrtEp::Sync = [](OrtEp* ep) noexcept { return entry([&] { own(ep).wait(); }); };
}

void Ep::add_memory() {
  OrtEp::CreateAllocator = [](OrtEp* ep, const OrtMemoryInfo* info, OrtAllocator** made) noexcept {
    *made = nullptr;
    return entry([&] {
      const Ep& self = own(ep);
      // The host may release its `info`, so an own one for the same memory is used.
      const bool on_device = place_of(ep_api().MemoryInfo_GetMemoryDevice(info)).on_device();
      *made = make_allocator(on_device ? self.memory_ : self.pinned_, self.captures_);
    });
  };
  OrtEp::CreateSyncStreamForDevice = [](OrtEp* ep, const OrtMemoryDevice*, OrtSyncStreamImpl** made) noexcept {
    *made = nullptr;
    return entry([&] { *made = new Stream(own(ep).device_, own(ep).stream_, own(ep).own_stream_, own(ep).captures_); });
  };
  OrtEp::GetDefaultMemoryDevice = [](const OrtEp* ep, const OrtMemoryDevice** device) noexcept -> OrtStatus* {
    *device = ep_api().MemoryInfo_GetMemoryDevice(static_cast<const Ep*>(ep)->memory_);
    return nullptr;
  };
}

void Ep::add_capture() {
  OrtEp::IsGraphCaptureEnabled = [](const OrtEp*) noexcept { return true; };
  OrtEp::IsGraphCaptured = [](const OrtEp* ep, int id) noexcept {
    return static_cast<const Ep*>(ep)->captures_->has(id);
  };
  OrtEp::ReplayGraph = [](OrtEp* ep, int id) noexcept { return entry([&] { own(ep).captures_->replay(id); }); };
  OrtEp::ReleaseCapturedGraph = [](OrtEp* ep, int id) noexcept {
    return entry([&] { own(ep).captures_->release(id); });
  };
  // Nodes that only compute shapes may stay with the host: they give the same shapes each time, or the graph would not
  // fit.
  OrtEp::GetGraphCaptureNodeAssignmentPolicy = [](const OrtEp*) noexcept {
    return OrtGraphCaptureNodeAssignmentPolicy_ALLOW_CPU_FOR_SHAPES;
  };
}

// Bodies of If, Loop and Scan are not claimed: hosts may read data there before the stream has made them.
void Ep::claim(const OrtGraph* handle, OrtEpGraphSupportInfo* info) const {
  const OrtNode* parent = nullptr;
  check(api().Graph_GetParentNode(handle, &parent));
  if (parent) return;
  const Graph graph(handle);
  const OrtNodeFusionOptions options{ORT_API_VERSION, true};
  size_t claimed = 0, parts = 0;
  for (const auto& group : cuda::claim(graph, log_)) {
    std::vector<const OrtNode*> nodes;
    for (const Node* n : group) nodes.push_back(n->handle);
    check(ep_api().EpGraphSupportInfo_AddNodesToFuse(info, nodes.data(), nodes.size(), &options));
    claimed += nodes.size();
    ++parts;
  }
  tell(log_, text(kName, ": claims ", claimed, " of ", graph.nodes().size(), " nodes, in ", parts,
                  parts == 1 ? " part" : " parts"));
}

Ep::ComputeInfo* Ep::compile(const OrtGraph* handle, const OrtNode* fused) {
  const Graph graph(handle);
  const char* name = "";
  check(api().Node_GetName(fused, &name));
  const Compilation what{graph, name, input_names(fused), output_names(fused), log_};
  return new ComputeInfo(*this, cuda::compile(what, device_, options_.settings));
}

void Ep::run(DevicePart& part, OrtKernelContext* context) {
  void* handle = nullptr;
  check(api().KernelContext_GetGPUComputeStream(context, &handle));
  const CUstream stream = handle ? static_cast<CUstream>(handle) : stream_;
  PartRun run{context, stream, nullptr};
  if (captures_ && captures_->part_begins(stream))
    run.keep = [&](std::shared_ptr<void> what) { captures_->keep(std::move(what)); };
  try {
    part.run(run);
  } catch (...) {
    if (run.keep) captures_->fail();
    throw;
  }
  // A host without a stream reads the results next.
  if (!handle && !run.keep) check(driver().stream_synchronize(stream), "waiting for a part");
}

void Ep::wait() {
  device_.enter();
  Captures::host_waits(stream_);
  check(driver().stream_synchronize(stream_), "waiting for the work of a session");
}

}  // namespace providers::cuda
