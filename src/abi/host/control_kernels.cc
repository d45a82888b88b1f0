// The host's kernels for If, Loop and Scan, which a plug-in asks for when it makes a kernel for such a node. The bodies
// run in the session's own plan: nodes that a provider claimed run there, all others on the CPU.
#include "abi/host/control_kernels.h"

#include <algorithm>

#include "abi/slots.h"

namespace retort::abi {
namespace {

/// The only element of an input that the host must be able to read.
template <typename T>
T read_single(const Tensor& t, std::string_view type, std::string_view what) {
  require(t.space().host_readable(), ErrorCode::invalid_argument,
          "{} of {} lies in {}; the kernel's definition must have it in memory of the CPU "
          "(KernelDefBuilder_SetInputMemType)",
          what, type, to_string(t.space()));
  require(t.dtype() == dtype_of<T> && t.count() == 1, ErrorCode::invalid_argument, "{} is {}{}, but {} expects one {}",
          what, dtype_name(t.dtype()), to_string(t.shape()), type, dtype_name(dtype_of<T>));
  return *t.data<T>();
}

const Tensor& tensor_in(const Value& value, std::string_view what, size_t i) {
  const Tensor* t = value.tensor();
  require(t != nullptr, ErrorCode::not_implemented,
          "{} {} of a body is not a tensor; kernels of providers take only tensors", what, i);
  return *t;
}

class IfKernel : public ControlKernel {
 public:
  using ControlKernel::ControlKernel;

  void run(ControlCall& call) const override {
    const Tensor* condition = call.input(0);
    require(condition != nullptr, ErrorCode::invalid_argument, "the condition of If is missing");
    const bool is = read_single<bool>(*condition, "If", "the condition");
    const size_t branch = call.bodies().index(is ? "then_branch" : "else_branch");
    std::vector<Value> results(call.bodies().output_count(branch));
    require(results.size() >= call.outputs(), ErrorCode::invalid_graph, "a branch has {} outputs, but If has {}",
            results.size(), call.outputs());
    std::vector<MemorySpace> spaces(results.size());
    for (size_t i = 0; i < call.outputs(); ++i) spaces[i] = call.space(i);
    call.bodies().run(branch, {}, results, spaces);
    for (size_t i = 0; i < call.outputs(); ++i) call.give(i, tensor_in(results[i], "output", i));
  }
};

class LoopKernel : public ControlKernel {
 public:
  LoopKernel(const OrtKernelInfo& info, OrtLoopKernelHelper& helper) : ControlKernel(info), helper_(helper) {}
  ~LoopKernel() override {
    give_back(info_.logger.logger, callee(), "Release of its helper", helper_.Release, &helper_);
  }

  void run(ControlCall& call) const override {
    const Tensor *count = call.input(0), *condition = call.input(1);
    const int64_t limit = count ? read_single<int64_t>(*count, "Loop", "the trip count") : INT64_MAX;
    bool go = !condition || read_single<bool>(*condition, "Loop", "the condition");
    BodyRunner& bodies = call.bodies();
    const size_t taken = bodies.input_count(0), given = bodies.output_count(0);
    require(
        taken >= 2 && taken == std::max<size_t>(call.inputs(), 2) && given + 1 >= taken && call.outputs() + 1 <= given,
        ErrorCode::invalid_graph, "Loop has {} inputs and {} outputs, but its body has {} and {}", call.inputs(),
        call.outputs(), taken, given);
    const size_t carried = taken - 2;
    std::vector<Value> in(taken), out(given);
    for (size_t i = 0; i < carried; ++i) in[2 + i] = call.present(2 + i);
    std::vector<std::vector<Value>> parts(given - 1 - carried);
    const std::vector<MemorySpace> spaces = result_spaces(call, carried, given);
    int64_t n = 0;
    for (; n < limit && go && !call.cancelled(); ++n) {
      in[0] = Tensor::of<int64_t>({}, {n});
      in[1] = truth(go);
      bodies.run(0, in, out, spaces);
      go = read_single<bool>(tensor_in(out[0], "output", 0), "Loop", "the condition that the body makes");
      for (size_t i = 0; i < carried; ++i) in[2 + i] = std::exchange(out[1 + i], Value());
      for (size_t i = 0; i < parts.size(); ++i) add(parts[i], std::exchange(out[1 + carried + i], Value()));
      out[0] = Value();
    }
    for (size_t i = 0; i < carried && i < call.outputs(); ++i)
      n > 0 ? call.give(i, tensor_in(in[2 + i], "carried value", i)) : call.copy_in(i, 2 + i);
    for (size_t i = carried; i < call.outputs(); ++i)
      concatenate(call, i, parts[i - carried], bodies.output_type(0, 1 + i));
  }

