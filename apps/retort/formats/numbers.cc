#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "cli/commands.h"

namespace retort::cli {
namespace {

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

struct Bfloat16 {
  uint16_t bits;
  explicit Bfloat16(float x) : bits(uint16_t(std::bit_cast<uint32_t>(x) >> 16)) {}
};

/// IEEE 754 binary16, rounded to even.
struct Float16 {
  uint16_t bits;
  explicit Float16(double x) : bits(std::signbit(x) ? 0x8000 : 0) {
    const double size = std::fabs(x);
    if (std::isnan(x))
      bits |= 0x7e00;
    else if (size >= 65520)
      bits |= 0x7c00;
    else {
      const int exponent = std::max(-14, std::ilogb(size));  // that of the smallest normal number for what lies below
      const long mantissa =
          std::lrint(std::ldexp(size, 10 - exponent));  // its leading one adds 1 to the exponent's field
      bits |= uint16_t(((exponent + 14) << 10) + mantissa);
    }
  }
};

/// A float of up to 16 bits: a sign, an exponent, a mantissa.
struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  enum { finite, infinities, one_nan, zero_nan } special;  ///< what the codes at the end of the range mean
};

double decode(unsigned code, SmallFloat f) {
  const unsigned sign = code >> (f.exponent_bits + f.mantissa_bits) & 1;
  const unsigned last = (1u << f.exponent_bits) - 1, ones = (1u << f.mantissa_bits) - 1;
  const unsigned exponent = code >> f.mantissa_bits & last, mantissa = code & ones;
  if (f.special == SmallFloat::zero_nan && sign && !exponent && !mantissa) return NAN;
  if (f.special == SmallFloat::one_nan && exponent == last && mantissa == ones) return NAN;
  if (f.special == SmallFloat::infinities && exponent == last) return mantissa ? NAN : sign ? -INFINITY : INFINITY;
  const double size = exponent ? std::ldexp(1 + std::ldexp(mantissa, -f.mantissa_bits), int(exponent) - f.bias)
                               : std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  return sign ? -size : size;
}

/// The bits of element i of a type of up to 8.
unsigned code_at(const HostTensor& t, size_t i) {
  const size_t bits = type_bits(t.type), at = i * bits;
  return (unsigned(t.bytes[at / 8]) >> (at % 8)) & ((1u << bits) - 1);
}

int with_sign(unsigned code, unsigned bits) { return int(code) - (code >> (bits - 1) ? 1 << bits : 0); }

double small_number(const HostTensor& t, size_t i) {
  const unsigned code = code_at(t, i);
  switch (t.type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN:
      return decode(code, {4, 3, 7, SmallFloat::one_nan});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ:
      return decode(code, {4, 3, 8, SmallFloat::zero_nan});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2:
      return decode(code, {5, 2, 15, SmallFloat::infinities});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ:
      return decode(code, {5, 2, 16, SmallFloat::zero_nan});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0:
      return code == 255 ? NAN : std::ldexp(1, int(code) - 127);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1:
      return decode(code, {2, 1, 1, SmallFloat::finite});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2:
      return code;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4:
      return with_sign(code, 4);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2:
      return with_sign(code, 2);
    default:
      throw Failure(std::string(type_name(t.type)) + " is no type of real numbers");
  }
}

bool is_small_float(ONNXTensorElementDataType type) {
  return (type >= ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN && type <= ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ) ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0;
}

/// Normal numbers, in the memory of the tensor.
template <typename T>
void fill_normal(HostTensor& t, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  for (size_t at = 0; at + sizeof(T) <= t.bytes.size(); at += sizeof(T)) store(&t.bytes[at], T(normal(random)));
}

/// Codes at random of which none is a number above 4 or none at all.
void fill_small_floats(HostTensor& t, std::mt19937_64& random) {
  const size_t bits = type_bits(t.type);
  for (size_t i = 0, n = t.count(); i < n; ++i) {
    do {
      const size_t at = i * bits;
      const unsigned mask = ((1u << bits) - 1) << at % 8;
      t.bytes[at / 8] = std::byte((unsigned(t.bytes[at / 8]) & ~mask) | (unsigned(random()) & mask));
    } while (!(std::fabs(small_number(t, i)) <= 4));
  }
}

/// 0 and 1.
void fill_integers(HostTensor& t, std::mt19937_64& random) {
  const size_t bytes = std::max<size_t>(1, type_bytes(t.type));
  const unsigned lowest = type_bits(t.type) == 2 ? 0x55 : type_bits(t.type) == 4 ? 0x11 : 1;
  for (size_t at = 0; at < t.bytes.size(); at += bytes) t.bytes[at] = std::byte(random() & lowest);
}

}  // namespace

