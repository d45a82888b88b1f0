// Runs custom operators as operators of the engine: a caller's struct of functions behind ExternalOp.
#include <climits>

#include "abi/kernels/kernels.h"
#include "abi/sessions/options.h"
#include "abi/slots.h"
#include "abi/values/type_info.h"

namespace retort::abi {
namespace {

// A struct of an older version ends before the fields that were added later.
constexpr uint32_t kCharacteristics = 8, kVariadic = 14, kStatusVersion = 16, kInference = 17;

/// An exception that a caller's function throws ends the call like a status does; the error names the node.
template <typename F>
void calling(std::string_view what, F&& f) {
  try {
    f();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    fail(ErrorCode::runtime_exception, "{} of the custom operator threw: {}", what, e.what());
  } catch (...) {
    fail(ErrorCode::runtime_exception, "{} of the custom operator threw an exception that is not a std::exception",
         what);
  }
}

class CustomKernel : public State {
 public:
  CustomKernel(const OrtCustomOp& op, std::unique_ptr<OrtKernelInfo> info) : op_(op), info_(std::move(info)) {
    const bool computes = op_.KernelCompute || (op_.version >= kStatusVersion && op_.KernelComputeV2);
    require(computes, ErrorCode::invalid_argument, "the custom operator has no KernelCompute; give it one");
    if (op_.version >= kStatusVersion && op_.CreateKernelV2) {
      calling("CreateKernelV2",
              [&] { throw_status(op_.CreateKernelV2(&op_, &kApi, info_.get(), &kernel_), "CreateKernelV2"); });
    } else {
      require(op_.CreateKernel, ErrorCode::invalid_argument, "the custom operator has no CreateKernel; give it one");
      calling("CreateKernel", [&] { kernel_ = op_.CreateKernel(&op_, &kApi, info_.get()); });
    }
  }
  ~CustomKernel() override {
    if (op_.KernelDestroy) op_.KernelDestroy(kernel_);
  }

  void run(RunContext& context) const {
    OrtKernelContext seen;
    seen.run = &context;
    seen.info = info_.get();
    seen.inputs.resize(context.input_count());
    seen.outputs.resize(context.output_count());
    if (op_.version >= kStatusVersion && op_.KernelComputeV2)
      calling("KernelComputeV2", [&] { throw_status(op_.KernelComputeV2(kernel_, &seen), "KernelComputeV2"); });
    else
      calling("KernelCompute", [&] { op_.KernelCompute(kernel_, &seen); });
    for (size_t i = 0; i < seen.outputs.size(); ++i) {
      require(seen.outputs[i] || !context.wants(i), ErrorCode::fail,
              "the kernel made no output {} ('{}'); let it call KernelContext_GetOutput", i, info_->node.outputs[i]);
    }
  }

 private:
  const OrtCustomOp& op_;
  const std::unique_ptr<OrtKernelInfo> info_;
  void* kernel_ = nullptr;
};

/// The caller's struct must outlive it.
class CustomOp : public ExternalOp {
 public:
  CustomOp(const OrtCustomOp& op, std::string domain, const Logger& logger, std::map<std::string, std::string> config)
      : op_(op), domain_(std::move(domain)), type_(op.GetName(&op)), logger_(logger), config_(std::move(config)) {}

  std::string domain() const override { return domain_; }
  std::string type() const override { return type_; }
  bool covers(int version) const override {
    const bool versioned = op_.version >= kInference;
    const int last = versioned && op_.GetEndVersion ? op_.GetEndVersion(&op_) : INT_MAX;
    return version == 0 || (first_version() <= version && version <= last);
  }

  int first_version() const override {
    return op_.version >= kInference && op_.GetStartVersion ? op_.GetStartVersion(&op_) : 1;
  }

  void infer(const ExternalNode& node, InferContext& context) const override {
    check_count("inputs", context.input_count(), op_.GetInputTypeCount(&op_), [&](size_t i) { return input_kind(i); });
    check_count("outputs", context.output_count(), op_.GetOutputTypeCount(&op_),
                [&](size_t i) { return output_kind(i); });
    for (size_t i = 0; i < context.input_count(); ++i) check_input(context, i);
    for (size_t i = 0; i < context.output_count(); ++i) {
      const auto type = op_.GetOutputType(&op_, formal(i, op_.GetOutputTypeCount(&op_)));
      if (context.wants(i) && type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) context.set(i, from_onnx(type));
    }
    if (op_.version < kInference || !op_.InferOutputShapeFn || !context.node()) return;
    OrtShapeInferContext seen;
    seen.node = &node;
    seen.infer = &context;
    for (const auto& [name, value] : node.attributes) {
      OrtOpAttr& attribute = seen.attributes[name];
      attribute.name = name;
      attribute.value = value;
    }
    throw_status(op_.InferOutputShapeFn(&op_, &seen), "InferOutputShapeFn");
  }

