// Single nodes that a plug-in's kernels run.
#include <algorithm>

#include "abi/host/control_kernels.h"
#include "abi/host/part.h"
#include "abi/host/shared_weights.h"
#include "ep/uploads.h"
#include "ir/describe.h"
#include "onnx/operator_facts.h"

namespace retort::abi {
namespace {

struct ReleaseKernel {
  std::shared_ptr<const Instance> provider;
  void operator()(OrtKernelImpl* kernel) const {
    provider->plugin->give_back("Release of a kernel", kernel->Release, kernel);
  }
};

class KernelPart : public Compiled {
 public:
  KernelPart(const Workplace& place, const Partition& part, const RegisteredKernel& kernel)
      : place_(place), kernel_(nullptr, {place.provider}) {
    const Graph& g = *part.graph;
    const Node& node = g.node(g.order()[0]);
    list_arguments(part, node, *kernel.def);
    list_results(g, node, *kernel.def);
    info_ = std::make_unique<const OrtKernelInfo>(info_of(g, node));
    OrtKernelImpl* made = nullptr;
    place_.provider->plugin->call("creating a kernel", kernel.create, kernel.state, info_.get(), &made);
    kernel_.reset(made);
    require(kernel_ && kernel_->Compute, ErrorCode::ep_fail, "{} made no kernel for {}", place_.provider->plugin->who(),
            retort::describe(g, node));
    // Only the host can run the bodies of a node.
    require(
        node.bodies.empty() || (kernel_->flags & kRunsBodies), ErrorCode::fail,
        "{} made its own kernel for {}, whose bodies only a kernel of the host can run; it must ask for that kernel "
        "(CreateIfKernel, CreateLoopKernel, CreateScanKernel)",
        place_.provider->plugin->who(), retort::describe(g, node));
    prepack(g, node);
    list_aliases(kernel.def->aliases, true);
    list_aliases(kernel.def->mutable_aliases, false);
  }

  MemorySpace input_space(size_t i) const override { return input_spaces_.at(i); }
  MemorySpace output_space(size_t i) const override { return output_spaces_.at(i); }

  std::span<const OutputAlias> aliases() const override { return aliases_; }

  void run(PartitionRun& run) const override {
    PluginRun part(place_, results_, run);
    OrtKernelContext context;
    fill_context(context, part, run, arguments_, results_.size());
    place_.provider->plugin->call("Compute", kernel_->Compute, kernel_.get(), &context);
  }

 private:
  MemorySpace space_of(OrtMemType type) const { return type == OrtMemTypeDefault ? place_.space : MemorySpace{}; }

  // The inputs of the part are those of the node in their order, without constants and omitted inputs.
  void list_arguments(const Partition& part, const Node& node, const OrtKernelDef& def) {
    const Graph& g = *part.graph;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Argument& a = arguments_.emplace_back();
      const ValueId in = node.inputs[i];
      if (in == ValueId::none) continue;
      const MemorySpace space = space_of(def.input_memory(i));
      const Tensor* constant = g.constant(in);
      a.kind = constant ? Argument::Kind::constant : Argument::Kind::input;
      if (constant) {
        a.constant = part.uploads->get(*constant, space);
      } else {
        a.input = input_spaces_.size();
        input_spaces_.push_back(space);
      }
    }
  }

