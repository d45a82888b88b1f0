// DequantizeLinear of constant codes of 4 bits, or in blocks. A product with such a matrix is that of MatMulNBits;
// other results are made once, while the part is compiled.
#include <algorithm>
#include <cstring>

#include "decoded.h"
#include "moves.h"
#include "products.h"

namespace providers::cuda {
namespace {

bool is_nibble(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4;
}
bool is_byte(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
}
bool is_signed(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
}
bool is_real(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
}

/// The codes of a tensor, without their sign: the least code is 0.
class Codes {
 public:
  explicit Codes(const TensorView& view) : data_(static_cast<const uint8_t*>(view.data)), type_(view.type) {}
  int operator()(int64_t i) const {
    if (type_ == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32) return reinterpret_cast<const int32_t*>(data_)[i];
    const int code = is_nibble(type_) ? data_[i / 2] >> (i % 2 * 4) & 15 : data_[i];
    return is_signed(type_) ? code ^ middle() : code;
  }
  /// What stands for 0.
  int none() const { return is_signed(type_) ? middle() : 0; }

 private:
  int middle() const { return is_nibble(type_) ? 8 : 128; }
  const uint8_t* data_;
  Type type_;
};

/// The parts of a node. A scale belongs to all, to an index of the axis, or to a block along the axis.
struct Parts {
  const Value *x, *scale, *zero;
  int64_t outer = 1, extent = 1, inner = 1, block = 0;

  explicit Parts(const Node& node) : x(node.input(0)), scale(node.input(1)), zero(node.input(2)) {
    block = node.integer("block_size", 0);
    const auto rank = int64_t(x->rank());
    int64_t axis = node.integer("axis", 1);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank) axis = 0;
    if (rank == 0) return;
    outer = product(x->dims, 0, size_t(axis));
    extent = x->dims[size_t(axis)];
    inner = product(x->dims, size_t(axis) + 1, size_t(rank));
  }
  int64_t blocks() const { return (extent + block - 1) / block; }
  int64_t scales() const { return block ? outer * blocks() * inner : scale->rank() == 0 ? 1 : extent; }
  int64_t scale_of(int64_t i) const {
    if (scale->rank() == 0 || (!block && scales() == 1)) return 0;
    const int64_t at = i / inner % extent;
    return block ? (i / (inner * extent) * blocks() + at / block) * inner + i % inner : at;
  }
};

float number_of(const TensorView& view, int64_t i) {
  if (view.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return static_cast<const float*>(view.data)[i];
  const uint16_t bits = static_cast<const uint16_t*>(view.data)[i];
  if (view.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16) return half_to_float(bits);
  const uint32_t wide = uint32_t(bits) << 16;
  float number = 0;
  std::memcpy(&number, &wide, 4);
  return number;
}

}  // namespace

std::vector<char> decoded_numbers(const Node& dequantize, const TensorView& codes) {
  const Parts p(dequantize);
  const TensorView scales = view_of(p.scale->constant);
  const Codes code(codes);
  const TensorView zero_view = p.zero ? view_of(p.zero->constant) : TensorView();
  const Codes zero(zero_view);
  const size_t size = size_of(scales.type);
  std::vector<char> numbers(codes.count() * size);
  for (int64_t i = 0; i < int64_t(codes.count()); ++i) {
    const int64_t s = p.scale_of(i);
    const float v = float(code(i) - (p.zero ? zero(s) : code.none())) * number_of(scales, s);
    const int64_t bits = bits_of(scales.type, double(v));
    std::memcpy(numbers.data() + size_t(i) * size, &bits, size);
  }
  return numbers;
}

std::string refuses_decoding(const Node& node) {
  const Parts p(node);
  if (!p.x->constant || !p.x->fixed() ||
      (!is_nibble(p.x->type) && !is_byte(p.x->type) && p.x->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32))
    return "codes are not constant";
  if (!p.scale || !p.scale->constant || !is_real(p.scale->type)) return "a scale is not a constant float";
  if (p.zero && (!p.zero->constant || p.zero->type != p.x->type)) return "zero points are not constant";
  if (node.integer("output_dtype", 0) && node.out[0]->type != p.scale->type) return "output_dtype";
  if (p.block < 0) return "block_size";
  if (int64_t(view_of(p.scale->constant).count()) != p.scales()) return text("there are not ", p.scales(), " scales");
  if (p.zero && int64_t(view_of(p.zero->constant).count()) != p.scales()) return "zero points and scales differ";
  return "";
}

namespace {

struct Decoded : Op {
  void emit(Emitter& e) const override {
    const Operand x = e.in(0);
    e.alias(0, x, x.dims);
  }
};

std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  const Parts p(node);
  auto op = std::make_unique<Decoded>();
  op->who = node.who();
  op->in = {builder.packed(p.x, "numbers of " + node.out[0]->name, p.scale->type, p.x->dims,
                           [&](const TensorView& codes) { return decoded_numbers(node, codes); })};
  op->out = {builder.number(node.out[0])};
  return op;
}

bool is_special(const Node& node) {
  return node.input(0) && (is_nibble(node.input(0)->type) || node.integer("block_size", 0) > 0);
}

// ---- products

/// A matrix [k, n] as MatMulNBits has it: rows of codes along k, their scales and zero points.
struct Matrix {
  explicit Matrix(const Parts& parts) : p(parts), k(parts.extent), n(parts.inner) {
    bits = is_nibble(p.x->type) ? 4 : 8;
  }
  std::vector<char> codes(const TensorView& view) const {
    const Codes code(view);
    std::vector<char> rows(size_t(n * k * bits / 8), 0);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < k; ++i) put(rows, j * k + i, code(i * n + j));
    return rows;
  }
  std::vector<char> zeros() const {
    const TensorView view = p.zero ? view_of(p.zero->constant) : TensorView();
    const Codes zero(view), code(view_of(p.x->constant));
    const int64_t row = (p.blocks() * bits + 7) / 8 * 8 / bits;
    std::vector<char> all(size_t(n * row * bits / 8), 0);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t b = 0; b < p.blocks(); ++b) put(all, j * row + b, p.zero ? zero(b * n + j) : code.none());
    return all;
  }
  std::vector<char> scales(const TensorView& view) const {
    const size_t size = size_of(view.type);
    std::vector<char> all(view.bytes());
    for (int64_t j = 0; j < n; ++j)
      for (int64_t b = 0; b < p.blocks(); ++b)
        std::memcpy(all.data() + size_t(j * p.blocks() + b) * size,
                    static_cast<const char*>(view.data) + size_t(b * n + j) * size, size);
    return all;
  }
  void put(std::vector<char>& to, int64_t i, int code) const {
    if (bits == 8)
      to[size_t(i)] = char(code);
    else
      to[size_t(i / 2)] = char(to[size_t(i / 2)] | code << (i % 2 * 4));
  }
  const Parts& p;
  int64_t k, n, bits;
};

