// A plug-in's OrtEp as a provider of the engine: it claims nodes of a view of the model. Its parts (part.h) run them.

#include "abi/host/claims.h"
#include "abi/host/part.h"
#include "ep/partition.h"
#include "ep/run_capture.h"

namespace retort::abi {
namespace {

/// The view of a body inside the view of the model's graph; null if the graph is not in it.
const OrtGraph* view_of(const OrtGraph& view, const Graph& graph) {
  if (view.view->graph == &graph) return &view;
  for (const auto& node : view.nodes) {
    for (const OrtNode::Subgraph& sub : node->subgraphs) {
      if (const OrtGraph* found = view_of(*sub.graph, graph)) return found;
    }
  }
  return nullptr;
}

/// The options of a run, as Provider::run_begins() gets them.
const OrtRunOptions* callers_options(const void* outward) { return static_cast<const OrtRunOptions*>(outward); }

class PluginProvider : public Provider {
 public:
  PluginProvider(std::shared_ptr<Instance> instance, const ProviderSpec& spec, std::shared_ptr<const Devices> shared)
      : instance_(std::move(instance)),
        memory_(session_memory(*instance_, spec.memory)),
        place_{instance_, std::make_shared<Devices>(std::move(shared), std::vector{memory_}),
               default_space(spec.devices)},
        capture_(plugin_capture(instance_)) {}

  const std::string& name() const override { return instance_->plugin->name(); }
  MemorySpace space() const override { return place_.space; }
  SessionMemory memory() const override { return memory_; }
  Instance& instance() { return *instance_; }

  std::vector<Claim> claim(const Model& model, const Graph& of) override {
    const std::unique_ptr<OrtGraph> whole = view_graph(borrowed(const_cast<Model&>(model)));
    const OrtGraph* graph = view_of(*whole, of);
    OrtEpGraphSupportInfo info;
    info.graph = graph;
    info.kernels = instance_->kernels;
    info.provider = name();
    instance_->call("GetCapability", instance_->ep().GetCapability, graph, &info);
    std::vector<Claim> claims;
    for (size_t i = 0; i < info.claims.size(); ++i) {
      Claim& claim = info.claims[i];
      if (!can_be_part(of, claim)) continue;
      claim.ticket = kernels_.size();
      const OrtNode* node = info.singles[i];
      kernels_.push_back(node ? &kernel_for(*node) : nullptr);
      claim.name = node ? node->name : cat("{}_{}", name(), number_++);
      claims.push_back(std::move(claim));
    }
    refused_ = std::move(info.refused);
    return claims;
  }
  std::string why_not(NodeId node) const override {
    const auto found = refused_.find(node);
    return found == refused_.end() ? "" : found->second;
  }

  std::shared_ptr<const Compiled> compile(const Partition& part) override {
    const RegisteredKernel* kernel = kernels_.at(part.ticket);
    if (kernel) return kernel_part(place_, part, *kernel);
    const Partition* const parts[] = {&part};
    return compiled_parts(place_, parts)[0];
  }

  // A compiler gets all its parts in one call, before kernels are made, as in the official library: some plug-ins share
  // data between the parts of a call.
  std::vector<std::shared_ptr<const Compiled>> compile_all(std::span<const Partition> parts) override {
    std::vector<const Partition*> fused;
    std::vector<Partition> singles;
    for (const Partition& part : parts) {
      if (kernels_.at(part.ticket))
        singles.push_back(part);
      else
        fused.push_back(&part);
    }
    std::vector<std::shared_ptr<const Compiled>> together, alone;
    if (!fused.empty()) together = compiled_parts(place_, fused);
    alone = Provider::compile_all(singles);
    std::vector<std::shared_ptr<const Compiled>> all;
    for (auto next = together.begin(), single = alone.begin(); const Partition& part : parts)
      all.push_back(kernels_.at(part.ticket) ? *single++ : *next++);
    return all;
  }

  bool prefers_channels_last() const override {
    OrtEpDataLayout layout = OrtEpDataLayout_NCHW;
    const auto ask = instance_->ep().GetPreferredDataLayout;
    if (instance_->since(23) && ask) instance_->call("GetPreferredDataLayout", ask, &layout);
    return layout == OrtEpDataLayout_NHWC;
  }
  std::optional<bool> wants_channels_last(const std::string& domain, const std::string& type) const override {
    int answer = -1;
    const auto ask = instance_->ep().ShouldConvertDataLayoutForOp;
    if (instance_->since(23) && ask)
      instance_->call("ShouldConvertDataLayoutForOp", ask, domain.c_str(), type.c_str(), OrtEpDataLayout_NHWC, &answer);
    return answer < 0 ? std::nullopt : std::optional(answer != 0);
  }

