#include "ep.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "graph.h"

namespace loopback {
namespace {

Ep& own(OrtEp* ep) { return *static_cast<Ep*>(ep); }

std::string entry_of(const Host& host, const OrtSessionOptions* options, const std::string& key) {
  int has = 0;
  size_t size = 0;
  check(host, host.api->HasSessionConfigEntry(options, key.c_str(), &has));
  if (!has) return {};
  check(host, host.api->GetSessionConfigEntry(options, key.c_str(), nullptr, &size));
  std::string value(size, '\0');
  check(host, host.api->GetSessionConfigEntry(options, key.c_str(), value.data(), &size));
  return value.c_str();  // the size includes the terminator
}

/// The number of the captured run that this run records or repeats.
int graph_id(const Host& host, const OrtRunOptions* options) {
  const char* text = options ? host.api->GetRunConfigEntry(options, "gpu_graph_id") : nullptr;
  return text ? std::atoi(text) : 0;
}

std::string path_of(const Host& host, const OrtGraph* graph) {
  const char* path = nullptr;
  check(host, host.api->Graph_GetModelPath(graph, &path));
  return path ? path : "";
}

}  // namespace

Ep::Ep(const Host& host, const char* name, int device, const OrtMemoryInfo* memory, const OrtSessionOptions* options)
    : OrtEp{}, host_(host), name_(name), device_(device), memory_(memory), kernels_{host, device} {
  read_options(options);
  captures_.wants(style_.kernels ? 0 : int(style_.capture));
  // The functions that stay null are optional: profilers and others.
  ort_version_supported = ORT_API_VERSION;
  OrtEp::GetName = [](const OrtEp* ep) noexcept { return static_cast<const Ep*>(ep)->name_.c_str(); };
  OrtEp::GetCapability = [](OrtEp* ep, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept {
    return entry(own(ep).host_, "GetCapability", [&] { own(ep).claim(graph, info); });
  };
  OrtEp::Compile = [](OrtEp* ep, const OrtGraph** graphs, const OrtNode** fused, size_t count,
                      OrtNodeComputeInfo** infos, OrtNode** contexts) noexcept {
    return entry(own(ep).host_, "Compile", [&] { own(ep).compile(graphs, fused, count, infos, contexts); });
  };
  OrtEp::ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) delete static_cast<loopback::Part*>(infos[i]);
  };
  OrtEp::GetKernelRegistry = [](OrtEp* ep, const OrtKernelRegistry** registry) noexcept {
    Ep& self = own(ep);
    return entry(self.host_, "GetKernelRegistry", [&] {
      if (!self.registry_)
        self.registry_ = make_registry(self.host_, self.name_.c_str(), &self.kernels_, self.style_.kernels);
      *registry = self.registry_;
    });
  };
  OrtEp::CreateSyncStreamForDevice = [](OrtEp* ep, const OrtMemoryDevice*, OrtSyncStreamImpl** stream) noexcept {
    return entry(own(ep).host_, "CreateSyncStreamForDevice", [&] { *stream = new Stream(own(ep).host_, ep); });
  };
  OrtEp::GetDefaultMemoryDevice = [](const OrtEp* ep, const OrtMemoryDevice** device) noexcept {
    const Ep& self = *static_cast<const Ep*>(ep);
    return entry(self.host_, "GetDefaultMemoryDevice",
                 [&] { *device = self.host_.ep->MemoryInfo_GetMemoryDevice(self.memory_); });
  };
  add_layout();
  add_runs();
  add_capture();
  OrtEp::Sync = [](OrtEp* ep) noexcept { return entry(own(ep).host_, "Sync", [&] { Stream::wait_all(ep); }); };
  OrtEp::SetDynamicOptions = [](OrtEp* ep, const char* const* keys, const char* const* values, size_t n) noexcept {
    return entry(own(ep).host_, "SetDynamicOptions", [&] {
      for (size_t i = 0; i < n; ++i) {
        if (!Control::get().set(keys[i], values[i]))
          throw Error(ORT_INVALID_ARGUMENT, std::string("no option '") + keys[i] + "' that can be '" + values[i] + "'");
      }
    });
  };
  OrtEp::GetCompiledModelCompatibilityInfo = [](OrtEp*, const OrtGraph*) noexcept { return kCompatibility; };
}