bool is_complex(ONNXTensorElementDataType type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128;
}

HostTensor parts(const HostTensor& tensor) {
  HostTensor t = tensor;
  t.type = t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
                                                             : ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
  t.shape.push_back(2);
  return t;
}

bool is_real(ONNXTensorElementDataType type) { return type_bits(type) != 0 && !is_complex(type); }

double number(const HostTensor& tensor, size_t i) {
  const std::byte* at = tensor.bytes.data() + i * type_bytes(tensor.type);
  switch (tensor.type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return load<float>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return load<double>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return decode(load<uint16_t>(at), {5, 10, 15, SmallFloat::infinities});
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return std::bit_cast<float>(uint32_t(load<uint16_t>(at)) << 16);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return load<int8_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
      return load<int16_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return load<int32_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return double(load<int64_t>(at));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return load<uint8_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return load<uint16_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return load<uint32_t>(at);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return double(load<uint64_t>(at));
    default:
      return small_number(tensor, i);
  }
}

void set_number(HostTensor& tensor, size_t i, double value) {
  std::byte* at = tensor.bytes.data() + i * type_bytes(tensor.type);
  const auto integer = [&]<typename T>(T) {
    using Limits = std::numeric_limits<T>;
    store(at, T(std::clamp(std::nearbyint(value), double(Limits::min()), double(Limits::max()))));
  };
  switch (tensor.type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return store(at, float(value));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return store(at, value);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return store(at, Float16(value));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return store(at, uint16_t((std::bit_cast<uint32_t>(float(value)) + 0x8000u) >> 16));
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return integer(uint8_t());
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return integer(int8_t());
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return integer(uint16_t());
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
      return integer(int16_t());
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return integer(int32_t());
    default:
      throw Failure(std::string("a picture or sound cannot become elements of type ") + type_name(tensor.type));
  }
}

HostTensor random_tensor(const PortInfo& port, const std::vector<int64_t>& shape, uint64_t seed) {
  HostTensor t;
  t.type = port.type;
  t.shape = shape.empty() ? port.shape : shape;
  for (int64_t& d : t.shape) d = d < 0 ? 1 : d;
  if (port.kind != ONNX_TYPE_TENSOR)
    throw Failure("input '" + port.name + "' is no tensor and cannot be random; give it with --input " + port.name +
                  "=FILE.pb (an ONNX SequenceProto or MapProto)");
  if (type_bits(t.type) == 0)
    throw Failure("input '" + port.name + "' of type " + type_name(t.type) +
                  " cannot be random; give it with --input " + port.name + "=FILE");
  std::mt19937_64 random(seed);
  try {
    t.bytes.resize(t.size());
  } catch (const std::exception&) {  // bad_alloc, length_error
    throw Failure("input '" + port.name + "' of shape " + dims_text(t.shape) +
                  " takes more memory than there is; give it smaller extents with --shape");
  }
  switch (t.type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64:
      fill_normal<float>(t, random);
      break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128:
      fill_normal<double>(t, random);
      break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      fill_normal<Float16>(t, random);
      break;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      fill_normal<Bfloat16>(t, random);
      break;
    default:
      is_small_float(t.type) ? fill_small_floats(t, random) : fill_integers(t, random);
  }
  return t;
}

}  // namespace retort::cli
