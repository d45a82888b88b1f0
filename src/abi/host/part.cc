// Parts that a plug-in compiles.
#include "abi/host/part.h"

#include <algorithm>

#include "abi/host/claims.h"
#include "ep/uploads.h"

namespace retort::abi {
namespace {

/// The result of Compile with its state; released together with the part, also if making the part fails.
struct Computing {
  const Instance& provider;
  OrtNodeComputeInfo* info = nullptr;
  void* state = nullptr;
  ~Computing() {
    const Plugin& plugin = *provider.plugin;
    OrtEp& ep = provider.ep();
    if (state) plugin.give_back("ReleaseState", info->ReleaseState, info, state);
    if (info) plugin.give_back("ReleaseNodeComputeInfos", ep.ReleaseNodeComputeInfos, &ep, &info, size_t(1));
  }
};

/// What a plug-in sees of a part while it compiles it.
struct PartView {
  Model model;
  std::unique_ptr<OrtGraph> graph;
  OrtNode fused;
};

class CompiledPart : public Compiled {
 public:
  CompiledPart(const Workplace& place, const Partition& part) : place_(place), made_{*place.provider} {
    context_.name = part.name;
    list_arguments(part);
  }

  void show(const Partition& part, PartView& to) const {
    Model& model = to.model;
    model.opsets = part.model->opsets;
    model.ir_version = part.model->ir_version;
    model.path = part.model->path;
    model.dims = part.graph->shared_dims();
    model.graph = part.graph;
    to.graph = view_graph(borrowed(model));
    OrtGraph& graph = *to.graph;
    graph.view->name = part.name;
    OrtNode& fused = to.fused;
    fused.name = part.name;
    fused.type = part.name;
    fused.domain = place_.provider->plugin->name();
    fused.since = 1;
    fused.graph = &graph;
    for (const ValueId in : order_) fused.inputs.push_back(graph.view->values[size_t(in)].get());
    fused.outputs = graph.view->outputs;
    graph.view->inputs = fused.inputs;  // for plug-ins, constants are inputs, as in the official library
  }

  /// The functions of the part, released with it.
  void own(OrtNodeComputeInfo* info) { made_.info = info; }

  /// Keeps the node that the plug-in made for a model that is saved with its parts, and checks the functions.
  void accept(const OrtNode* node) {
    keep(node);
    require(made_.info && made_.info->Compute, ErrorCode::ep_fail,
            "{} compiled part '{}', but returned no Compute function", place_.provider->plugin->who(), context_.name);
  }

  void create_state() {
    if (!made_.info->CreateState) return;
    place_.provider->plugin->call("CreateState", made_.info->CreateState, made_.info, &context_, &made_.state);
  }

  MemorySpace input_space(size_t) const override { return place_.space; }
  MemorySpace output_space(size_t) const override { return place_.space; }
  const StandIn* stand_in() const override { return stand_in_ ? &*stand_in_ : nullptr; }

  void run(PartitionRun& run) const override {
    PluginRun part(place_, results_, run);
    OrtKernelContext context;
    fill_context(context, part, run, arguments_, results_.size());
    place_.provider->plugin->call("Compute", made_.info->Compute, made_.info, made_.state, &context);
  }

 private:
  // Inputs and constants, in the order in which nodes first read them, as a fused node has them.
  void list_arguments(const Partition& part) {
    const Graph& g = *part.graph;
    std::vector<ValueId> seen;
    for (const NodeId id : g.order()) {
      for (const ValueId in : g.node(id).inputs) {
        if (in == ValueId::none || std::ranges::count(seen, in)) continue;
        seen.push_back(in);
        add_argument(g, in, part);
      }
    }
    for (size_t i = 0; i < g.outputs.size(); ++i)
      results_.push_back({Result::Kind::output, i, g.value(g.outputs[i]).type.dtype, place_.space});
  }

  void add_argument(const Graph& g, ValueId value, const Partition& part) {
    const auto at = std::ranges::find(g.inputs, value);
    const Tensor* constant = g.constant(value);
    if (at != g.inputs.end()) {
      arguments_.push_back({Argument::Kind::input, size_t(at - g.inputs.begin()), {}});
    } else if (constant && !part.drops_constants) {
      arguments_.push_back({Argument::Kind::constant, 0, part.uploads->get(*constant, place_.space)});
    } else {
      return;  // another node of the part makes it, or the plug-in keeps it
    }
    order_.push_back(value);
  }