 private:
  static Tensor truth(bool is) {
    Tensor t(DType::boolean, {});
    *t.mutable_data<bool>() = is;
    return t;
  }

  // Carried values are made where the body reads them, others where the node's outputs are.
  static std::vector<MemorySpace> result_spaces(const ControlCall& call, size_t carried, size_t given) {
    std::vector<MemorySpace> spaces(given);
    for (size_t i = 0; i + 1 < given; ++i) {
      if (i < carried)
        spaces[1 + i] = call.bodies().input_space(0, 2 + i);
      else if (i < call.outputs())
        spaces[1 + i] = call.space(i);
    }
    return spaces;
  }

  static void add(std::vector<Value>& parts, Value part) {
    const Tensor& t = tensor_in(part, "scan output of iteration", parts.size());
    const Tensor* first = parts.empty() ? &t : parts[0].tensor();
    require(t.shape() == first->shape() && t.dtype() == first->dtype(), ErrorCode::invalid_argument,
            "a scan output is {}{} in iteration 0 and {}{} in iteration {}", dtype_name(first->dtype()),
            to_string(first->shape()), dtype_name(t.dtype()), to_string(t.shape()), parts.size());
    parts.push_back(std::move(part));
  }

  void concatenate(ControlCall& call, size_t output, const std::vector<Value>& parts, const ValueType& element) const {
    Shape shape{int64_t(parts.size())};
    for (const int64_t d : parts.empty() ? element.shape : parts[0].tensor()->shape())
      shape.push_back(is_known(d) ? d : 0);
    if (!call.wants(output)) return;
    Tensor all = call.make(output, shape);
    require(all.dtype() != DType::string, ErrorCode::not_implemented,
            "scan output {} of Loop is of strings, which helpers of providers cannot concatenate; leave such "
            "nodes to the CPU",
            output);
    if (!parts.empty()) check_same_type(*parts[0].tensor(), all, output);
    std::vector<OrtValue> values;
    std::vector<const OrtValue*> pointers;
    for (const Value& part : parts) values.emplace_back(part);
    for (const OrtValue& v : values) pointers.push_back(&v);
    if (parts.empty()) return;
    OrtSyncStream* stream = call.stream();
    call_plugin(callee(), "ConcatOutput", helper_.ConcatOutput, &helper_, stream ? stream->stream->handle() : nullptr,
                pointers.data(), pointers.size(), all.mutable_data(), all.bytes());
  }