  void list_results(const Graph& g, const Node& node, const OrtKernelDef& def) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId out = node.outputs[i];
      Result& r = results_.emplace_back();
      r.space = space_of(def.output_memory(i));
      r.kind = out == ValueId::none ? Result::Kind::left_out : Result::Kind::dropped;
      if (out == ValueId::none) continue;
      r.dtype = g.value(out).type.dtype;
      const auto at = std::ranges::find(g.outputs, out);
      if (at == g.outputs.end()) continue;
      r.kind = Result::Kind::output;
      r.output = size_t(at - g.outputs.begin());
      output_spaces_.push_back(r.space);
    }
  }

  // Definitions are for the operator: a node may omit values that they name.
  void list_aliases(std::span<const std::pair<int, int>> declared, bool always) {
    for (const auto& [in, out] : declared) {
      if (size_t(in) >= arguments_.size() || size_t(out) >= results_.size()) continue;
      const Argument& a = arguments_[size_t(in)];
      const Result& r = results_[size_t(out)];
      if (r.kind != Result::Kind::output || (a.kind == Argument::Kind::constant && !always)) continue;
      if (a.kind != Argument::Kind::none) aliases_.push_back({r.output, a.input, always, a.constant});
    }
  }

  OrtKernelInfo info_of(const Graph& g, const Node& node) const {
    const auto name = [&](ValueId v) { return v == ValueId::none ? std::string() : g.value(v).name; };
    const auto type = [&](ValueId v) { return v == ValueId::none ? std::nullopt : std::optional(g.value(v).type); };
    ExternalNode seen;
    seen.name = node.name;
    seen.domain = node.domain;
    seen.type = node.type;
    seen.version = node.version;
    seen.attributes = node.attributes;
    seen.dims = g.shared_dims();
    OrtKernelInfo info(std::move(seen), place_.provider->logger);
    for (const Body& b : node.bodies) info.bodies.push_back(b.attribute);
    for (size_t i = 0; i < arguments_.size(); ++i) {
      info.node.inputs.push_back(name(node.inputs[i]));
      info.inputs.push_back(type(node.inputs[i]));
      const bool constant = arguments_[i].kind == Argument::Kind::constant;
      info.constants.emplace_back(constant ? Value(arguments_[i].constant) : Value());
    }
    for (const ValueId out : node.outputs) {
      info.node.outputs.push_back(name(out));
      info.outputs.push_back(type(out));
    }
    info.since_version = node.version;
    if (const onnx::OperatorForm* form = onnx::operator_form(node.domain, node.type, node.version)) {
      info.since_version = form->since;
      for (const std::string_view text : form->defaults) add_default(info.node.attributes, text);
    }
    info.config = place_.provider->options.options.config;
    info.memory = place_.devices->find_allocator(place_.space);
    info.ep = &place_.provider->ep();
    return info;
  }

  static void add_default(Attributes& attributes, std::string_view text) {
    auto [name, value] = onnx::read_default(text);
    if (!attributes.find(name)) attributes.set(name, std::move(value));
  }

  // A weight that the kernel has packed in its own form is released.
  void prepack(const Graph& g, const Node& node) {
    if (kernel_->ort_version_supported < 24 || !kernel_->PrePackWeight) return;
    if (auto memory = place_.devices->find_allocator(place_.space))
      allocator_ = std::make_shared<DeviceAllocator>(std::move(memory));
    else
      allocator_ = std::make_shared<HostAllocator>();
    for (size_t i = 0; i < arguments_.size(); ++i) {
      Argument& a = arguments_[i];
      if (a.kind == Argument::Kind::constant && pack(i, g.value(node.inputs[i]).name, node.type)) a = {};
    }
  }

  // Kernels may store what they have packed, even if it is for this session alone; but not on a device, where contents
  // cannot be compared.
  bool pack(size_t input, const std::string& name, const std::string& type) {
    const Plugin& plugin = *place_.provider->plugin;
    const SharedWeights& shared = place_.provider->shared_weights;
    const bool shares = shared.container && shared.names.contains(name);
    OrtSharedPrePackedWeightCache cache(allocator_);
    const OrtValue weight(arguments_[input].constant);
    bool packed = false;
    plugin.call("PrePackWeight", kernel_->PrePackWeight, kernel_.get(), &weight, int(input), allocator_.get(),
                place_.space.host_readable() ? &cache : nullptr, &packed);
    if (cache.stored.buffers.empty()) return packed;
    require(packed && kernel_->SetSharedPrePackedWeight, ErrorCode::fail, "{} stored shared weight '{}', {}",
            plugin.who(), name, packed ? "but has no SetSharedPrePackedWeight" : "but reported that it was not packed");
    const PackedWeight& use =
        *packed_.emplace_back(shares ? shared.container->unify(type, std::move(cache.stored))
                                     : std::make_shared<const PackedWeight>(std::move(cache.stored)));
    std::vector<const void*> buffers;
    for (const auto& b : use.buffers) buffers.push_back(b.get());
    plugin.call("SetSharedPrePackedWeight", kernel_->SetSharedPrePackedWeight, kernel_.get(), buffers.data(),
                use.sizes.data(), buffers.size(), int(input));
    return true;
  }

  const Workplace place_;
  std::vector<Argument> arguments_;
  std::vector<Result> results_;
  std::vector<OutputAlias> aliases_;
  std::vector<MemorySpace> input_spaces_, output_spaces_;    // of the part's inputs and outputs
  std::shared_ptr<OrtAllocator> allocator_;                  // kernels may keep its address
  std::vector<std::shared_ptr<const PackedWeight>> packed_;  // shared with other sessions
  std::unique_ptr<const OrtKernelInfo> info_;  // kernels may keep its constants, as in the official library
  std::unique_ptr<OrtKernelImpl, ReleaseKernel> kernel_;
};

}  // namespace

std::shared_ptr<const Compiled> kernel_part(const Workplace& place, const Partition& part,
                                            const RegisteredKernel& kernel) {
  return std::make_shared<KernelPart>(place, part, kernel);
}

}  // namespace retort::abi