  std::unique_ptr<State> prepare(const ExternalNode& node, PrepareContext& context) const override {
    auto info = std::make_unique<OrtKernelInfo>(node, OrtLogger(logger_));
    info->config = config_;
    info->since_version = first_version();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      info->inputs.push_back(context.has(i) ? std::optional(context.type(i)) : std::nullopt);
      const Tensor* constant = context.constant(i);
      info->constants.emplace_back(constant ? Value(*constant) : Value());
    }
    for (const ValueType* type : context.outputs()) info->outputs.push_back(type ? std::optional(*type) : std::nullopt);
    return std::make_unique<CustomKernel>(op_, std::move(info));
  }

  void run(const ExternalNode&, RunContext& context) const override { context.state<CustomKernel>()->run(context); }

 private:
  using Kind = OrtCustomOpInputOutputCharacteristic;

  // The last formal parameter may be variadic: it stands for all inputs or outputs that follow.
  static size_t formal(size_t i, size_t count) { return count == 0 ? 0 : std::min(i, count - 1); }
  Kind input_kind(size_t i) const {
    return op_.version >= kCharacteristics && op_.GetInputCharacteristic ? op_.GetInputCharacteristic(&op_, i)
                                                                         : INPUT_OUTPUT_REQUIRED;
  }
  Kind output_kind(size_t i) const {
    return op_.version >= kCharacteristics && op_.GetOutputCharacteristic ? op_.GetOutputCharacteristic(&op_, i)
                                                                          : INPUT_OUTPUT_REQUIRED;
  }

  template <typename F>
  void check_count(const char* what, size_t given, size_t formals, F&& kind) const {
    const bool variadic = formals > 0 && kind(formals - 1) == INPUT_OUTPUT_VARIADIC;
    size_t least = 0;
    for (size_t i = 0; i < formals; ++i) {
      if (kind(i) == INPUT_OUTPUT_REQUIRED) least = i + 1;
    }
    if (variadic && op_.version >= kVariadic) {
      const auto arity =
          std::string_view(what) == "inputs" ? op_.GetVariadicInputMinArity : op_.GetVariadicOutputMinArity;
      if (arity) least = formals - 1 + size_t(std::max(arity(&op_), 0));
    }
    require(given >= least && (variadic || given <= formals), ErrorCode::invalid_graph,
            "the node has {} {}, but the custom operator takes {}{}", given, what, least,
            variadic          ? " or more"
            : formals > least ? cat(" to {}", formals)
                              : "");
  }

  void check_input(const InferContext& context, size_t i) const {
    const size_t formals = op_.GetInputTypeCount(&op_), at = formal(i, formals);
    if (!context.has(i)) {
      require(input_kind(at) != INPUT_OUTPUT_REQUIRED, ErrorCode::invalid_graph,
              "required input {} of the custom operator is missing; give it to the node", i);
      return;
    }
    const auto type = op_.GetInputType(&op_, at);
    const ValueType& given = context.type(i);
    if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED || !given.is_tensor() || given.dtype == DType::undefined)
      return;
    require(given.dtype == from_onnx(type), ErrorCode::invalid_graph,
            "input {} is {}, but the custom operator takes {}; cast it", i, dtype_name(given.dtype),
            dtype_name(from_onnx(type)));
  }

  const OrtCustomOp& op_;
  const std::string domain_, type_;
  const Logger logger_;
  const std::map<std::string, std::string> config_;
};

}  // namespace

void throw_status(OrtStatus* status, std::string_view what) {
  try {
    throw_status(status);
  } catch (Error& error) {
    error.add_context(cat("{} of the custom operator", what));
    throw;
  }
}

std::shared_ptr<const ExternalOps> custom_ops_of(const OrtSessionOptions& options, const Logger& logger) {
  auto all = std::make_shared<ExternalOps>();
  for (const OrtCustomOpDomain* domain : options.domains) {
    for (const OrtCustomOp* op : handle(domain, "custom_op_domain").ops) {
      const char* provider = op->GetExecutionProviderType ? op->GetExecutionProviderType(op) : nullptr;
      if (provider && std::string_view(provider) != kCpuProvider) continue;  // no such provider
      all->add(std::make_shared<CustomOp>(*op, domain->name, logger, options.options.config));
    }
  }
  return all->empty() ? nullptr : all;
}

}  // namespace retort::abi
