// A plug-in's OrtEp as a provider of the engine: it claims nodes of a view of the model, compiles them, and runs them.
#include <algorithm>

#include "abi/host/claims.h"
#include "abi/host/plugin.h"
#include "abi/kernels.h"
#include "abi/options.h"

namespace retort::abi {
namespace {

/// A model that somebody else owns, as views keep it: for views that go before it does.
std::shared_ptr<const ViewedModel> borrowed(Model& model) {
  auto viewed = std::make_shared<ViewedModel>();
  viewed->model = {std::shared_ptr<void>(), &model};
  return viewed;
}

/// A provider of a session, given back with the last of its parts.
class Instance {
 public:
  Instance(std::shared_ptr<Plugin> p, const std::vector<const ProviderDevice*>& devices,
           const std::vector<const OrtHardwareDevice*>& hardware, const std::map<std::string, std::string>& config,
           const Logger& log)
      : plugin(std::move(p)), logger(log) {
    OrtEpFactory& factory = plugin->factory();
    std::vector<std::unique_ptr<OrtKeyValuePairs>> metadata;
    std::vector<const OrtKeyValuePairs*> pointers;
    for (const ProviderDevice* d : devices)
      pointers.push_back(metadata.emplace_back(std::make_unique<OrtKeyValuePairs>(d->metadata)).get());
    options.options.config = config;
    check_plugin(
        factory.CreateEp(&factory, hardware.data(), pointers.data(), devices.size(), &options, &logger, &made_),
        plugin->who(), "CreateEp");
    require(made_ && made_->GetCapability && made_->Compile, ErrorCode::not_implemented,
            "{} made {}; only providers that compile parts of models are run", plugin->who(),
            made_ ? "one that cannot compile" : "nothing");
    ++plugin->in_use;
  }
  ~Instance() {
    if (!made_) return;
    plugin->factory().ReleaseEp(&plugin->factory(), made_);
    --plugin->in_use;
  }
  Instance(const Instance&) = delete;
  OrtEp& ep() const { return *made_; }
  /// Whether the struct is new enough for fields that came with `version`.
  bool since(uint32_t version) const { return made_->ort_version_supported >= version; }

  const std::shared_ptr<Plugin> plugin;
  const OrtLogger logger;
  OrtSessionOptions options;

 private:
  OrtEp* made_ = nullptr;
};

/// A compiled part.
class PluginPart : public Compiled {
 public:
  PluginPart(std::shared_ptr<Instance> provider, const Partition& part, MemorySpace space,
             std::shared_ptr<Devices> devices)
      : provider_(std::move(provider)), devices_(std::move(devices)), space_(space) {
    context_.name = part.name;
    list_arguments(part);
    compile(part);
  }
  ~PluginPart() override {
    if (state_) info_->ReleaseState(info_, state_);
    OrtEp& ep = provider_->ep();
    if (info_ && ep.ReleaseNodeComputeInfos) ep.ReleaseNodeComputeInfos(&ep, &info_, 1);
  }
  MemorySpace input_space(size_t) const override { return space_; }
  MemorySpace output_space(size_t) const override { return space_; }

  void run(PartitionRun& run) const override {
    Run part(*this, run);
    OrtKernelContext context;
    context.part = &part;
    for (const Argument& a : arguments_)
      context.inputs.push_back(std::make_unique<OrtValue>(Tensor(a.constant ? a.constant : run.input(a.input))));
    context.outputs.resize(run.output_count());
    check_plugin(info_->Compute(info_, state_, &context), provider_->plugin->who(), "Compute");
  }

 private:
  /// What the plug-in reads as an input: one of the part's, or a constant.
  struct Argument {
    size_t input = 0;
    Tensor constant;
  };

  class Run : public PartRun {
   public:
    Run(const PluginPart& part, PartitionRun& run) : part_(part), run_(run), stream_(outward(run.stream())) {}
    Tensor output(size_t index, const Shape& shape) override {
      const DType type = part_.output_types_[index];
      require(type != DType::undefined, ErrorCode::ep_fail, "the element type of output {} is not known", index);
      return run_.output(index, type, shape);
    }
    OrtSyncStream* stream() const override { return stream_; }
    const Parallel& parallel() const override { return run_.parallel(); }
    const OrtLogger& logger() const override { return part_.provider_->logger; }
    const Devices& devices() const override { return *part_.devices_; }