  OrtLoopKernelHelper& helper_;
};

const OrtKernelInfo& check_type(const OrtKernelInfo& info, std::string_view type) {
  require(info.node.type == type && !info.bodies.empty(), ErrorCode::fail,
          "node '{}' is of type {}, not {}; make the kernel for a node of that type", info.node.name, info.node.type,
          type);
  return info;
}

template <typename Helper>
Helper& checked(Helper* helper, const void* function, const char* name) {
  Helper& h = need(helper, "helper");
  require(function != nullptr && h.Release != nullptr, ErrorCode::invalid_argument,
          "the helper has no {}, or no Release; set both", name);
  return h;
}

}  // namespace

ControlKernel::ControlKernel(const OrtKernelInfo& info) : OrtKernelImpl{}, info_(info) {
  ort_version_supported = ORT_API_VERSION;
  flags = kRunsBodies;
  OrtKernelImpl::Release = [](OrtKernelImpl* kernel) noexcept { delete static_cast<ControlKernel*>(kernel); };
  OrtKernelImpl::Compute = [](OrtKernelImpl* kernel, OrtKernelContext* context) noexcept {
    return guard([&] {
      OrtKernelContext& c = handle(context, "context");
      require(c.part != nullptr, ErrorCode::invalid_argument, "the kernel runs only in sessions, as a provider's");
      ControlCall call(c);
      static_cast<const ControlKernel*>(kernel)->run(call);
    });
  };
}

const Tensor* ControlCall::input(size_t i) const {
  return i < context_.inputs.size() && context_.inputs[i] ? &tensor_of(context_.inputs[i].get()) : nullptr;
}

const Tensor& ControlCall::present(size_t i) const {
  const Tensor* t = input(i);
  require(t != nullptr, ErrorCode::invalid_graph, "input {} is missing", i);
  return *t;
}

void check_same_type(const Tensor& made, const Tensor& result, size_t output) {
  require(made.dtype() == result.dtype(), ErrorCode::invalid_graph,
          "output {} is {}, but the body makes {}; make the types equal, for example by a Cast", output,
          dtype_name(result.dtype()), dtype_name(made.dtype()));
}

Tensor ControlCall::make(size_t i, const Shape& shape) { return context_.part->output(i, shape); }

void ControlCall::give(size_t i, const Tensor& tensor) {
  if (!wants(i)) return;
  if (tensor.space().serves(space(i)) && tensor.owner()) return context_.part->set_output(i, tensor);
  Tensor made = make(i, tensor.shape());
  check_same_type(tensor, made, i);
  context_.part->copy(tensor, made);
}

void ControlCall::copy_in(size_t output, size_t input) {
  if (!wants(output)) return;
  const Tensor& from = present(input);
  Tensor made = make(output, from.shape());
  context_.part->copy(from, made);
}

namespace ep_api {

OrtStatusPtr ORT_API_CALL CreateIfKernel(const OrtKernelInfo* kernel_info, OrtKernelImpl** kernel_out) noexcept {
  return guard([&] {
    const OrtKernelInfo& info = handle(kernel_info, "kernel_info");
    need(kernel_out, "kernel_out") = new IfKernel(check_type(info, "If"));
  });
}

OrtStatusPtr ORT_API_CALL CreateLoopKernel(const OrtKernelInfo* kernel_info, OrtLoopKernelHelper* helper,
                                           OrtKernelImpl** kernel_out) noexcept {
  return guard([&] {
    const OrtKernelInfo& info = handle(kernel_info, "kernel_info");
    OrtLoopKernelHelper& h = checked(helper, helper ? (const void*)(helper->ConcatOutput) : nullptr, "ConcatOutput");
    need(kernel_out, "kernel_out") = new LoopKernel(check_type(info, "Loop"), h);
  });
}

OrtStatusPtr ORT_API_CALL CreateScanKernel(const OrtKernelInfo* kernel_info, OrtScanKernelHelper* helper,
                                           OrtKernelImpl** kernel_out) noexcept {
  return guard([&] {
    const OrtKernelInfo& info = handle(kernel_info, "kernel_info");
    OrtScanKernelHelper& h = checked(helper, helper ? (const void*)(helper->Transpose) : nullptr, "Transpose");
    need(kernel_out, "kernel_out") = new_scan_kernel(check_type(info, "Scan"), h);
  });
}

void ORT_API_CALL ReleaseKernelImpl(OrtKernelImpl* input) noexcept {
  if (input) give_back(unheard(), {"a kernel", "of a plug-in"}, "Release", input->Release, input);
}

}  // namespace ep_api
}  // namespace retort::abi
