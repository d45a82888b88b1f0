// QuantizeLinear and DequantizeLinear with a scale for each block along an axis, and DequantizeLinear of constants of
// 4 and 8 bits that no kernel reads: they are converted to int8, uint8 or float16 when the model is loaded.
#include <array>
#include <cmath>

#include "expand.h"
#include "reductions.h"

namespace providers::cuda {
namespace {

constexpr Type kInt8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, kUint8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
               kInt16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, kUint16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
               kInt4 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, kUint4 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4,
               kE4m3 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, kE5m2 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2,
               kHalf = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;

bool is_code(Type t) { return t == kInt8 || t == kUint8 || t == kInt16 || t == kUint16; }

/// The type to which constants are converted; UNDEFINED: they stay as they are.
Type wider(Type type) {
  if (type == kInt4) return kInt8;
  if (type == kUint4) return kUint8;
  return type == kE4m3 || type == kE5m2 ? kHalf : ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

// The bits of the float16 number with the value of a number of 4 exponent and 3 mantissa bits, without infinities.
uint16_t half_of_e4m3(uint8_t v) {
  const auto sign = uint16_t((v & 0x80) << 8);
  const int exponent = v >> 3 & 15, mantissa = v & 7;
  if ((v & 0x7f) == 0x7f) return uint16_t(sign | 0x7e00);
  if (exponent) return uint16_t(sign | (exponent + 8) << 10 | mantissa << 7);
  if (!mantissa) return sign;
  int shift = 0;  // the number is mantissa * 2^-9, which is normal in float16
  while (!(mantissa << shift & 8)) ++shift;
  return uint16_t(sign | (9 - shift) << 10 | (mantissa << shift & 7) << 7);
}

std::vector<char> widened(const TensorView& v) {
  const auto* const bytes = static_cast<const uint8_t*>(v.data);
  const size_t n = v.count();
  std::vector<char> made(n * size_of(wider(v.type)));
  auto* const halves = reinterpret_cast<uint16_t*>(made.data());
  for (size_t i = 0; i < n; ++i) {
    const int nibble = bytes[i / 2] >> (i % 2 * 4) & 15;
    if (v.type == kE4m3)
      halves[i] = half_of_e4m3(bytes[i]);
    else if (v.type == kE5m2)
      halves[i] = uint16_t(bytes[i] << 8);
    else
      made[i] = char(v.type == kInt4 && nibble > 7 ? nibble - 16 : nibble);
  }
  return made;
}

class Blocked final : public Op {
 public:
  explicit Blocked(const Node& node)
      : quantize_(node.type == "QuantizeLinear"),
        axis_(node.integer("axis", 1)),
        block_(node.integer("block_size", 0)),
        to_(node.out[0]->type) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0), scale = e.in(1);
    const bool has_zero = e.has(2);
    const Operand zero = has_zero ? e.in(2) : Operand();
    const Extents extents = extents_of(e, x.dims, scale);
    if (has_zero && zero.count() != scale.count()) e.fail("there is not a zero point for each scale");
    const Operand y = e.out(0, to_, x.dims);
    if (extents.count == 0) return;
    const bool narrow = to_ == kInt8 || to_ == kUint8, is_signed = to_ == kInt8 || to_ == kInt16;
    const int high = narrow ? is_signed ? 127 : 255 : is_signed ? 32767 : 65535;
    const Defines defines{{"FROM", kernel_type(x.type)},       {"TO", kernel_type(to_)},
                          {"SCALE", kernel_type(scale.type)},  {"ZERO", has_zero ? kernel_type(zero.type) : "u8"},
                          {"QUANTIZE", quantize_ ? "1" : "0"}, {"LOWEST", text("(", is_signed ? -high - 1 : 0, ")")},
                          {"HIGHEST", std::to_string(high)}};
    e.launch(e.kernel("blocked.cu", "blocked", defines), flat_grid(y.count()),
             {x, scale, zero, y, Argument::of(extents)});
  }

 private:
  struct Extents {
    int64_t count, length, inner, block, outer_step, block_step, inner_step;
  };

  Extents extents_of(Emitter& e, const Dims& dims, const Operand& scale) const {
    Extents made{1, 1, 1, 1, 0, 0, 0};
    for (const int64_t d : dims) made.count *= d;
    made.inner = std::max<int64_t>(made.count, 1);
    if (scale.count() == 1 && block_ == 0) return made;
    const AroundAxis a = around_axis(e, axis_, dims);
    made.length = std::max<int64_t>(a.length, 1);
    made.inner = std::max<int64_t>(a.inner, 1);
    if (block_ == 0) {
      if (scale.dims != Dims{a.length}) e.fail(text("expected ", a.length, " scales"));
      made.block_step = 1;
      return made;
    }
    Dims wanted = dims;
    wanted[a.axis] = divide_up(a.length, block_);
    if (scale.dims != wanted) e.fail(text("the scale has another shape than ", shape_text(wanted)));
    made.block = block_;
    made.outer_step = wanted[a.axis] * a.inner;
    made.block_step = a.inner;
    made.inner_step = 1;
    return made;
  }

  const bool quantize_;
  const int64_t axis_, block_;
  const Type to_;
};

/// Whether elementwise kernels cannot run the node.
bool is_special(const Node& node) {
  const Type x = node.in[0]->type;
  return node.integer("block_size", 0) != 0 || (node.type == "DequantizeLinear" && (x == kInt4 || x == kUint4));
}

std::string refuses(const Node& node) {
  const Value *const x = node.input(0), *const scale = node.input(1);
  if (!scale || !over_axes::is_real(scale->type)) return "its scale is no floating-point type of up to 32 bits";
  if (node.integer("precision", 0)) return "attribute precision is set";
  if (node.type == "QuantizeLinear") {
    if (!is_code(node.out[0]->type)) return text("the output is ", name_of(node.out[0]->type), ", not of 8 or 16 bits");
    return over_axes::is_real(x->type) ? "" : text("its input is ", name_of(x->type));
  }
  if (!over_axes::is_real(node.out[0]->type)) return text("its output is ", name_of(node.out[0]->type));
  for (const Value* v : {x, node.input(2)}) {
    if (!v || is_code(v->type)) continue;
    if (wider(v->type) == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) return text("'", v->name, "' is ", name_of(v->type));
    if (!v->constant)
      return text("'", v->name, "' has elements of 4 or 8 bits that no kernel reads, and is not a constant");
  }
  return "";
}

std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<Blocked>(node);
  op->who = node.who();
  for (const Value* v : node.in) {
    const Type type = v ? wider(v->type) : ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    const bool packs = type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    op->in.push_back(packs ? builder.packed(v, "wider", type, view_of(v->constant).dims, widened) : builder.number(v));
  }
  op->out.push_back(builder.number(node.out[0]));
  return op;
}

}  // namespace

void add_blocked(Kinds& kinds) {
  for (const char* type : {"QuantizeLinear", "DequantizeLinear"}) {
    for (const char* domain : {"", "com.microsoft"}) {
      Kind& kind = kinds[{domain, type}];
      const Kind plain = kind;
      kind.refuses = [plain](const Node& node, const Claiming& claiming) {
        return is_special(node) ? refuses(node) : plain.refuses(node, claiming);
      };
      kind.make = [plain](const Node& node, Builder& builder) {
        return is_special(node) ? make(node, builder) : plain.make(node, builder);
      };
    }
  }
}

}  // namespace providers::cuda