   private:
    const PluginPart& part_;
    PartitionRun& run_;
    OrtSyncStream* const stream_;
  };

  // Inputs and constants in the order in which nodes read them first, as a fused node has them.
  void list_arguments(const Partition& part) {
    const Graph& g = *part.graph;
    std::vector<ValueId> seen;
    for (const NodeId id : g.order()) {
      for (const ValueId in : g.node(id).inputs) {
        if (in == ValueId::none || std::ranges::count(seen, in)) continue;
        seen.push_back(in);
        const auto at = std::ranges::find(g.inputs, in);
        if (at != g.inputs.end()) {
          arguments_.push_back({size_t(at - g.inputs.begin()), {}});
          order_.push_back(in);
        } else if (const Tensor* constant = g.constant(in); constant && !part.drops_constants) {
          arguments_.push_back({0, uploaded(*constant)});
          order_.push_back(in);
        }
      }
    }
    for (const ValueId out : g.outputs) output_types_.push_back(g.value(out).type.dtype);
  }

  Tensor uploaded(const Tensor& constant) const {
    if (constant.dtype() == DType::string || constant.space().serves(space_)) return constant;
    const auto memory = devices_->allocate(space_, constant.bytes());
    Tensor copy(constant.dtype(), constant.shape(), memory.get(), memory, space_);
    devices_->copy(constant, copy, nullptr);
    return copy;
  }

  void compile(const Partition& part) {
    Model model;
    model.opsets = part.model->opsets;
    model.ir_version = part.model->ir_version;
    model.path = part.model->path;
    model.dims = part.graph->shared_dims();
    model.graph = part.graph;
    const std::unique_ptr<OrtGraph> graph = view_graph(borrowed(model));
    graph->view->name = part.name;
    OrtNode fused;
    fused.name = part.name;
    fused.type = part.name;
    fused.domain = provider_->plugin->name();
    fused.since = 1;
    fused.graph = graph.get();
    for (const ValueId in : order_) fused.inputs.push_back(graph->view->values[size_t(in)].get());
    fused.outputs = graph->view->outputs;
    OrtEp& ep = provider_->ep();
    const OrtGraph* graphs[] = {graph.get()};
    const OrtNode* nodes[] = {&fused};
    OrtNode* context_nodes[] = {nullptr};
    OrtStatus* const status = ep.Compile(&ep, graphs, nodes, 1, &info_, context_nodes);
    const std::unique_ptr<OrtNode> unused(context_nodes[0]);
    check_plugin(status, provider_->plugin->who(), "Compile");
    require(info_ && info_->Compute, ErrorCode::ep_fail, "{} compiled part '{}' to nothing", provider_->plugin->who(),
            part.name);
    if (info_->CreateState)
      check_plugin(info_->CreateState(info_, &context_, &state_), provider_->plugin->who(), "CreateState");
  }

  const std::shared_ptr<Instance> provider_;
  const std::shared_ptr<Devices> devices_;
  const MemorySpace space_;
  OrtNodeComputeContext context_;
  std::vector<Argument> arguments_;
  std::vector<ValueId> order_;  // of the part's graph: inputs of the fused node
  std::vector<DType> output_types_;
  OrtNodeComputeInfo* info_ = nullptr;
  void* state_ = nullptr;
};

class PluginProvider : public Provider {
 public:
  PluginProvider(std::shared_ptr<Instance> instance, const std::vector<const ProviderDevice*>& devices,
                 std::shared_ptr<Devices> shared)
      : instance_(std::move(instance)), shared_(std::move(shared)), space_(default_space(devices)) {}

  const std::string& name() const override { return instance_->plugin->name(); }
  MemorySpace space() const override { return space_; }

