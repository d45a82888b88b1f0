// Custom operators from functions and classes: the types of the parameters tell the inputs and outputs.
//
//   void Scale(const Ort::Custom::Tensor<float>& x, float factor, Ort::Custom::Tensor<float>& y) {
//     float* out = y.Allocate(x.Shape());
//     for (int64_t i = 0; i < x.NumberOfElement(); ++i) out[i] = factor * x.Data()[i];
//   }
//   std::unique_ptr<Ort::Custom::OrtLiteCustomOp> scale{
//       Ort::Custom::CreateLiteCustomOp("Scale", "CPUExecutionProvider", Scale)};
//   domain.Add(scale.get());
//
// Inputs: const Tensor<T>&, const Span<T>& (one dimension), T (one element), const TensorArray& (all that follow).
// Outputs: Tensor<T>&, TensorArray&. T is a type of TypeToTensorType, std::string, or, for inputs, std::string_view.
// OrtKernelContext& is the context of the run. Pointers may stand in place of references. std::optional of an input
// pointer, of an element or of an output pointer is empty if the node leaves the input or output out.
// The function returns void or Ort::Status. A class has such a function as its member Compute, is constructed from
// (const OrtApi*, const OrtKernelInfo*) for each node, and may have a static InferOutputShape.
#pragma once
#include <tuple>

#include "onnxruntime_cxx/custom_arguments.h"
#include "onnxruntime_cxx_api.h"

namespace Ort {
namespace Custom {

struct OrtLiteCustomOp : public OrtCustomOp {
  OrtLiteCustomOp(const char* op_name, const char* execution_provider, ShapeInferFn shape_infer_fn, int start_ver = 1,
                  int end_ver = MAX_CUSTOM_OP_END_VER)
      : OrtCustomOp(),
        op_name_(op_name),
        execution_provider_(execution_provider ? execution_provider : ""),
        shape_infer_fn_(shape_infer_fn),
        start_ver_(start_ver),
        end_ver_(end_ver) {
    OrtCustomOp::version = ORT_API_VERSION;
    OrtCustomOp::GetName = [](const OrtCustomOp* op) { return Self(op).op_name_.c_str(); };
    OrtCustomOp::GetExecutionProviderType = [](const OrtCustomOp* op) { return Self(op).execution_provider_.c_str(); };
    OrtCustomOp::GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    OrtCustomOp::GetInputTypeCount = [](const OrtCustomOp* op) { return Self(op).input_types_.size(); };
    OrtCustomOp::GetInputType = [](const OrtCustomOp* op, size_t i) { return Self(op).input_types_[i]; };
    OrtCustomOp::GetInputCharacteristic = [](const OrtCustomOp* op, size_t i) {
      return Characteristic(Self(op).input_types_[i]);
    };
    OrtCustomOp::GetOutputTypeCount = [](const OrtCustomOp* op) { return Self(op).output_types_.size(); };
    OrtCustomOp::GetOutputType = [](const OrtCustomOp* op, size_t i) { return Self(op).output_types_[i]; };
    OrtCustomOp::GetOutputCharacteristic = [](const OrtCustomOp* op, size_t i) {
      return Characteristic(Self(op).output_types_[i]);
    };
    OrtCustomOp::GetVariadicInputMinArity = Zero;
    OrtCustomOp::GetVariadicInputHomogeneity = Zero;
    OrtCustomOp::GetVariadicOutputMinArity = Zero;
    OrtCustomOp::GetVariadicOutputHomogeneity = Zero;
    OrtCustomOp::GetStartVersion = [](const OrtCustomOp* op) { return Self(op).start_ver_; };
    OrtCustomOp::GetEndVersion = [](const OrtCustomOp* op) { return Self(op).end_ver_; };
    if (!shape_infer_fn_) return;
    OrtCustomOp::InferOutputShapeFn = [](const OrtCustomOp* op, OrtShapeInferContext* context) -> OrtStatusPtr {
      ShapeInferContext shapes(&GetApi(), context);
      return Self(op).shape_infer_fn_(shapes).release();
    };
  }

  const std::string op_name_;
  const std::string execution_provider_;
  std::vector<ONNXTensorElementDataType> input_types_;
  std::vector<ONNXTensorElementDataType> output_types_;
  ShapeInferFn shape_infer_fn_ = {};
  int start_ver_ = 1;
  int end_ver_ = MAX_CUSTOM_OP_END_VER;

