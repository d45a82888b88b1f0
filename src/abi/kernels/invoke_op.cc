// Operators of the engine, called by custom ones.
#include <cstring>

#include "abi/kernels/kernels.h"
#include "abi/slots.h"
#include "session/invocation.h"

struct OrtOp : retort::abi::Handle<retort::abi::tag_of("op  ")> {
  template <typename... A>
  explicit OrtOp(A&&... a) : invocation(std::forward<A>(a)...) {}
  retort::Invocation invocation;
};

namespace retort::abi {
namespace {

/// Into the caller's value: its own tensor where it has one, which must fit; else the value itself.
void hand_over(const Value& from, OrtValue& to, size_t index) {
  Tensor* given = to.value.get<Tensor>();
  const Tensor* made = from.tensor();
  if (!given || !made) {
    to.value = from;
    return;
  }
  require(given->dtype() == made->dtype() && given->shape() == made->shape(), ErrorCode::invalid_argument,
          "output {} is {}{}, the given value is {}{}; give one of that type and shape", index,
          dtype_name(made->dtype()), to_string(made->shape()), dtype_name(given->dtype()), to_string(given->shape()));
  on_host(*given, "output_values");
  if (made->dtype() == DType::string) {
    std::copy_n(made->data<std::string>(), made->count(), given->mutable_data<std::string>());
  } else if (made->bytes() > 0) {
    std::memcpy(given->mutable_data(), made->data(), made->bytes());
  }
}

}  // namespace

// The types that a caller binds constraints to follow from the inputs of each call.
OrtStatusPtr ORT_API_CALL CreateOp(const OrtKernelInfo* info, const char* op_name, const char* domain, int version,
                                   const char**, const ONNXTensorElementDataType*, int,
                                   const OrtOpAttr* const* attr_values, int attr_count, int input_count,
                                   int output_count, OrtOp** ort_op) noexcept {
  return guard([&] {
    handle(info, "info");
    need(ort_op, "ort_op");
    require(attr_count >= 0 && input_count >= 0 && output_count > 0, ErrorCode::invalid_argument,
            "{} attributes, {} inputs, {} outputs", attr_count, input_count, output_count);
    Attributes attributes;
    for (int i = 0; i < attr_count; ++i) {
      const OrtOpAttr& a = handle(attr_values ? attr_values[i] : nullptr, "attr_values");
      attributes.set(a.name, a.value);
    }
    give(ort_op, "ort_op",
         std::make_unique<OrtOp>(std::string(domain ? domain : ""), std::string(need_text(op_name, "op_name")), version,
                                 std::move(attributes), size_t(input_count), size_t(output_count)));
  });
}

OrtStatusPtr ORT_API_CALL InvokeOp(const OrtKernelContext* context, const OrtOp* ort_op,
                                   const OrtValue* const* input_values, int input_count, OrtValue* const* output_values,
                                   int output_count) noexcept {
  return guard([&] {
    const OrtKernelContext& c = handle(context, "context");
    const Invocation& op = handle(ort_op, "ort_op").invocation;
    require(input_count >= 0 && output_count >= 0 && size_t(output_count) <= op.outputs(), ErrorCode::invalid_argument,
            "{} inputs and {} outputs for {}, which was made with {} and {}", input_count, output_count, op.name(),
            op.inputs(), op.outputs());
    if (input_count) need(input_values, "input_values");
    if (output_count) need(output_values, "output_values");
    std::vector<const Value*> inputs;
    for (int i = 0; i < input_count; ++i)
      inputs.push_back(input_values[i] ? &handle(input_values[i], "input_values").value : nullptr);
    for (const Value* v : inputs) {
      if (v && v->tensor()) on_host(*v->tensor(), "input_values");
    }
    const std::vector<Value> made = op.run(inputs, c.run->parallel());
    for (int i = 0; i < output_count; ++i) {
      if (output_values[i]) hand_over(made[size_t(i)], handle(output_values[i], "output_values"), size_t(i));
    }
  });
}

void ORT_API_CALL ReleaseOp(OrtOp* input) noexcept { release(input); }

}  // namespace retort::abi