void Ep::add_layout() {
  // For all other operators the host decides (-1): it converts those on its list.
  OrtEp::GetPreferredDataLayout = [](OrtEp* ep, OrtEpDataLayout* layout) noexcept {
    return entry(own(ep).host_, "GetPreferredDataLayout",
                 [&] { *layout = own(ep).style_.channels_last ? OrtEpDataLayout_NHWC : OrtEpDataLayout_NCHW; });
  };
  OrtEp::ShouldConvertDataLayoutForOp = [](OrtEp* ep, const char*, const char* type, OrtEpDataLayout,
                                           int* should) noexcept {
    return entry(own(ep).host_, "ShouldConvertDataLayoutForOp",
                 [&] { *should = std::string_view(type) == "GlobalAveragePool" ? 1 : -1; });
  };
}

void Ep::add_runs() {
  OrtEp::IsConcurrentRunSupported = [](OrtEp*, bool* is) noexcept -> OrtStatus* { return *is = true, nullptr; };
  OrtEp::OnRunStart = [](OrtEp* ep, const OrtRunOptions* options) noexcept {
    return entry(own(ep).host_, "OnRunStart", [&] { own(ep).captures_.run_begins(graph_id(own(ep).host_, options)); });
  };
  // The official library leaves the wait at the end of a run to the provider, since the application reads results next.
  // The application waits for its own streams itself.
  OrtEp::OnRunEnd = [](OrtEp* ep, const OrtRunOptions*, bool waits) noexcept {
    return entry(own(ep).host_, "OnRunEnd", [&] {
      own(ep).captures_.run_ends();
      if (waits) Stream::wait_all(ep);
    });
  };
}

/// A run is recorded and repeated without the host, for models that run completely on the device, and whose inputs and
/// outputs stay in place. Memory between kernels belongs to the host, which reuses it after the run, so only parts are
/// captured: they keep the memory that they need.
void Ep::add_capture() {
  OrtEp::IsGraphCaptureEnabled = [](const OrtEp* ep) noexcept {
    const Style& style = static_cast<const Ep*>(ep)->style_;
    return style.capture > 0 && !style.kernels;
  };
  OrtEp::IsGraphCaptured = [](const OrtEp* ep, int id) noexcept {
    return static_cast<const Ep*>(ep)->captures_.has(id);
  };
  OrtEp::ReplayGraph = [](OrtEp* ep, int id) noexcept {
    return entry(own(ep).host_, "ReplayGraph", [&] { own(ep).captures_.replay(id); });
  };
  OrtEp::ReleaseCapturedGraph = [](OrtEp* ep, int id) noexcept {
    return entry(own(ep).host_, "ReleaseCapturedGraph", [&] { own(ep).captures_.release(id); });
  };
  OrtEp::GetGraphCaptureNodeAssignmentPolicy = [](const OrtEp*) noexcept {
    return OrtGraphCaptureNodeAssignmentPolicy_ALL_NODES_ON_EP;
  };
}

Ep::~Ep() {
  if (registry_) host_.ep->ReleaseKernelRegistry(registry_);
}

/// A provider's options are entries of the session's configuration: "ep.<name>.<option>".
void Ep::read_options(const OrtSessionOptions* options) {
  Control& control = Control::get();
  style_ = control.style();
  for (const char* key :
       {"style", "claim", "drop_constants", "channels_last", "capture", "rate", "latency_us", "delay_us", "fail"}) {
    const std::string value = entry_of(host_, options, "ep." + name_ + "." + key);
    if (!value.empty() && !control.set(key, value, style_))
      throw Error(ORT_INVALID_ARGUMENT, std::string("option '") + key + "' cannot be '" + value + "'");
  }
  // The application requests a model with compiled parts.
  makes_contexts_ = entry_of(host_, options, "ep.context_enable") == "1";
  context_inside_ = entry_of(host_, options, "ep.context_embed_mode") == "1";
  context_model_ = entry_of(host_, options, "ep.context_file_path");
}