 protected:
  // What the kernel of every node has.
  struct Node {
    Node(const OrtLiteCustomOp& op, const OrtApi& api, const OrtKernelInfo* info) : ep(op.execution_provider_) {
      ThrowOnError(api.KernelInfo_GetInputCount(info, &inputs));
      ThrowOnError(api.KernelInfo_GetOutputCount(info, &outputs));
    }
    arguments::Call CallIn(OrtKernelContext* context) const { return {context, inputs, outputs, ep}; }

    size_t inputs{}, outputs{};
    std::string ep;
  };

 private:
  static const OrtLiteCustomOp& Self(const OrtCustomOp* op) { return *static_cast<const OrtLiteCustomOp*>(op); }
  static int Zero(const OrtCustomOp*) { return 0; }
  static OrtCustomOpInputOutputCharacteristic Characteristic(ONNXTensorElementDataType type) {
    return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED ? INPUT_OUTPUT_VARIADIC : INPUT_OUTPUT_OPTIONAL;
  }
};

// An operator that a function computes.
template <typename... Args>
struct OrtLiteCustomFunc : public OrtLiteCustomOp {
  using ComputeFn = void (*)(Args...);
  using ComputeFnReturnStatus = Status (*)(Args...);

  OrtLiteCustomFunc(const char* op_name, const char* execution_provider, ComputeFn compute_fn,
                    ShapeInferFn shape_infer_fn = {}, int start_ver = 1, int end_ver = MAX_CUSTOM_OP_END_VER)
      : OrtLiteCustomOp(op_name, execution_provider, shape_infer_fn, start_ver, end_ver), compute_fn_(compute_fn) {
    Describe();
    OrtCustomOp::KernelCompute = [](void* op_kernel, OrtKernelContext* context) {
      const Kernel& kernel = *static_cast<const Kernel*>(op_kernel);
      arguments::Call call = kernel.CallIn(context);
      arguments::Apply<Args...>(kernel.compute_fn, call);
    };
  }
  OrtLiteCustomFunc(const char* op_name, const char* execution_provider, ComputeFnReturnStatus compute_fn_return_status,
                    ShapeInferFn shape_infer_fn = {}, int start_ver = 1, int end_ver = MAX_CUSTOM_OP_END_VER)
      : OrtLiteCustomOp(op_name, execution_provider, shape_infer_fn, start_ver, end_ver),
        compute_fn_return_status_(compute_fn_return_status) {
    Describe();
    OrtCustomOp::KernelComputeV2 = [](void* op_kernel, OrtKernelContext* context) -> OrtStatusPtr {
      const Kernel& kernel = *static_cast<const Kernel*>(op_kernel);
      arguments::Call call = kernel.CallIn(context);
      return arguments::Apply<Args...>(kernel.compute_fn_return_status, call).release();
    };
  }

 private:
  struct Kernel : Node {
    Kernel(const OrtLiteCustomFunc& op, const OrtApi& api, const OrtKernelInfo* info)
        : Node(op, api, info), compute_fn(op.compute_fn_), compute_fn_return_status(op.compute_fn_return_status_) {}
    ComputeFn compute_fn;
    ComputeFnReturnStatus compute_fn_return_status;
  };

  void Describe() {
    arguments::Declare<Args...>(input_types_, output_types_);
    OrtCustomOp::CreateKernel = [](const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info) -> void* {
      return new Kernel(*static_cast<const OrtLiteCustomFunc*>(op), *api, info);
    };
    OrtCustomOp::KernelDestroy = [](void* op_kernel) { delete static_cast<Kernel*>(op_kernel); };
  }

  ComputeFn compute_fn_ = nullptr;
  ComputeFnReturnStatus compute_fn_return_status_ = nullptr;
};

// An operator whose nodes are objects of CustomOp.
template <typename CustomOp>
struct OrtLiteCustomStruct : public OrtLiteCustomOp {
  OrtLiteCustomStruct(const char* op_name, const char* execution_provider, int start_ver = 1,
                      int end_ver = MAX_CUSTOM_OP_END_VER)
      : OrtLiteCustomOp(op_name, execution_provider, {}, start_ver, end_ver) {
    SetCompute(&CustomOp::Compute);
    OrtCustomOp::CreateKernel = [](const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info) -> void* {
      return new Kernel(*static_cast<const OrtLiteCustomStruct*>(op), api, info);
    };
    OrtCustomOp::KernelDestroy = [](void* op_kernel) { delete static_cast<Kernel*>(op_kernel); };
    SetShapeInfer<CustomOp>(0);
  }