bool is_product(const Node& node, const Node& codes) {
  const Value *a = node.input(0), *b = node.input(1);
  if (!node.domain.empty() || node.type != "MatMul" || b != codes.out[0] || !a || a->type != b->type || a == b)
    return false;
  const Parts p(codes);
  return a->has_rank && a->rank() > 0 && p.x->rank() == 2 && p.outer == 1 && p.block >= 16 && p.block <= 4096 &&
         (p.block & (p.block - 1)) == 0 && p.extent % p.block == 0 && p.inner > 0 && p.extent > 0;
}

}  // namespace

void fuse_blocked_codes(Fusing& f) {
  for (const Node* node : f.nodes()) {
    if (node->type != "DequantizeLinear" || f.taken(node) || !is_special(*node) || !refuses_decoding(*node).empty())
      continue;
    const Node* reader = f.only_reader(node->out[0]);
    if (!reader || f.taken(reader) || !is_product(*reader, *node)) continue;
    const Parts p(*node);
    const Matrix m(p);
    Builder& builder = f.builder();
    auto op = nbits_op(m.k, {m.n}, m.bits, p.block, builder.setting("use_tf32"));
    op->who = reader->who();
    const std::string form = " of columns of " + node->out[0]->name;
    const auto bytes = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    const std::vector<char> zeros = m.zeros();
    op->in = {builder.number(reader->in[0]),
              builder.packed(p.x, "codes" + form, bytes, {m.n, p.blocks(), p.block * m.bits / 8},
                             [&](const TensorView& v) { return m.codes(v); }),
              builder.packed(p.scale, "scales" + form, p.scale->type, {m.n, p.blocks()},
                             [&](const TensorView& v) { return m.scales(v); }),
              builder.made(node->who() + ": zero points", bytes, {m.n, int64_t(zeros.size()) / m.n}, zeros)};
    op->out = {builder.number(reader->out[0])};
    f.unite({node, reader}, std::move(op));
  }
}

void add_blocked_codes(Kinds& kinds) {
  for (const char* domain : {"", "com.microsoft"}) {
    Kind& kind = kinds[{domain, "DequantizeLinear"}];
    const Kind other = kind;
    kind.refuses = [other](const Node& node, const Claiming& claiming) {
      return is_special(node) && refuses_decoding(node).empty() ? "" : other.refuses(node, claiming);
    };
    kind.make = [other](const Node& node, Builder& builder) {
      return is_special(node) && refuses_decoding(node).empty() ? make(node, builder) : other.make(node, builder);
    };
  }
}

}  // namespace providers::cuda
