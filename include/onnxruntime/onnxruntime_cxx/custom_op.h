// Part of onnxruntime_cxx_api.h: custom operators: shapes of their outputs, and their description for the library.
#pragma once
#include "kernel.h"
#include "session_options.h"

namespace Ort {

// What the shape function of a custom operator reads and writes.
struct ShapeInferContext {
  // An extent: a number, or the name that a model gives it. The text must outlive the object.
  struct SymbolicInteger {
    SymbolicInteger(int64_t i) : i_(i), is_int_(true) {}
    SymbolicInteger(const char* s) : s_(s), is_int_(false) {}
    SymbolicInteger(const SymbolicInteger&) = default;
    SymbolicInteger(SymbolicInteger&&) = default;
    SymbolicInteger& operator=(const SymbolicInteger&) = default;
    SymbolicInteger& operator=(SymbolicInteger&&) = default;

    bool operator==(const SymbolicInteger& dim) const {
      if (is_int_ != dim.is_int_) return false;
      return is_int_ ? i_ == dim.i_ : std::string(s_) == dim.s_;
    }
    bool IsInt() const { return is_int_; }
    int64_t AsInt() const { return i_; }
    const char* AsSym() const { return s_; }

    static constexpr int INVALID_INT_DIM = -2;

   private:
    union {
      int64_t i_;
      const char* s_;
    };
    bool is_int_;
  };

  using Shape = std::vector<SymbolicInteger>;
  using Ints = std::vector<int64_t>;
  using Floats = std::vector<float>;
  using Strings = std::vector<std::string>;

  ShapeInferContext(const OrtApi* ort_api, OrtShapeInferContext* ctx) : ort_api_(ort_api), ctx_(ctx) {
    size_t count = 0;
    ThrowOnError(ort_api_->ShapeInferContext_GetInputCount(ctx_, &count));
    for (size_t i = 0; i < count; ++i) input_shapes_.push_back(ShapeOfInput(i));
  }

  const Shape& GetInputShape(size_t indice) const { return input_shapes_.at(indice); }
  size_t GetInputCount() const { return input_shapes_.size(); }

  Status SetOutputShape(size_t indice, const Shape& shape,
                        ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
    OrtTensorTypeAndShapeInfo* handle = nullptr;
    ORT_CXX_RETURN_ON_API_FAIL(ort_api_->CreateTensorTypeAndShapeInfo(&handle));
    const TensorTypeAndShapeInfo info(handle);
    std::vector<int64_t> extents;
    std::vector<const char*> names;
    for (const SymbolicInteger& extent : shape) {
      const bool named = !extent.IsInt();
      if (named && (!extent.AsSym() || !*extent.AsSym())) {
        return Status("SetOutputShape: the name of an extent must not be empty", ORT_INVALID_ARGUMENT);
      }
      extents.push_back(named ? SymbolicInteger::INVALID_INT_DIM : extent.AsInt());
      names.push_back(named ? extent.AsSym() : "");
    }
    ORT_CXX_RETURN_ON_API_FAIL(ort_api_->SetTensorElementType(handle, type));
    ORT_CXX_RETURN_ON_API_FAIL(ort_api_->SetDimensions(handle, extents.data(), extents.size()));
    ORT_CXX_RETURN_ON_API_FAIL(ort_api_->SetSymbolicDimensions(handle, names.data(), names.size()));
    ORT_CXX_RETURN_ON_API_FAIL(ort_api_->ShapeInferContext_SetOutputTypeShape(ctx_, indice, handle));
    return Status();
  }

  int64_t GetAttrInt(const char* attr_name) { return Attribute<int64_t>(attr_name); }
  Ints GetAttrInts(const char* attr_name) { return Attributes<int64_t>(attr_name); }
  float GetAttrFloat(const char* attr_name) { return Attribute<float>(attr_name); }
  Floats GetAttrFloats(const char* attr_name) { return Attributes<float>(attr_name); }
  std::string GetAttrString(const char* attr_name) { return Attribute<std::string>(attr_name); }
  Strings GetAttrStrings(const char* attr_name) { return Attributes<std::string>(attr_name); }

