#include "ops/math/cast.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "kernels/elementwise/cast.h"
#include "ops/math/common/small_float.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

constexpr size_t kBlock = 256;  // elements converted at a time through a buffer on the stack

bool is_packed_int(DType t) { return is_packed(t) && t != DType::f4e2m1; }

// Returns the sign-extended element of a packed integer type.
int32_t load_packed_int(DType t, const uint8_t* data, size_t i) {
  const size_t bits = dtype_bits(t);
  const int32_t raw = get_packed(data, i, bits);
  const bool is_signed = t == DType::i4 || t == DType::i2;
  return is_signed && raw >> (bits - 1) ? raw - (1 << bits) : raw;
}

uint8_t code_at(DType t, const uint8_t* data, size_t i) {
  return is_packed(t) ? get_packed(data, i, dtype_bits(t)) : data[i];
}
void set_code(DType t, uint8_t* data, size_t i, uint8_t code) {
  if (is_packed(t))
    set_packed(data, i, dtype_bits(t), code);
  else
    data[i] = code;
}

// A type that kernels::cast supports and that represents every number of `t`.
DType moved_type(DType t) {
  if (is_packed_int(t)) return DType::i32;
  return is_small_float(t) ? DType::f32 : t;
}

const void* address(DType t, const void* data, size_t i) {
  return static_cast<const char*>(data) + i * dtype_bits(t) / 8;
}

// Converts elements [begin, begin + n) between types of which at least one has less than 8 bits or is a small float.
void cast_block(DType from, const void* x, DType to, void* y, size_t begin, size_t n, const CastBase& op) {
  alignas(16) int32_t loaded[kBlock];
  alignas(16) int32_t converted[kBlock];
  const auto* codes = static_cast<const uint8_t*>(x);
  const void* source = address(from, x, begin);
  if (moved_type(from) != from) {
    const float* const numbers = is_packed_int(from) ? nullptr : small_float_numbers(from);
    for (size_t i = 0; i < n; ++i) {
      loaded[i] = numbers ? std::bit_cast<int32_t>(numbers[code_at(from, codes, begin + i)])
                          : load_packed_int(from, codes, begin + i);
    }
    source = loaded;
  }
  const bool direct = moved_type(to) == to;
  void* target = direct ? const_cast<void*>(address(to, y, begin)) : converted;
  kernels::cast(source, moved_type(from), target, moved_type(to), n, {});
  if (direct) return;
  const ScaleRounding rounding = op.round_mode == "down"      ? ScaleRounding::down
                                 : op.round_mode == "nearest" ? ScaleRounding::nearest
                                                              : ScaleRounding::up;
  uint8_t encoded[kBlock];
  if (!is_packed_int(to))
    encode_small_floats(to, reinterpret_cast<const float*>(converted), n, op.saturate, rounding, encoded);
  for (size_t i = 0; i < n; ++i)
    set_code(to, static_cast<uint8_t*>(y), begin + i, is_packed_int(to) ? uint8_t(converted[i]) : encoded[i]);
}

std::string float_text(double v, int digits) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v < 0 ? "-INF" : "INF";
  return digits < 10 ? cat("{:.8g}", v) : cat("{:.17g}", v);
}