  void keep(const OrtNode* node) {
    if (!place_.provider->options.options.config_on("ep.context_enable")) return;
    const std::string who = place_.provider->plugin->who();
    require(node != nullptr, ErrorCode::fail,
            "{} compiled part '{}', but gave no EPContext node, which ep.context_enable requires", who, context_.name);
    handle(node, "the EPContext node of Compile()");
    require(node->type == "EPContext", ErrorCode::ep_fail,
            "{} gave node '{}' ({}) for part '{}', not an EPContext node", who, node->name, node->type, context_.name);
    StandIn& made = stand_in_.emplace(StandIn{.domain = node->domain,
                                              .type = node->type,
                                              .name = node->name,
                                              .inputs = node->input_names,
                                              .outputs = node->output_names,
                                              .attributes = {}});
    for (const auto& a : node->attributes) made.attributes.set(a->name, a->value);
  }

  const Workplace place_;
  OrtNodeComputeContext context_;  // has the part's name
  std::vector<Argument> arguments_;
  std::vector<ValueId> order_;  // of the part's graph: inputs of the fused node
  std::vector<Result> results_;
  Computing made_;
  std::optional<StandIn> stand_in_;
};

using PartList = std::vector<std::shared_ptr<CompiledPart>>;

/// Calls Compile for all parts. Gives each its functions, and returns the nodes that the plug-in made for saved models.
std::vector<std::unique_ptr<OrtNode>> call_compile(const Instance& provider, std::span<const PartView> views,
                                                   const PartList& parts) {
  std::vector<const OrtGraph*> graphs;
  std::vector<const OrtNode*> fused;
  for (const PartView& view : views) {
    graphs.push_back(view.graph.get());
    fused.push_back(&view.fused);
  }
  std::vector<OrtNodeComputeInfo*> infos(parts.size());
  std::vector<OrtNode*> made(parts.size());
  std::vector<std::unique_ptr<OrtNode>> nodes;
  const auto take = [&] {
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i]->own(infos[i]);
      nodes.emplace_back(made[i]);
    }
  };
  try {
    provider.call("Compile", provider.ep().Compile, graphs.data(), fused.data(), graphs.size(), infos.data(),
                  made.data());
  } catch (...) {
    take();  // what it made before it failed
    throw;
  }
  take();
  return nodes;
}

std::string text_of(std::span<const Partition* const> parts) {
  const Partition& first = *parts[0];
  const std::string one = cat("part '{}' of {} nodes", first.name, first.graph->order().size());
  return parts.size() == 1 ? one : cat("{} parts, from {}", parts.size(), one);
}

}  // namespace

Tensor PluginRun::output(size_t index, const Shape& shape) {
  const Result& result = results_[index];
  require(result.dtype != DType::undefined, ErrorCode::ep_fail, "the element type of output {} is not known", index);
  if (result.kind == Result::Kind::output) return run_.output(result.output, result.dtype, shape);
  const size_t bytes = dtype_bytes(result.dtype, element_count(shape));
  const auto memory = place_.devices->allocate(result.space, bytes);
  return Tensor(result.dtype, shape, memory.get(), memory, result.space);
}

void PluginRun::set_output(size_t index, const Tensor& tensor) {
  if (results_[index].kind == Result::Kind::output) run_.set_output(results_[index].output, tensor);
}

void fill_context(OrtKernelContext& context, PluginRun& part, const PartitionRun& run,
                  const std::vector<Argument>& arguments, size_t outputs) {
  context.part = &part;
  for (const Argument& a : arguments) {
    const bool given = a.kind != Argument::Kind::none;
    const bool constant = a.kind == Argument::Kind::constant;
    context.inputs.push_back(given ? std::make_unique<OrtValue>(Tensor(constant ? a.constant : run.input(a.input)))
                                   : nullptr);
  }
  context.outputs.resize(outputs);
}

std::shared_ptr<const ViewedModel> borrowed(Model& model) {
  auto viewed = std::make_shared<ViewedModel>();
  viewed->model = {std::shared_ptr<void>(), &model};
  return viewed;
}

std::vector<std::shared_ptr<const Compiled>> compiled_parts(const Workplace& place,
                                                            std::span<const Partition* const> parts) {
  const Instance& provider = *place.provider;
  try {
    require(provider.ep().Compile != nullptr, ErrorCode::ep_fail,
            "{} claimed nodes to fuse, but has no Compile; it must claim them one by one for its kernels",
            provider.plugin->who());
    provider.check_compiles();
    PartList made;
    std::vector<PartView> views(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      made.push_back(std::make_shared<CompiledPart>(place, *parts[i]));
      made.back()->show(*parts[i], views[i]);
    }
    const std::vector<std::unique_ptr<OrtNode>> nodes = call_compile(provider, views, made);
    for (size_t i = 0; i < made.size(); ++i) made[i]->accept(nodes[i].get());
    for (const auto& part : made) part->create_state();
    return {made.begin(), made.end()};
  } catch (Error& e) {
    e.add_context(cat("{} compiling {}", provider.plugin->who(), text_of(parts)));
    throw;
  }
}

}  // namespace retort::abi
