// Part of onnxruntime_lite_custom_op.h: which inputs and outputs the types of a function's parameters stand for.
#pragma once
#include "custom_tensor.h"

namespace Ort {
namespace Custom {
namespace arguments {

using Types = std::vector<ONNXTensorElementDataType>;

// The inputs and outputs of an operator, as they are declared.
struct Declared {
  Types& inputs;
  Types& outputs;
};

// One call of a kernel: parameters take inputs and outputs from left to right.
struct Call {
  Call(OrtKernelContext* context_of_run, size_t inputs, size_t outputs, const std::string& provider)
      : context(context_of_run), input_count(inputs), output_count(outputs), ep(provider) {}

  template <typename Argument>
  Argument& Input() {
    return Keep<Argument>(next_input++, true);
  }
  template <typename Argument>
  Argument& Output() {
    return Keep<Argument>(next_output++, false);
  }
  void CheckHost(const char* what) const {
    if (ep == "CPUExecutionProvider") return;
    ORT_CXX_API_THROW(
        std::string("Ort::Custom: an operator of ") + ep + " cannot take " + what + ", which needs memory of the CPU",
        ORT_RUNTIME_EXCEPTION);
  }
  bool HasInput() const { return next_input < input_count; }
  bool HasOutput() const { return next_output < output_count; }

  OrtKernelContext* context;
  size_t input_count, output_count, next_input = 0, next_output = 0;
  const std::string& ep;
  ArgPtrs kept;

 private:
  template <typename Argument>
  Argument& Keep(size_t number, bool is_input) {
    auto argument = std::make_unique<Argument>(context, number, is_input);
    Argument& reference = *argument;
    kept.push_back(std::move(argument));
    return reference;
  }
};

template <typename T>
constexpr ONNXTensorElementDataType ElementOf() {
  if constexpr (std::is_same<T, std::string>::value || std::is_same<T, std::string_view>::value) {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  } else {
    return TypeToTensorType<T>::type;
  }
}

// Parameter<T>: Declare() adds what the type T stands for; Take() returns the argument of a call. This one: an element.
template <typename T>
struct Parameter {
  static void Declare(Declared declared) { declared.inputs.push_back(ElementOf<T>()); }
  static T Take(Call& call) {
    call.CheckHost("a number or text");
    return call.Input<Tensor<T>>().AsScalar();
  }
};

template <typename T>
struct Parameter<const Tensor<T>&> {
  static void Declare(Declared declared) { declared.inputs.push_back(ElementOf<T>()); }
  static const Tensor<T>& Take(Call& call) { return call.Input<Tensor<T>>(); }
};
template <typename T>
struct Parameter<Tensor<T>&> {
  static void Declare(Declared declared) { declared.outputs.push_back(ElementOf<T>()); }
  static Tensor<T>& Take(Call& call) { return call.Output<Tensor<T>>(); }
};
template <typename T>
struct Parameter<const Span<T>&> {
  static void Declare(Declared declared) { declared.inputs.push_back(ElementOf<T>()); }
  static const Span<T>& Take(Call& call) {
    call.CheckHost("a span");
    return call.Input<Tensor<T>>().AsSpan();
  }
};
// The undefined type declares a variadic input or output.
template <>
struct Parameter<const TensorArray&> {
  static void Declare(Declared declared) { declared.inputs.push_back(ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED); }
  static const TensorArray& Take(Call& call) { return call.Input<TensorArray>(); }
};
template <>
struct Parameter<TensorArray&> {
  static void Declare(Declared declared) { declared.outputs.push_back(ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED); }
  static TensorArray& Take(Call& call) { return call.Output<TensorArray>(); }
};
template <>
struct Parameter<OrtKernelContext&> {
  static void Declare(Declared) {}
  static OrtKernelContext& Take(Call& call) { return *call.context; }
};

// A pointer is a reference.
template <typename T>
struct Parameter<T*> {
  static void Declare(Declared declared) { Parameter<T&>::Declare(declared); }
  static T* Take(Call& call) { return &Parameter<T&>::Take(call); }
};

// An optional parameter is empty if the node does not have that input or output.
template <typename T>
struct IsOutput : std::false_type {};
template <typename T>
struct IsOutput<Tensor<T>*> : std::true_type {};

template <typename T>
struct Parameter<std::optional<T>> {
  static void Declare(Declared declared) { Parameter<T>::Declare(declared); }
  static std::optional<T> Take(Call& call) {
    const bool is_there = IsOutput<T>::value ? call.HasOutput() : call.HasInput();
    return is_there ? std::optional<T>(Parameter<T>::Take(call)) : std::nullopt;
  }
};

template <typename... Args>
void Declare(Types& inputs, Types& outputs) {
  (Parameter<Args>::Declare({inputs, outputs}), ...);
}

// Calls `function` with the arguments of a call. The list in braces takes them from left to right.
template <typename... Args, typename Function>
auto Apply(Function&& function, Call& call) {
  std::tuple<Args...> arguments{Parameter<Args>::Take(call)...};
  return std::apply(std::forward<Function>(function), arguments);
}

}  // namespace arguments
}  // namespace Custom
}  // namespace Ort