bool equal_ignoring_case(std::string_view a, std::string_view upper) {
  return std::equal(a.begin(), a.end(), upper.begin(), upper.end(),
                    [](char x, char y) { return (x >= 'a' && x <= 'z' ? char(x - 'a' + 'A') : x) == y; });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

double parse_number(std::string_view given) {
  std::string_view text = trimmed(given);
  const bool plus = !text.empty() && text[0] == '+';
  if (plus) text.remove_prefix(1);
  if (equal_ignoring_case(text, "INF")) return std::numeric_limits<double>::infinity();
  if (equal_ignoring_case(text, "-INF") && !plus) return -std::numeric_limits<double>::infinity();
  if (equal_ignoring_case(text, "NAN")) return std::numeric_limits<double>::quiet_NaN();
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error == std::errc::result_out_of_range && end == text.data() + text.size()) {
    if (text.find("e-") != text.npos || text.find("E-") != text.npos) return 0;
    return text[0] == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  if (error != std::errc{} || end != text.data() + text.size() || (plus && text[0] == '-'))
    fail(ErrorCode::invalid_argument, "cannot read a number from '{}'", given.substr(0, 64));
  return v;
}

// Whole numbers beyond 2^53 must not be converted through double.
template <typename Int>
Int parse_integer(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  Int v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (end == text.data() + text.size()) {
    if (error == std::errc{}) return v;
    require(error != std::errc::result_out_of_range, ErrorCode::invalid_argument, "'{}' is out of range for {}",
            text.substr(0, 64), dtype_name(dtype_of<Int>));
  }
  Int converted;
  const double number = parse_number(text);
  kernels::cast(&number, DType::f64, &converted, dtype_of<Int>, 1, {});
  return converted;
}

void cast_from_strings(const std::string* x, DType to, void* y, size_t n, const CastBase& op) {
  for (size_t i = 0; i < n; ++i) {
    if (to == DType::i64) {
      static_cast<int64_t*>(y)[i] = parse_integer<int64_t>(x[i]);
    } else if (to == DType::u64) {
      static_cast<uint64_t*>(y)[i] = parse_integer<uint64_t>(x[i]);
    } else {
      const double v = parse_number(x[i]);
      const float narrow = float(v);
      if (kernels::can_cast(to)) {
        kernels::cast(&v, DType::f64, const_cast<void*>(address(to, y, i)), to, 1, {});
      } else {
        // One element at a time, so that packed neighbours are not changed.
        uint8_t code[1] = {};
        cast_block(DType::f32, &narrow, to, code, 0, 1, op);
        set_code(to, static_cast<uint8_t*>(y), i, is_packed(to) ? get_packed(code, 0, dtype_bits(to)) : code[0]);
      }
    }
  }
}

std::string text_of(DType from, const void* x, size_t i) {
  if (from == DType::i64) return std::to_string(static_cast<const int64_t*>(x)[i]);
  if (from == DType::u64) return std::to_string(static_cast<const uint64_t*>(x)[i]);
  if (from == DType::boolean) return static_cast<const bool*>(x)[i] ? "1" : "0";
  double v = 0;
  if (kernels::can_cast(from))
    kernels::cast(address(from, x, i), from, &v, DType::f64, 1, {});
  else if (is_packed_int(from))
    v = load_packed_int(from, static_cast<const uint8_t*>(x), i);
  else
    v = decode_small_float(from, code_at(from, static_cast<const uint8_t*>(x), i));
  if (is_float(from) || is_small_float(from)) return float_text(v, from == DType::f64 ? 17 : 8);
  return std::to_string(int64_t(v));
}

constexpr float kMostWhole = 1 << 24;  // float32 holds every whole number up to this one

/// The only element of a float32 input if it lies in memory and is whole: exporters write the step of a Range as 1.0
/// and cast it. Nothing for any other input.
std::optional<Dim> whole_number(const InferContext& c) {
  const auto x = c.try_floats(0);
  if (!x || x->size() != 1) return std::nullopt;
  const float v = (*x)[0];
  if (!(std::abs(v) <= kMostWhole) || v != std::trunc(v)) return std::nullopt;
  return Dim(v);
}

bool castable(DType t) { return kernels::can_cast(t) || is_packed(t) || is_small_float(t) || t == DType::string; }

}  // namespace

void CastBase::check() const {
  require(round_mode == "up" || round_mode == "down" || round_mode == "nearest", ErrorCode::invalid_argument,
          "round_mode '{}' is not one of up, down, nearest", round_mode);
}

void CastBase::infer_to(InferContext& c, DType to) {
  c.set(0, to);
  c.set(0, to, c.shape(0));
  const auto x = c.try_value(0);
  if (!x) {
    const std::optional<Dim> whole = whole_number(c);
    if (whole) c.set_value(0, std::array{to == DType::boolean ? Dim(*whole != 0) : *whole});
    return;
  }
  const auto room = c.new_value(0, x->size());
  for (size_t i = 0; room && i < x->size(); ++i) {
    const Dim d = (*x)[i];
    if (is_symbolic(d) && to == DType::boolean) return c.drop_value(0);
    (*room)[i] = is_symbolic(d) || to == DType::i64 ? d : to == DType::i32 ? Dim(int32_t(d)) : Dim(d != 0);
  }
}

void CastBase::run(RunContext& c) const {
  const DType from = c.dtype(0), to = c.out_dtype();
  const void* x = c.data(0);
  void* y = c.out_data();
  const size_t n = c.count(0);
  require(castable(from) && castable(to), ErrorCode::not_implemented, "there is no conversion from {} to {}",
          dtype_name(from), dtype_name(to));
  // The unused bits after the last element.
  if (is_packed(to) && n > 0) static_cast<uint8_t*>(y)[dtype_bytes(to, n) - 1] = 0;
  if (from == to) {
    copy(from, x, y, n);
  } else if (kernels::can_cast(from) && kernels::can_cast(to)) {
    kernels::cast(x, from, y, to, n, c.parallel());
  } else if (from == DType::string) {
    cast_from_strings(static_cast<const std::string*>(x), to, y, n, *this);
  } else if (to == DType::string) {
    for (size_t i = 0; i < n; ++i) static_cast<std::string*>(y)[i] = text_of(from, x, i);
  } else {
    for (size_t i = 0; i < n; i += kBlock) cast_block(from, x, to, y, i, std::min(kBlock, n - i), *this);
  }
}

}  // namespace retort::ops
