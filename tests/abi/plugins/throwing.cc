// A plug-in library for tests: a provider of compiled parts, kernels, streams and profiles. Each of its release
// functions throws after its work if `throwing_set` names it, whether or not it is declared noexcept: plug-ins in other
// languages do not know that.
#include <set>
#include <stdexcept>

#include "telling_device.h"

using namespace telling;

namespace {

std::set<std::string> throwing;

/// Replaces the function that `pointer` points to by one that throws in every call, if it has that name.
template <int Which, typename R, typename... P>
void arm(R (*&pointer)(P...) noexcept, const char* name) {
  static const char* said;
  static R (*behind)(P...) noexcept;
  if (!throwing.count(name)) return;
  said = name;
  behind = pointer;
  const auto thrower = +[](P... arguments) -> R {
    if (behind) behind(arguments...);
    tell(std::string("throws in ") + said);
    throw std::runtime_error("thrown by a test");
  };
  pointer = reinterpret_cast<R (*)(P...) noexcept>(thrower);
}
/// The same for a function that may throw.
template <int Which, typename R, typename... P>
void arm(R (*&pointer)(P...), const char* name) {
  auto quiet = reinterpret_cast<R (*)(P...) noexcept>(pointer);
  arm<Which>(quiet, name);
  pointer = quiet;
}

OrtStatus* negate(OrtKernelContext* context) {
  Floats x;
  float* y = nullptr;
  TRY(read_first(context, x));
  TRY(make_output(context, 0, x.shape, y));
  for (size_t i = 0; i < x.count; ++i) y[i] = -x.data[i];
  return nullptr;
}

struct Part : StatelessPart<negate> {
  Part() { arm<0>(ReleaseState, "ReleaseState"); }
};

struct Kernel : OrtKernelImpl {
  Kernel() : OrtKernelImpl{} {
    ort_version_supported = 24;
    OrtKernelImpl::Release = [](OrtKernelImpl* k) noexcept { delete static_cast<Kernel*>(k); };
    Compute = [](OrtKernelImpl*, OrtKernelContext* context) noexcept { return negate(context); };
    arm<1>(OrtKernelImpl::Release, "kernel");
  }
};

struct ArmedNotification : Notification {
  ArmedNotification() { arm<2>(OrtSyncNotificationImpl::Release, "notification"); }
};

struct ArmedStream : Stream {
  ArmedStream() {
    CreateNotification = [](OrtSyncStreamImpl*, OrtSyncNotificationImpl** made) noexcept -> OrtStatus* {
      *made = new ArmedNotification;
      return nullptr;
    };
    arm<3>(OrtSyncStreamImpl::Release, "stream");
    arm<4>(GetHandle, "GetHandle");
  }
};

struct Profiler : OrtEpProfilerImpl {
  Profiler() : OrtEpProfilerImpl{} {
    ort_version_supported = 25;
    OrtEpProfilerImpl::Release = [](OrtEpProfilerImpl* p) noexcept { delete static_cast<Profiler*>(p); };
    StartProfiling = [](OrtEpProfilerImpl*, int64_t) noexcept -> OrtStatus* { return nullptr; };
    EndProfiling = [](OrtEpProfilerImpl*, OrtProfilingEventsContainer*) noexcept -> OrtStatus* { return nullptr; };
    StartEvent = [](OrtEpProfilerImpl*, uint64_t) noexcept -> OrtStatus* { return nullptr; };
    StopEvent = [](OrtEpProfilerImpl*, uint64_t, const OrtProfilingEvent*) noexcept -> OrtStatus* { return nullptr; };
    arm<5>(OrtEpProfilerImpl::Release, "profiler");
  }
};

/// A kernel of Neg for the nodes that are not compiled.
OrtStatus* make_registry(OrtKernelRegistry** registry) {
  OrtKernelDefBuilder* builder = nullptr;
  OrtKernelDef* def = nullptr;
  const OrtKernelCreateFunc make = [](void*, const OrtKernelInfo*, OrtKernelImpl** made) noexcept -> OrtStatus* {
    *made = new Kernel;
    return nullptr;
  };
  TRY(ep_api->CreateKernelRegistry(registry));
  TRY(ep_api->CreateKernelDefBuilder(&builder));
  TRY(ep_api->KernelDefBuilder_SetOperatorType(builder, "Neg"));
  TRY(ep_api->KernelDefBuilder_SetDomain(builder, ""));
  TRY(ep_api->KernelDefBuilder_SetSinceVersion(builder, 6, 30));
  TRY(ep_api->KernelDefBuilder_SetExecutionProvider(builder, "throwing"));
  TRY(ep_api->KernelDefBuilder_Build(builder, &def));
  TRY(ep_api->KernelRegistry_AddKernel(*registry, def, make, nullptr));
  ep_api->ReleaseKernelDef(def);
  ep_api->ReleaseKernelDefBuilder(builder);
  return nullptr;
}

/// Claims every other Neg for its kernel, and compiles the others.
OrtStatus* claim(const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
  std::vector<const OrtNode*> nodes;
  TRY(nodes_of(graph, nodes));
  const OrtNodeFusionOptions how{23, false};
  bool compiles = false;
  for (const OrtNode* node : nodes) {
    if (type_of(node) != "Neg") continue;
    compiles = !compiles;
    TRY(compiles ? ep_api->EpGraphSupportInfo_AddNodesToFuse(info, &node, 1, &how)
                 : ep_api->EpGraphSupportInfo_AddSingleNode(info, node));
  }
  return nullptr;
}

struct Ep : OrtEp {
  OrtKernelRegistry* registry = nullptr;
  Ep() : OrtEp{} {
    ort_version_supported = 31;
    GetName = [](const OrtEp*) noexcept { return "throwing"; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept {
      return claim(graph, info);
    };
    Compile = make_parts<Part>;
    ReleaseNodeComputeInfos = delete_parts<Part>;
    GetKernelRegistry = [](OrtEp* e, const OrtKernelRegistry** given) noexcept -> OrtStatus* {
      auto* self = static_cast<Ep*>(e);
      if (!self->registry) TRY(make_registry(&self->registry));
      *given = self->registry;
      return nullptr;
    };
    CreateProfiler = [](OrtEp*, OrtEpProfilerImpl** made) noexcept -> OrtStatus* {
      *made = new Profiler;
      return nullptr;
    };
    arm<6>(ReleaseNodeComputeInfos, "ReleaseNodeComputeInfos");
  }
  ~Ep() {
    if (registry) ep_api->ReleaseKernelRegistry(registry);
  }
};

struct ThrowingFactory : Factory {
  ThrowingFactory() : Factory({31, "throwing", 0x7420, "1.2.3", "ThrowingMemory"}) {
    CreateEp = create_ep<Ep>;
    ReleaseEp = delete_ep<Ep>;
    CreateAllocator = [](OrtEpFactory* f, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** made) noexcept -> OrtStatus* {
      *made = new Memory(of(f).info);
      arm<7>((*made)->Free, "Free");
      return nullptr;
    };
    CreateDataTransfer = [](OrtEpFactory* f, OrtDataTransferImpl** made) noexcept -> OrtStatus* {
      *made = new Transfer(of(f).about.vendor);
      arm<8>((*made)->Release, "transfer");
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return true; };
    CreateSyncStreamForDevice = [](OrtEpFactory*, const OrtMemoryDevice*, const OrtKeyValuePairs*,
                                   OrtSyncStreamImpl** made) noexcept -> OrtStatus* {
      *made = new ArmedStream;
      return nullptr;
    };
    arm<9>(ReleaseEp, "ReleaseEp");
    arm<10>(ReleaseAllocator, "ReleaseAllocator");
  }
};

}  // namespace

EXPORTED OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*, OrtEpFactory** f,
                                      size_t room, size_t* count) {
  return plugins::give_factory<ThrowingFactory>(ORT_API_VERSION, base, f, room, count);
}
EXPORTED OrtStatus* ReleaseEpFactory(OrtEpFactory* f) {
  delete static_cast<ThrowingFactory*>(f);
  if (throwing.count("ReleaseEpFactory fails")) tell("fails in ReleaseEpFactory");
  if (throwing.count("ReleaseEpFactory fails")) return error("not given back");
  if (!throwing.count("ReleaseEpFactory")) return nullptr;
  tell("throws in ReleaseEpFactory");
  throw std::runtime_error("thrown by a test");
}

/// The next line of the report; null at the end.
EXPORTED const char* throwing_story() {
  static size_t next = 0;
  const std::lock_guard lock(mutex);
  return next < story.size() ? story[next++].c_str() : nullptr;
}
EXPORTED void throwing_set(const char* function) { throwing.insert(function); }
