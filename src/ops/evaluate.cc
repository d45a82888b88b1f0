#include "ops/evaluate.h"

#include <utility>

#include "base/error.h"
#include "memory/host.h"
#include "ops/carried.h"

namespace retort {
namespace {

struct Slots {
  std::vector<Slot> storage;
  std::vector<Slot*> inputs, outputs;
};

ValueType type_of(const Value& value) {
  if (const Tensor* t = value.tensor()) return ValueType::tensor(t->dtype(), t->shape());
  if (const Sequence* s = value.get<Sequence>()) return ValueType::sequence_of(ValueType::tensor(s->dtype));
  return {};
}

Slots make_slots(const Node& node, std::span<const Value* const> inputs) {
  Slots s;
  s.storage.resize(inputs.size() + node.outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Slot& slot = s.storage[i];
    s.inputs.push_back(inputs[i] ? &slot : nullptr);
    if (!inputs[i]) continue;
    slot.present = true;
    slot.type = type_of(*inputs[i]);
    if (const Tensor* t = inputs[i]->tensor()) {
      slot.data = const_cast<void*>(t->data());
      slot.count = t->count();
    }
    slot.boxed = *inputs[i];
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    Slot& slot = s.storage[inputs.size() + i];
    slot.present = node.outputs[i] != ValueId::none;
    s.outputs.push_back(slot.present ? &slot : nullptr);
  }
  return s;
}

void infer(const Node& node, Slots& s) {
  DimTable dims;
  InferContext context(dims, &node, s.inputs, s.outputs);
  try {
    node.op->infer(node.params.get(), context);
  } catch (NotYetKnown) {  // the kernel will determine it
  }
}

bool is_static_tensor(const ValueType& t) { return t.is_tensor() && t.is_static(); }

void allocate_outputs(const Node& node, Slots& s) {
  for (Slot* slot : s.outputs) {
    if (!slot || node.op->has(kDynamicOutput) || !is_static_tensor(slot->type)) continue;
    // Large tensors lie on huge pages: freeing 1 GiB of small ones takes 0.1 s, in which loading cannot be cancelled.
    Tensor t = new_constant(slot->type.dtype, slot->type.shape);
    slot->data = t.mutable_data();
    slot->count = t.count();
    slot->boxed = std::move(t);
  }
}

void run_view(Slots& s) {
  const Slot& in = *s.inputs[0];
  Slot& out = *s.outputs[0];
  const Tensor* t = in.boxed.tensor();
  require(t && is_static_tensor(out.type), ErrorCode::invalid_argument, "the shape of a view is not known");
  out.boxed = t->reshaped(out.type.shape);
}

std::unique_ptr<State> prepare(const Node& node, const Slots& s, const Parallel& parallel) {
  if (!node.op->prepare) return nullptr;
  std::vector<const ValueType*> types;
  std::vector<const Tensor*> constants;
  for (const Slot* slot : s.inputs) {
    types.push_back(slot ? &slot->type : nullptr);
    constants.push_back(slot ? slot->boxed.tensor() : nullptr);
  }
  PrepareContext context(types, constants, parallel, {});
  return node.op->prepare(node.params.get(), context);
}

bool has_reference(const OpDef& op) {
  return std::any_of(op.reference.begin(), op.reference.end(), [](KernelFn f) { return f != nullptr; });
}

void run(const Node& node, Slots& s, const Parallel& parallel, EvaluateMode mode) {
  const OpDef& op = *node.op;
  const DType dtype = dispatch_type(op, s.inputs, s.outputs);
  const Kernel kernel = find_kernel(op, dtype);
  if (!kernel.fn && !kernel.carried) {
    if (op.has(kView)) return run_view(s);
    fail(ErrorCode::not_implemented, "no kernel for {}", dtype_name(dtype));
  }
  const std::unique_ptr<State> state = prepare(node, s, parallel);
  RunContext before(s.inputs, s.outputs, state.get(), nullptr, parallel);
  const size_t bytes = op.scratch ? op.scratch(node.params.get(), before) : 0;
  const std::shared_ptr<void> scratch = bytes ? allocate_host(bytes) : nullptr;
  RunContext context(s.inputs, s.outputs, state.get(), scratch.get(), parallel);
  if (mode == EvaluateMode::reference && has_reference(op) && contains(kNumeric | kBool, dtype))
    run_reference(op, node.params.get(), context, dtype);
  else if (kernel.carried)
    run_carried(op, node.params.get(), context, dtype);
  else
    kernel.fn(node.params.get(), context);
}

}  // namespace

std::vector<ValueType> output_types(const Node& node, std::span<const Value* const> inputs) {
  Slots s = make_slots(node, inputs);
  infer(node, s);
  std::vector<ValueType> types;
  for (const Slot* slot : s.outputs) types.push_back(slot ? slot->type : ValueType{});
  return types;
}

std::vector<Value> evaluate(const Node& node, std::span<const Value* const> inputs, const Parallel& parallel,
                            EvaluateMode mode) {
  Slots s = make_slots(node, inputs);
  try {
    infer(node, s);
    allocate_outputs(node, s);
    run(node, s, parallel, mode);
  } catch (Error& e) {
    e.add_context(describe(node));
    throw;
  }
  std::vector<Value> outputs;
  for (Slot* slot : s.outputs) outputs.push_back(slot ? std::move(slot->boxed) : Value{});
  return outputs;
}

}  // namespace retort