  template <typename... Args>
  void SetCompute(void (CustomOp::*)(Args...)) {
    SetComputeOf<void, Args...>();
  }
  template <typename... Args>
  void SetCompute(void (CustomOp::*)(Args...) const) {
    SetComputeOf<void, Args...>();
  }
  template <typename... Args>
  void SetCompute(Status (CustomOp::*)(Args...)) {
    SetComputeOf<Status, Args...>();
  }
  template <typename... Args>
  void SetCompute(Status (CustomOp::*)(Args...) const) {
    SetComputeOf<Status, Args...>();
  }

  template <typename C>
  decltype(&C::InferOutputShape) SetShapeInfer(decltype(&C::InferOutputShape)) {
    OrtCustomOp::InferOutputShapeFn = [](const OrtCustomOp*, OrtShapeInferContext* context) -> OrtStatusPtr {
      ShapeInferContext shapes(&GetApi(), context);
      return C::InferOutputShape(shapes).release();
    };
    return {};
  }
  template <typename C>
  void SetShapeInfer(...) {
    OrtCustomOp::InferOutputShapeFn = nullptr;
  }

 private:
  struct Kernel : Node {
    Kernel(const OrtLiteCustomStruct& op, const OrtApi* api, const OrtKernelInfo* info)
        : Node(op, *api, info), custom_op(api, info) {}
    CustomOp custom_op;
  };

  template <typename Result, typename... Args>
  void SetComputeOf() {
    arguments::Declare<Args...>(input_types_, output_types_);
    if constexpr (std::is_same<Result, void>::value) {
      OrtCustomOp::KernelCompute = [](void* op_kernel, OrtKernelContext* context) {
        Compute<Args...>(*static_cast<Kernel*>(op_kernel), context);
      };
    } else {
      OrtCustomOp::KernelComputeV2 = [](void* op_kernel, OrtKernelContext* context) -> OrtStatusPtr {
        return Compute<Args...>(*static_cast<Kernel*>(op_kernel), context).release();
      };
    }
  }
  template <typename... Args>
  static auto Compute(Kernel& kernel, OrtKernelContext* context) {
    arguments::Call call = kernel.CallIn(context);
    const auto compute = [&kernel](const Args&... args) { return kernel.custom_op.Compute(args...); };
    return arguments::Apply<Args...>(compute, call);
  }
};

// The caller owns the operator, and keeps it as long as any session that uses it.
template <typename... Args>
OrtLiteCustomOp* CreateLiteCustomOp(const char* op_name, const char* execution_provider,
                                    void (*custom_compute_fn)(Args...),
                                    Status (*shape_infer_fn)(ShapeInferContext&) = {}, int start_ver = 1,
                                    int end_ver = MAX_CUSTOM_OP_END_VER) {
  return new OrtLiteCustomFunc<Args...>(op_name, execution_provider, custom_compute_fn, shape_infer_fn, start_ver,
                                        end_ver);
}
template <typename... Args>
OrtLiteCustomOp* CreateLiteCustomOp(const char* op_name, const char* execution_provider,
                                    Status (*custom_compute_fn_v2)(Args...),
                                    Status (*shape_infer_fn)(ShapeInferContext&) = {}, int start_ver = 1,
                                    int end_ver = MAX_CUSTOM_OP_END_VER) {
  return new OrtLiteCustomFunc<Args...>(op_name, execution_provider, custom_compute_fn_v2, shape_infer_fn, start_ver,
                                        end_ver);
}
template <typename CustomOp>
OrtLiteCustomOp* CreateLiteCustomOp(const char* op_name, const char* execution_provider, int start_ver = 1,
                                    int end_ver = MAX_CUSTOM_OP_END_VER) {
  return new OrtLiteCustomStruct<CustomOp>(op_name, execution_provider, start_ver, end_ver);
}

}  // namespace Custom
}  // namespace Ort
