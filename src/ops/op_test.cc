#include "ops/op_test.h"

#include <cmath>
#include <cstring>

#include "kernels/elementwise/cast.h"
#include "ops/carried.h"

namespace retort::ops {
namespace {

std::vector<const OpTest*>& registry() {
  static auto* list = new std::vector<const OpTest*>;
  return *list;
}

std::vector<Slot*> pointers(std::vector<Slot>& slots) {
  std::vector<Slot*> list;
  for (Slot& s : slots) list.push_back(s.present ? &s : nullptr);
  return list;
}

Tensor copy_of(const Tensor& t) {
  Tensor copy(t.dtype(), t.shape());
  if (t.dtype() == DType::string)
    std::copy_n(t.data<std::string>(), t.count(), copy.mutable_data<std::string>());
  else
    std::copy_n(t.data<char>(), t.bytes(), copy.mutable_data<char>());
  return copy;
}

void give_memory(Slot& slot, Tensor tensor) {
  slot.data = tensor.mutable_data();
  slot.count = tensor.count();
  slot.boxed = std::move(tensor);
}

bool has_reference(const OpDef& op) {
  for (KernelFn f : op.reference) {
    if (f) return true;
  }
  return false;
}

}  // namespace

OpTest::OpTest(std::string_view name, std::vector<OpCase> cases, OpTestOptions options)
    : name_(name), cases_(std::move(cases)), options_(std::move(options)) {
  registry().push_back(this);
}

const std::vector<const OpTest*>& OpTest::all() { return registry(); }

Tensor random(Shape shape, uint32_t seed, double low, double high) {
  Tensor t(DType::f32, std::move(shape));
  uint64_t state = 0x9e3779b97f4a7c15u * (seed + 1);
  const int64_t first = int64_t(std::ceil(low * 8)), steps = int64_t(std::floor(high * 8)) - first + 1;
  for (size_t i = 0; i < t.count(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    t.mutable_data<float>()[i] = float(first + int64_t((state >> 33) % uint64_t(steps))) / 8;
  }
  return t;
}

Tensor cast_to(const Tensor& tensor, DType type) {
  Tensor t(type, tensor.shape());
  kernels::cast(tensor.data(), tensor.dtype(), t.mutable_data(), type, t.count(), {});
  return t;
}

double allowed_difference(DType type) {
  switch (type) {
    case DType::f32:
      return 2e-5;
    case DType::f64:
      return 1e-11;
    case DType::f16:
      return 4e-3;
    case DType::bf16:
      return 3e-2;
    default:
      return 0;
  }
}

std::string difference(const Tensor& got, const Tensor& expected, double tolerance) {
  if (got.dtype() != expected.dtype())
    return cat("type {} instead of {}", dtype_name(got.dtype()), dtype_name(expected.dtype()));
  if (got.shape() != expected.shape())
    return cat("shape {} instead of {}", to_string(got.shape()), to_string(expected.shape()));
  if (got.dtype() == DType::string) {
    for (size_t i = 0; i < got.count(); ++i) {
      if (got.data<std::string>()[i] != expected.data<std::string>()[i])
        return cat("element {}: '{}' instead of '{}'", i, got.data<std::string>()[i], expected.data<std::string>()[i]);
    }
    return {};
  }
  if (got.bytes() == 0 || std::memcmp(got.data(), expected.data(), got.bytes()) == 0) return {};
  if (!kernels::can_cast(got.dtype())) return "bytes differ";
  const bool whole = got.dtype() == DType::i64 || got.dtype() == DType::u64;
  const Tensor got_wide = cast_to(got, DType::f64), expected_wide = cast_to(expected, DType::f64);
  for (size_t i = 0; i < got.count(); ++i) {
    const double a = got_wide.data<double>()[i], b = expected_wide.data<double>()[i];
    const bool same =
        whole ? got.data<int64_t>()[i] == expected.data<int64_t>()[i]
              : a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * (1 + std::abs(b));
    if (!same) return cat("element {} of {}: {} instead of {}", i, to_string(got.shape()), a, b);
  }
  return {};
}

OpRun::OpRun(std::string_view domain, std::string_view name, const Attributes& attributes, std::vector<Tensor> in,
             size_t outputs)
    : inputs(std::move(in)) {
  node.name = "test";
  node.domain = domain;
  node.type = name;
  node.attributes = attributes;
  resolve(node);
  node.outputs.resize(outputs);
}

std::vector<Slot> OpRun::input_slots() const {
  std::vector<Slot> slots(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    slots[i].present = bool(inputs[i]);
    if (!inputs[i]) continue;
    slots[i].type = ValueType::tensor(inputs[i].dtype(), inputs[i].shape());
    slots[i].data = const_cast<void*>(inputs[i].data());
    slots[i].count = inputs[i].count();
  }
  return slots;
}

std::vector<Slot> OpRun::infer(DimTable& dims, const std::vector<Slot>& given) const {
  std::vector<Slot> in = given, out(node.outputs.size());
  for (Slot& s : out) s.present = true;
  const auto in_pointers = pointers(in), out_pointers = pointers(out);
  InferContext context(dims, &node, in_pointers, out_pointers);
  try {
    node.op->infer(node.params.get(), context);
  } catch (NotYetKnown) {
  }
  return out;
}

std::vector<Tensor> OpRun::run(const RunMode& mode) {
  const OpDef& op = *node.op;
  DimTable dims;
  std::vector<Slot> in = input_slots(), out = infer(dims, in);
  for (size_t i = 0; i < out.size(); ++i) {
    const ValueType& t = out[i].type;
    if (op.has(kDynamicOutput) || !t.is_static()) continue;
    const bool shared = mode.in_place >= 0 && i == 0;
    Tensor memory = shared ? copy_of(inputs[size_t(mode.in_place)]).reshaped(t.shape) : Tensor(t.dtype, t.shape);
    if (shared) in[size_t(mode.in_place)].data = memory.mutable_data();
    give_memory(out[i], std::move(memory));
  }
  const auto in_pointers = pointers(in), out_pointers = pointers(out);
  std::vector<const ValueType*> types;
  std::vector<const Tensor*> constants;
  for (size_t i = 0; i < in.size(); ++i) {
    types.push_back(in[i].present ? &in[i].type : nullptr);
    constants.push_back(in[i].present && mode.constants ? &inputs[i] : nullptr);
  }
  PrepareContext prepare(types, constants, mode.parallel, {});
  const std::unique_ptr<State> state = op.prepare && !mode.reference ? op.prepare(node.params.get(), prepare) : nullptr;
  const RunContext before(in_pointers, out_pointers, state.get(), nullptr, mode.parallel);
  const size_t bytes = op.scratch ? op.scratch(node.params.get(), before) : 0;
  const std::shared_ptr<void> scratch = bytes ? allocate_host(bytes) : nullptr;
  RunContext context(in_pointers, out_pointers, state.get(), scratch.get(), mode.parallel);
  const DType dtype = dispatch_type(op, in_pointers, out_pointers);
  const Kernel kernel = find_kernel(op, dtype);
  require(kernel.fn || kernel.carried, ErrorCode::not_implemented, "no kernel for {}", dtype_name(dtype));
  if (mode.reference && has_reference(op) && contains(kNumeric | kBool, dtype))
    run_reference(op, node.params.get(), context, dtype);
  else if (kernel.carried)
    run_carried(op, node.params.get(), context, dtype);
  else
    kernel.fn(node.params.get(), context);
  std::vector<Tensor> results;
  for (Slot& s : out) {
    const Tensor* t = s.boxed.tensor();
    require(t != nullptr, ErrorCode::fail, "an output is missing");
    results.push_back(*t);
  }
  return results;
}

}  // namespace retort::ops