 private:
  Shape ShapeOfInput(size_t i) const {
    OrtTensorTypeAndShapeInfo* handle = nullptr;  // belongs to the context
    ThrowOnError(ort_api_->ShapeInferContext_GetInputTypeShape(ctx_, i, &handle));
    const ConstTensorTypeAndShapeInfo info(handle);
    const std::vector<int64_t> extents = info.GetShape();
    const std::vector<const char*> names = info.GetSymbolicDimensions();
    Shape shape;
    for (size_t d = 0; d < extents.size(); ++d) {
      if (names[d] && *names[d]) {
        shape.emplace_back(names[d]);
      } else {
        shape.emplace_back(extents[d]);
      }
    }
    return shape;
  }

  ConstOpAttr GetAttrHdl(const char* attr_name) const {
    const OrtOpAttr* attribute = nullptr;
    ThrowOnError(ort_api_->ShapeInferContext_GetAttribute(ctx_, attr_name, &attribute));
    return ConstOpAttr{attribute};
  }
  static void Check(const char* attr_name, const Status& status) {
    if (status.IsOK()) return;
    ORT_CXX_API_THROW(std::string("attribute ") + attr_name + ": " + status.GetErrorMessage(), status.GetErrorCode());
  }
  template <typename R>
  R Attribute(const char* attr_name) const {
    R value{};
    Check(attr_name, GetAttrHdl(attr_name).template GetValue<R>(value));
    return value;
  }
  template <typename R>
  std::vector<R> Attributes(const char* attr_name) const {
    std::vector<R> values;
    Check(attr_name, GetAttrHdl(attr_name).template GetValueArray<R>(values));
    return values;
  }

  const OrtApi* ort_api_;
  OrtShapeInferContext* ctx_;
  std::vector<Shape> input_shapes_;
};

using ShapeInferFn = Ort::Status (*)(Ort::ShapeInferContext&);

#define MAX_CUSTOM_OP_END_VER (1UL << 31) - 1

// The description of a custom operator: struct MyOp : Ort::CustomOpBase<MyOp, MyKernel>. MyOp has at least
//   void* CreateKernel(const OrtApi& api, const OrtKernelInfo* info) const;  (a new MyKernel)
//   const char* GetName() const;
//   size_t GetInputTypeCount() const;   ONNXTensorElementDataType GetInputType(size_t index) const;
//   size_t GetOutputTypeCount() const;  ONNXTensorElementDataType GetOutputType(size_t index) const;
// and MyKernel has void Compute(OrtKernelContext* context). With WithStatus = true, the functions are instead
//   OrtStatusPtr CreateKernelV2(const OrtApi& api, const OrtKernelInfo* info, void** op_kernel) const;
//   OrtStatusPtr ComputeV2(OrtKernelContext* context);
// A member `static Ort::Status InferOutputShape(Ort::ShapeInferContext&)` is the shape function. The functions below may
// be redefined. The object must outlive every session that uses the operator.
template <typename TOp, typename TKernel, bool WithStatus = false>
struct CustomOpBase : OrtCustomOp {
  CustomOpBase() : OrtCustomOp() {
    OrtCustomOp::version = ORT_API_VERSION;
    DescribeOperator();
    DescribeValues();
    if constexpr (WithStatus) {
      OrtCustomOp::CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                                       void** op_kernel) -> OrtStatusPtr {
        return Self(op)->CreateKernelV2(*api, info, op_kernel);
      };
      OrtCustomOp::KernelComputeV2 = [](void* op_kernel, OrtKernelContext* context) -> OrtStatusPtr {
        return static_cast<TKernel*>(op_kernel)->ComputeV2(context);
      };
    } else {
      OrtCustomOp::CreateKernel = [](const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info) {
        return Self(op)->CreateKernel(*api, info);
      };
      OrtCustomOp::KernelCompute = [](void* op_kernel, OrtKernelContext* context) {
        static_cast<TKernel*>(op_kernel)->Compute(context);
      };
    }
    OrtCustomOp::KernelDestroy = [](void* op_kernel) { delete static_cast<TKernel*>(op_kernel); };
    SetShapeInferFn<TOp>(0);
  }

  // Null: the provider of the CPU.
  const char* GetExecutionProviderType() const { return nullptr; }

  OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(size_t /*index*/) const { return INPUT_OUTPUT_REQUIRED; }
  OrtCustomOpInputOutputCharacteristic GetOutputCharacteristic(size_t /*index*/) const { return INPUT_OUTPUT_REQUIRED; }
  OrtMemType GetInputMemoryType(size_t /*index*/) const { return OrtMemTypeDefault; }
  int GetVariadicInputMinArity() const { return 1; }
  bool GetVariadicInputHomogeneity() const { return true; }
  int GetVariadicOutputMinArity() const { return 1; }
  bool GetVariadicOutputHomogeneity() const { return true; }

  // The names of session entries that GetSessionConfigs reads.
  std::vector<std::string> GetSessionConfigKeys() const { return {}; }

  // Has the shape function of C, if it has one.
  template <typename C>
  decltype(&C::InferOutputShape) SetShapeInferFn(decltype(&C::InferOutputShape)) {
    OrtCustomOp::InferOutputShapeFn = [](const OrtCustomOp*, OrtShapeInferContext* ort_ctx) -> OrtStatusPtr {
      ShapeInferContext ctx(&GetApi(), ort_ctx);
      return C::InferOutputShape(ctx).release();
    };
    return {};
  }
  template <typename C>
  void SetShapeInferFn(...) {
    OrtCustomOp::InferOutputShapeFn = nullptr;
  }

 protected:
  // The entries that session options have for this operator (CustomOpConfigs), the empty text for those that are unset.
  void GetSessionConfigs(std::unordered_map<std::string, std::string>& out, ConstSessionOptions options) const {
    for (const std::string& key : Self(this)->GetSessionConfigKeys()) {
      const std::string entry = detail::MakeCustomOpConfigEntryKey(Self(this)->GetName(), key.c_str());
      out[key] = options.GetConfigEntryOrDefault(entry.c_str(), "");
    }
  }

  // The first and the last version of the domain in which the operator exists.
  int start_ver_ = 1;
  int end_ver_ = MAX_CUSTOM_OP_END_VER;

 private:
  static const TOp* Self(const OrtCustomOp* op) { return static_cast<const TOp*>(op); }

  void DescribeOperator() {
    OrtCustomOp::GetName = [](const OrtCustomOp* op) { return Self(op)->GetName(); };
    OrtCustomOp::GetExecutionProviderType = [](const OrtCustomOp* op) { return Self(op)->GetExecutionProviderType(); };
    OrtCustomOp::GetStartVersion = [](const OrtCustomOp* op) { return Self(op)->start_ver_; };
    OrtCustomOp::GetEndVersion = [](const OrtCustomOp* op) { return Self(op)->end_ver_; };
  }

  void DescribeValues() {
    OrtCustomOp::GetInputTypeCount = [](const OrtCustomOp* op) { return Self(op)->GetInputTypeCount(); };
    OrtCustomOp::GetInputType = [](const OrtCustomOp* op, size_t i) { return Self(op)->GetInputType(i); };
    OrtCustomOp::GetInputMemoryType = [](const OrtCustomOp* op, size_t i) { return Self(op)->GetInputMemoryType(i); };
    OrtCustomOp::GetInputCharacteristic = [](const OrtCustomOp* op, size_t i) {
      return Self(op)->GetInputCharacteristic(i);
    };
    OrtCustomOp::GetOutputTypeCount = [](const OrtCustomOp* op) { return Self(op)->GetOutputTypeCount(); };
    OrtCustomOp::GetOutputType = [](const OrtCustomOp* op, size_t i) { return Self(op)->GetOutputType(i); };
    OrtCustomOp::GetOutputCharacteristic = [](const OrtCustomOp* op, size_t i) {
      return Self(op)->GetOutputCharacteristic(i);
    };
    OrtCustomOp::GetVariadicInputMinArity = [](const OrtCustomOp* op) { return Self(op)->GetVariadicInputMinArity(); };
    OrtCustomOp::GetVariadicInputHomogeneity = [](const OrtCustomOp* op) {
      return static_cast<int>(Self(op)->GetVariadicInputHomogeneity());
    };
    OrtCustomOp::GetVariadicOutputMinArity = [](const OrtCustomOp* op) {
      return Self(op)->GetVariadicOutputMinArity();
    };
    OrtCustomOp::GetVariadicOutputHomogeneity = [](const OrtCustomOp* op) {
      return static_cast<int>(Self(op)->GetVariadicOutputHomogeneity());
    };
  }
};

}  // namespace Ort
