#include "ops/quant/common/codes.h"

#include "ops/quant/common/quantization.h"

namespace retort::ops {
namespace {

kernels::Codes codes_of(const void* data, DType type) {
  require(type == DType::i8 || type == DType::u8, ErrorCode::invalid_argument,
          "the codes are {}, expected int8 or uint8", dtype_name(type));
  return {data, type == DType::i8};
}

void check_count(const Shape& shape, size_t wanted, std::string_view what) {
  const size_t count = element_count(shape);
  require(count == 1 || count == wanted, ErrorCode::invalid_argument, "{} has shape {}, expected one element or {}",
          what, shape, wanted);
}

kernels::Codes zero_points(const void* data, DType type, const Shape& shape, size_t wanted, std::string_view what) {
  check_count(shape, wanted, what);
  kernels::Codes zeros = codes_of(data, type);
  zeros.count = element_count(shape);
  return zeros;
}

}  // namespace

kernels::Codes codes_of(const RunContext& c, size_t i) { return codes_of(c.data(i), c.dtype(i)); }
kernels::Codes codes_of(const Tensor& t) { return codes_of(t.data(), t.dtype()); }

kernels::Codes zero_points(const RunContext& c, size_t i, size_t wanted, std::string_view what) {
  return c.has(i) ? zero_points(c.data(i), c.dtype(i), c.shape(i), wanted, what) : kernels::Codes();
}
kernels::Codes zero_points(const Tensor* t, size_t wanted, std::string_view what) {
  return t ? zero_points(t->data(), t->dtype(), t->shape(), wanted, what) : kernels::Codes();
}

ScaleFactors::ScaleFactors(const RunContext& c, size_t i, size_t wanted, std::string_view what)
    : data_(c.data(i)), type_(c.dtype(i)), count_(c.count(i)) {
  check_count(c.shape(i), wanted, what);
  require(is_float(type_) && type_ != DType::f64, ErrorCode::invalid_argument,
          "{} is of {}, expected float32, float16 or bfloat16", what, dtype_name(type_));
}
float ScaleFactors::operator[](size_t i) const { return scale_number(data_, type_, i % count_); }

kernels::CodesResult codes_result(const RunContext& c, size_t i) {
  const kernels::Codes zero = zero_points(c, i, 1, "y_zero_point");
  return {.data = c.out_data(), .is_codes = true, .is_signed = zero.is_signed, .zero = zero[0]};
}

}  // namespace retort::ops