/// Collects the nodes of one part. A part runs as a whole, so none of its results may come back to it through a node
/// outside. Nodes come in an order in which they can run; `outside` collects what nodes outside compute from the part's
/// results.
class Ep::Part {
 public:
  bool may_take(const std::vector<std::string>& inputs) const { return !reads(inputs, outside_); }
  void take(const OrtNode* node, const std::vector<std::string>& outputs) {
    nodes_.push_back(node);
    made_.insert(outputs.begin(), outputs.end());
  }
  void leave_out(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    if (reads(inputs, made_) || reads(inputs, outside_)) outside_.insert(outputs.begin(), outputs.end());
  }
  void close(const Host& host, OrtEpGraphSupportInfo* info, const OrtNodeFusionOptions& options) {
    if (!nodes_.empty())
      check(host, host.ep->EpGraphSupportInfo_AddNodesToFuse(info, nodes_.data(), nodes_.size(), &options));
    *this = Part();
  }

 private:
  static bool reads(const std::vector<std::string>& inputs, const std::set<std::string>& values) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const std::string& v) { return values.count(v) > 0; });
  }
  std::vector<const OrtNode*> nodes_;
  std::set<std::string> made_, outside_;
};

void Ep::claim(const OrtGraph* graph, OrtEpGraphSupportInfo* info) const {
  const OrtNode* parent = nullptr;
  check(host_, host_.api->Graph_GetParentNode(graph, &parent));
  if (parent && !style_.kernels) return;  // bodies of If, Loop and Scan are not claimed
  const OrtNodeFusionOptions options{ORT_API_VERSION, style_.drop_constants || makes_contexts_};
  Part part, alone;
  for (const OrtNode* node : nodes_of(host_, graph)) {
    const auto inputs = read_by(host_, node), outputs = names_of(host_, outputs_of(host_, node));
    const bool stored = is_context(host_, node, name_);
    if (!stored && !style_.kernels && can_do(host_, node, style_.claim)) {
      if (!part.may_take(inputs)) part.close(host_, info, options);
      part.take(node, outputs);
      continue;
    }
    part.leave_out(inputs, outputs);
    if (stored) {
      alone.take(node, outputs);
      alone.close(host_, info, options);
    } else if (style_.kernels && (can_do(host_, node, style_.claim) || is_control_flow(host_, node, style_.claim))) {
      const OrtKernelDef* found = nullptr;  // the kernel for these types and this version, if there is one
      check(host_, host_.ep->EpGraphSupportInfo_LookUpKernel(info, node, &found));
      if (found) check(host_, host_.ep->EpGraphSupportInfo_AddSingleNode(info, node));
    }
  }
  part.close(host_, info, options);
}

ContextPlace Ep::context_place(const OrtGraph* graph) const {
  const std::string source = path_of(host_, graph);
  const bool named = !context_model_.empty() || source.empty();
  return {context_inside_, named ? context_model_ : source.substr(0, source.rfind('.')) + "_ctx.onnx"};
}

void Ep::compile(const OrtGraph** graphs, const OrtNode** fused, size_t count, OrtNodeComputeInfo** infos,
                 OrtNode** contexts) {
  // Entries that are stored in `infos` and `contexts` belong to the host, even if a later one fails.
  for (size_t i = 0; i < count; ++i) {
    const auto nodes = nodes_of(host_, graphs[i]);
    const bool stored = nodes.size() == 1 && is_context(host_, nodes[0], name_);
    const bool own_constants = style_.drop_constants || makes_contexts_;
    Program program = stored ? read_context(host_, nodes[0], path_of(host_, graphs[i]))
                             : loopback::compile(host_, graphs[i], fused[i], own_constants);
    if (makes_contexts_ && !stored)
      contexts[i] = make_context(host_, fused[i], program, name_, context_place(graphs[i]));
    infos[i] = new loopback::Part(host_, device_, std::move(program));
  }
}

}  // namespace loopback