  std::vector<Claim> claim(const Model& model) override {
    const std::unique_ptr<OrtGraph> graph = view_graph(borrowed(const_cast<Model&>(model)));
    OrtEpGraphSupportInfo info;
    info.graph = graph.get();
    OrtEp& ep = instance_->ep();
    check_plugin(ep.GetCapability(&ep, graph.get(), &info), instance_->plugin->who(), "GetCapability");
    for (Claim& claim : info.claims) claim.name = cat("{}_{}", name(), number_++);
    return std::move(info.claims);
  }

  std::shared_ptr<const Compiled> compile(const Partition& part) override {
    return std::make_shared<PluginPart>(instance_, part, space_, shared_);
  }

  std::unique_ptr<Stream> make_stream() override {
    OrtEpFactory& factory = instance_->plugin->factory();
    OrtEp& ep = instance_->ep();
    const bool aware = instance_->plugin->since(23) && factory.IsStreamAware && factory.IsStreamAware(&factory);
    if (!aware || space_.host_readable()) return nullptr;
    OrtMemoryDevice device;
    static_cast<MemorySpace&>(device) = space_;
    OrtSyncStreamImpl* made = nullptr;
    if (instance_->since(23) && ep.CreateSyncStreamForDevice) {
      check_plugin(ep.CreateSyncStreamForDevice(&ep, &device, &made), instance_->plugin->who(),
                   "CreateSyncStreamForDevice");
    } else if (factory.CreateSyncStreamForDevice) {
      check_plugin(factory.CreateSyncStreamForDevice(&factory, &device, nullptr, &made), instance_->plugin->who(),
                   "CreateSyncStreamForDevice");
    }
    return made ? plugin_stream(instance_->plugin, made, space_) : nullptr;
  }

  void session_made() override { tell_session_made(instance_->ep(), instance_->plugin->who()); }
  bool runs_at_once() const override { return asked_runs_at_once(instance_->ep(), instance_->plugin->who()); }
  void set_options(std::span<const char* const> keys, std::span<const char* const> values) override {
    tell_options(instance_->ep(), instance_->plugin->who(), keys, values);
  }
  void run_begins(const RunOptions* options) override {
    tell_run_begins(instance_->ep(), instance_->plugin->who(), options);
  }
  void run_ends(const RunOptions* options, bool waits) override {
    tell_run_ends(instance_->ep(), instance_->plugin->who(), options, waits);
  }
  std::unique_ptr<ProfileListener> make_listener() override {
    return plugin_listener(instance_, instance_->ep(), instance_->plugin->who(), instance_->logger.logger);
  }
  void synchronize() override {
    OrtEp& ep = instance_->ep();
    if (instance_->since(25) && ep.Sync) check_plugin(ep.Sync(&ep), instance_->plugin->who(), "Sync");
  }

 private:
  // What the plug-in says, else the memory of its first device, else that of the host.
  MemorySpace default_space(const std::vector<const ProviderDevice*>& devices) const {
    OrtEp& ep = instance_->ep();
    const OrtMemoryDevice* said = nullptr;
    if (instance_->since(27) && ep.GetDefaultMemoryDevice)
      check_plugin(ep.GetDefaultMemoryDevice(&ep, &said), instance_->plugin->who(), "GetDefaultMemoryDevice");
    if (said) return *said;
    for (const ProviderDevice* d : devices) {
      if (!d->memory.empty()) return d->memory[0]->space();
    }
    return {};
  }

  const std::shared_ptr<Instance> instance_;
  const std::shared_ptr<Devices> shared_;
  const MemorySpace space_;
  size_t number_ = 0;
};

}  // namespace

std::unique_ptr<Provider> plugin_provider(std::shared_ptr<Plugin> plugin,
                                          const std::vector<const ProviderDevice*>& devices,
                                          const std::vector<const OrtHardwareDevice*>& hardware,
                                          const std::map<std::string, std::string>& config, const Logger& logger,
                                          const std::shared_ptr<Devices>& shared) {
  auto instance = std::make_shared<Instance>(std::move(plugin), devices, hardware, config, logger);
  return std::make_unique<PluginProvider>(std::move(instance), devices, shared);
}

}  // namespace retort::abi