  std::string compatibility(const Model& model) override {
    const auto ask = instance_->ep().GetCompiledModelCompatibilityInfo;
    if (!instance_->since(23) || !ask) return {};
    const std::unique_ptr<OrtGraph> graph = view_graph(borrowed(const_cast<Model&>(model)));
    const char* told = instance_->call("GetCompiledModelCompatibilityInfo", ask, graph.get());
    return told ? told : "";
  }

  std::unique_ptr<Stream> make_stream() override {
    OrtEpFactory& factory = instance_->plugin->factory();
    OrtEp& ep = instance_->ep();
    if (place_.space.host_readable() || !instance_->plugin->makes_streams()) return nullptr;
    const OrtMemoryDevice device = device_of(place_.space);
    OrtSyncStreamImpl* made = nullptr;
    if (instance_->since(23) && ep.CreateSyncStreamForDevice) {
      instance_->call("CreateSyncStreamForDevice", ep.CreateSyncStreamForDevice, &device, &made);
    } else if (factory.CreateSyncStreamForDevice) {
      instance_->plugin->call("CreateSyncStreamForDevice", factory.CreateSyncStreamForDevice, &factory, &device,
                              nullptr, &made);
    }
    return made ? plugin_stream(instance_->plugin, made, place_.space) : nullptr;
  }

  void session_made() override { tell_session_made(*instance_); }
  bool runs_at_once() const override { return asked_runs_at_once(*instance_); }
  void set_options(std::span<const char* const> keys, std::span<const char* const> values) override {
    tell_options(*instance_, keys, values);
  }
  void run_begins(const void* outward) override { tell_run_begins(*instance_, callers_options(outward)); }
  void run_ends(const void* outward, bool waits) override {
    tell_run_ends(*instance_, callers_options(outward), waits);
  }
  std::unique_ptr<ProfileListener> make_listener() override { return plugin_listener(instance_); }
  RunCapture* capture() override { return capture_.get(); }
  void synchronize() override {
    OrtEp& ep = instance_->ep();
    if (instance_->since(25) && ep.Sync) instance_->call("Sync", ep.Sync);
  }

 private:
  // As in the official library, a claim around nodes of others is dropped, and an error is logged.
  bool can_be_part(const Graph& graph, const Claim& claim) const {
    const std::string why = claim.single ? "" : why_not_closed(graph, claim.nodes);
    if (why.empty()) return true;
    instance_->logger.logger.log(LogLevel::error, "{} claimed {}. It does not get these {} nodes",
                                 instance_->plugin->who(), why, claim.nodes.size());
    return false;
  }

  // The memory that the plug-in names, otherwise that of its first device, otherwise that of the host.
  MemorySpace default_space(const std::vector<const ProviderDevice*>& devices) const {
    OrtEp& ep = instance_->ep();
    const OrtMemoryDevice* said = nullptr;
    if (instance_->since(27) && ep.GetDefaultMemoryDevice)
      instance_->plugin->call("GetDefaultMemoryDevice", ep.GetDefaultMemoryDevice, &ep, &said);
    if (said) return *said;
    for (const ProviderDevice* d : devices) {
      if (!d->memory.empty() && d->memory[0]->space().kind == MemoryKind::device) return d->memory[0]->space();
    }
    return {};
  }

  const RegisteredKernel& kernel_for(const OrtNode& node) const {
    const RegisteredKernel* found = instance_->kernels ? instance_->kernels->find(node, name()) : nullptr;
    require(found != nullptr, ErrorCode::ep_fail,
            "{} claimed node '{}' ({}) alone, but has no kernel for it with these types and version {}; it must call "
            "EpGraphSupportInfo_LookUpKernel first",
            instance_->plugin->who(), node.name, node.type, node.since);
    return *found;
  }

  const std::shared_ptr<Instance> instance_;
  const SessionMemory memory_;
  const Workplace place_;
  const std::unique_ptr<RunCapture> capture_;
  std::vector<const RegisteredKernel*> kernels_;  // by ticket; null: the nodes are compiled
  std::map<NodeId, std::string> refused_;         // of the last claim
  size_t number_ = 0;
};

}  // namespace

void share_weights(Provider& provider, const SharedWeights& shared) {
  if (auto* plugin = dynamic_cast<PluginProvider*>(&provider)) plugin->instance().shared_weights = shared;
}

std::unique_ptr<Provider> plugin_provider(std::shared_ptr<Plugin> plugin, const ProviderSpec& spec,
                                          const Logger& logger, const std::shared_ptr<Devices>& shared) {
  auto instance = std::make_shared<Instance>(std::move(plugin), spec, logger);
  return std::make_unique<PluginProvider>(std::move(instance), spec, shared);
}

}  // namespace retort::abi
