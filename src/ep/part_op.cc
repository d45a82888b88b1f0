#include "ep/part_op.h"

#include <algorithm>

#include "base/error.h"
#include "ep/device_run.h"

namespace retort {
namespace {

/// The state of one step in a plan.
struct PartState : State {
  /// By input, without captures: constants of later passes, in the provider's memory; empty for other inputs.
  std::vector<Tensor> constants;
  std::vector<OutputAlias> shared;  ///< outputs that lie over an input if they fit
};

/// The run of a part's step, as the provider sees it.
class StepRun : public PartitionRun {
 public:
  StepRun(const Compiled& compiled, const RunContext& context, Stream* stream)
      : compiled_(compiled),
        context_(context),
        stream_(stream),
        state_(*context.state<PartState>()),
        outputs_(context.output_count()) {
    for (size_t i = 0; i < state_.constants.size(); ++i) {
      const Slot& slot = context.in_slot(i);
      if (state_.constants[i])
        inputs_.push_back(state_.constants[i]);
      else if (const Tensor* boxed = slot.boxed.tensor())
        inputs_.push_back(*boxed);
      else
        inputs_.emplace_back(slot.type.dtype, slot.type.shape, slot.data, nullptr);
    }
  }

  size_t input_count() const override { return inputs_.size(); }
  size_t output_count() const override { return outputs_.size(); }
  const Tensor& input(size_t i) const override { return inputs_.at(i); }
  Stream* stream() const override { return stream_; }
  bool cancelled() const override { return context_.parallel().cancelled(); }
  const Parallel& parallel() const override { return context_.parallel(); }
  BodyRunner& bodies() const override { return context_.bodies(); }
  const void* outward() const override { return device_run(context_).outward(); }
  void copy(const Tensor& from, Tensor& to) const override {
    device_run(context_).copy(CopyCause::border, "", from, to, !from.space().host_readable());
  }
  void set_output(size_t i, const Tensor& tensor) override { context_.set_value(i, outputs_.at(i) = tensor); }

  Tensor& output(size_t i, DType dtype, const Shape& shape) override {
    if (outputs_.at(i)) return outputs_[i];
    const MemorySpace space = compiled_.output_space(i);
    if (dtype == DType::string) {
      context_.allocate(i, dtype, shape);
    } else if (Tensor shared = over_input(i, dtype, shape); shared && shared.space().serves(space)) {
      context_.set_value(i, std::move(shared));
    } else {
      context_.allocate_in(space, i, dtype, shape,
                           [&](size_t bytes) { return device_run(context_).allocate(space, bytes); });
    }
    outputs_[i] = *context_.out_slot(i).boxed.tensor();
    return outputs_[i];
  }

 private:
  // Empty if it does not fit. Does not own the memory, so that its owner can tell whether others hold it. Content that
  // follows from shapes is written once for many runs, and must not be overwritten.
  Tensor over_input(size_t output, DType dtype, const Shape& shape) const {
    const auto alias = std::ranges::find(state_.shared, output, &OutputAlias::output);
    if (alias == state_.shared.end()) return {};
    const Slot* slot = alias->constant ? nullptr : &context_.in_slot(alias->input);
    const Tensor& in = alias->constant ? alias->constant : inputs_[alias->input];
    if (in.dtype() != dtype || in.count() != element_count(shape)) return {};
    if (slot && (slot->has_known || slot->row_stride || slot->room)) return {};
    return Tensor(dtype, shape, const_cast<void*>(in.data()), nullptr, in.space());
  }

  const Compiled& compiled_;
  const RunContext& context_;
  Stream* const stream_;
  const PartState& state_;
  std::vector<Tensor> inputs_, outputs_;
};

class PartitionOp : public ExternalOp {
 public:
  explicit PartitionOp(PartSpec spec) : spec_(std::move(spec)) {
    for (size_t i = 0; i < spec_.inputs.size(); ++i) touches_host_ |= input_space(i).host_readable();
    for (size_t i = 0; i < spec_.outputs.size(); ++i) touches_host_ |= output_space(i).host_readable();
  }

  std::string domain() const override { return spec_.provider->name(); }
  std::string type() const override { return spec_.type; }
  std::string provider() const override { return spec_.provider->name(); }
  bool covers(int) const override { return true; }
  MemorySpace input_space(size_t i) const override {
    return holds_strings(spec_.inputs[i]) ? MemorySpace{} : spec_.compiled->input_space(i);
  }
  MemorySpace output_space(size_t i) const override {
    return holds_strings(spec_.outputs[i]) ? MemorySpace{} : spec_.compiled->output_space(i);
  }

  bool may_replace(size_t output, size_t input) const override {
    return std::ranges::count(spec_.replacements, std::pair(output, input)) > 0;
  }

  std::span<const OutputAlias> aliases() const override { return spec_.compiled->aliases(); }
  void grant(State& state, std::vector<OutputAlias> shared) const override {
    static_cast<PartState&>(state).shared = std::move(shared);
  }

  void infer(const ExternalNode&, InferContext& context) const override {
    for (size_t i = 0; i < spec_.outputs.size(); ++i) context.set(i, spec_.outputs[i]);
  }

  std::unique_ptr<State> prepare(const ExternalNode&, PrepareContext& context) const override {
    auto state = std::make_unique<PartState>();
    for (size_t i = 0; i < spec_.inputs.size(); ++i) {
      state->constants.emplace_back();
      const Tensor* constant = context.unaligned_constant(i);
      if (!constant || constant->space().serves(input_space(i))) continue;
      state->constants.back() = spec_.uploads->get(*constant, input_space(i));
      context.release(i);
    }
    return state;
  }

  void run(const ExternalNode& node, RunContext& context) const override {
    Stream* const stream = device_run(context).stream(spec_.provider->space());
    StepRun run(*spec_.compiled, context, stream);
    spec_.compiled->run(run);
    // Later steps read results on the host at once, and write where this step reads from the host.
    if (stream && touches_host_) synchronize(*stream);
    for (size_t i = 0; i < spec_.outputs.size(); ++i) {
      require(!context.out_slot(i).boxed.empty(), ErrorCode::ep_fail, "provider '{}' made no output '{}'",
              spec_.provider->name(), node.outputs[i]);
    }
  }

 private:
  static bool holds_strings(const ValueType& type) { return type.is_tensor() && type.dtype == DType::string; }

  const PartSpec spec_;
  bool touches_host_ = false;
};

}  // namespace

std::shared_ptr<const ExternalOp> part_op(PartSpec spec) { return std::make_shared<PartitionOp>(std::move(spec)); }

}  // namespace retort
