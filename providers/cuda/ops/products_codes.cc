// Products of 8-bit codes: MatMulInteger, QLinearMatMul, and those of com.microsoft with scales.
#include <algorithm>

#include "products.h"

namespace providers::cuda {
namespace {

constexpr size_t kMostInputs = 9;
constexpr int64_t kMostRowsAtOnce = 65535;  // blocks along the second axis of a grid

// The structs of kernels/codes.cu.
struct Lines {
  int64_t rows, k, padded, row_step, column_step, matrix_rows, matrix_step;
  int32_t flip;
};
struct Results {
  int64_t rows, columns, padded, k;
  int64_t matrix_rows;
  int64_t a_zeros, b_zeros, a_scales, b_scales, column_sums;
  int64_t c_row, c_column;
  float alpha;
};

bool is_code(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
}
int32_t flip_of(Type type) { return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 ? 128 : 0; }
int64_t rounded(int64_t v, int64_t to) { return (v + to - 1) / to * to; }

// Codes in rows of a padded length, and the sum of each row.
struct PackedCodes {
  Operand codes, sums;
};

struct CodesOp : public Op {
  // Indices of inputs; -1: none.
  int a = 0, b = 1, a_zero = -1, b_zero = -1, a_scale = -1, b_scale = -1, bias = -1, c = -1, y_scale = -1, y_zero = -1;
  bool transposed_a = false, transposed_b = false, dynamic = false, plain_matrices = false;
  float alpha = 1;
  Type b_type = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
  Dims b_dims;                              // of a constant B
  int packed_codes = -1, packed_sums = -1;  // inputs that hold a constant B

  void emit(Emitter& e) const override;

 private:
  struct Shape {
    Side left, right;
    int64_t batch = 1;
    bool one_b = true;  // all matrices of A are multiplied by one B
    Dims dims;
  };
  Shape shape_of(Emitter& e) const;
  bool given(Emitter& e, int i) const { return i >= 0 && e.has(size_t(i)); }
  Operand optional(Emitter& e, int i) const { return given(e, i) ? e.in(size_t(i)) : Operand(); }
  PackedCodes packed(Emitter& e, const Operand& from, const Lines& lines) const;
  PackedCodes packed_b(Emitter& e, const Shape& s, int64_t k_padded, int64_t n_padded) const;
  // What DynamicQuantizeMatMul makes of A.
  struct Dynamic {
    Operand codes, scale, zero;
  };
  Dynamic quantized(Emitter& e) const;
  Type scale_type(Emitter& e) const {
    return a_scale >= 0 ? e.look(size_t(a_scale)).type : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }
  Type out_type(Emitter& e) const {
    if (given(e, y_scale)) return given(e, y_zero) ? e.look(size_t(y_zero)).type : ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    return has_scales() ? scale_type(e) : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
  }
  bool has_scales() const { return a_scale >= 0 || dynamic; }
  void emit_products(Emitter& e, const Shape& s, const Dynamic& a_codes) const;
};

CodesOp::Shape CodesOp::shape_of(Emitter& e) const {
  Dims x = e.look(size_t(a)).dims, w = packed_codes >= 0 ? b_dims : e.look(size_t(b)).dims;
  if (x.empty() || w.empty()) e.fail("a scalar is not a matrix; both operands need one axis at least");
  if (plain_matrices && (x.size() != 2 || w.size() != 2)) e.fail("A and B must have two axes");
  const bool row = x.size() == 1, column = w.size() == 1;
  if (row) x.insert(x.begin(), 1);
  if (column) w.push_back(1);
  Shape s{side_of(x, transposed_a, false), side_of(w, transposed_b, false), 1, true, {}};
  if (s.left.columns != s.right.rows)
    e.fail(text("A has ", s.left.columns, " columns, B has ", s.right.rows, " rows; both must be equal"));
  int64_t matrices = 1, weights = 1;
  for (const int64_t extent : s.left.batch) matrices *= extent;
  for (const int64_t extent : s.right.batch) weights *= extent;
  s.one_b = weights == 1;
  if (!s.one_b && s.left.batch != s.right.batch)
    e.fail("the leading axes of A and B differ; B must be one matrix, or both must have the same leading axes");
  s.batch = matrices;
  s.dims = s.left.batch;
  if (s.one_b && s.right.batch.size() > s.dims.size())
    s.dims.insert(s.dims.begin(), s.right.batch.size() - s.dims.size(), 1);
  if (!row) s.dims.push_back(s.left.rows);
  if (!column) s.dims.push_back(s.right.columns);
  return s;
}

PackedCodes CodesOp::packed(Emitter& e, const Operand& from, const Lines& lines) const {
  PackedCodes made{e.scratch(size_t(lines.rows * lines.padded)), e.scratch(size_t(lines.rows) * 4)};
  const Kernel kernel = e.kernel("codes.cu", "codes_pack", {{"PACK", "1"}});
  e.launch(kernel, {{unsigned((lines.rows + 7) / 8)}, {256}}, {from, made.codes, made.sums, Argument::of(lines)});
  return made;
}

// B as rows of codes along k, padded to a multiple of 16 columns. Results never include the padding, which is not set.
PackedCodes CodesOp::packed_b(Emitter& e, const Shape& s, int64_t k_padded, int64_t n_padded) const {
  if (packed_codes >= 0) return {e.in(size_t(packed_codes)), e.in(size_t(packed_sums))};
  const int64_t matrices = s.one_b ? 1 : s.batch, n = s.right.columns, k = s.right.rows;
  PackedCodes all{e.scratch(size_t(matrices * n_padded * k_padded)), e.scratch(size_t(matrices * n) * 4)};
  const Kernel kernel = e.kernel("codes.cu", "codes_pack", {{"PACK", "1"}});
  const Operand from = e.in(size_t(b));
  for (int64_t i = 0; i < matrices; ++i) {
    const Lines lines{n, k, k_padded, s.right.column_step, s.right.row_step, n, 0, flip_of(b_type)};
    Operand matrix = from, codes = all.codes, sums = all.sums;
    matrix.offset += size_t(i * n * k);
    codes.offset += size_t(i * n_padded * k_padded);
    sums.offset += size_t(i * n) * 4;
    e.launch(kernel, {{unsigned((n + 7) / 8)}, {256}}, {matrix, codes, sums, Argument::of(lines)});
  }
  return all;
}

CodesOp::Dynamic CodesOp::quantized(Emitter& e) const {
  const Operand x = e.in(size_t(a));
  Dynamic made{e.scratch(x.count()), e.scratch(4), e.scratch(1)};
  made.codes.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
  emit_dynamic_codes(e, x, made.codes, made.scale, made.zero);
  return made;
}

void CodesOp::emit(Emitter& e) const {
  const Shape s = shape_of(e);
  int64_t count = 1;
  for (const int64_t extent : s.dims) count *= extent;
  if (count == 0) {
    e.out(0, out_type(e), s.dims);
    return;
  }
  const Operand plain = dynamic ? Operand() : e.in(size_t(a));
  emit_products(e, s, dynamic ? quantized(e) : Dynamic{plain, optional(e, a_scale), optional(e, a_zero)});
}

void CodesOp::emit_products(Emitter& e, const Shape& s, const Dynamic& a_codes) const {
  const int64_t m = s.left.rows, n = s.right.columns, k = s.left.columns, rows = m * s.batch;
  const int64_t k_padded = rounded(std::max<int64_t>(k, 1), 16), n_padded = rounded(n, 16);
  const Type a_type = dynamic ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 : a_codes.codes.type;
  const PackedCodes left =
      packed(e, a_codes.codes, {rows, k, k_padded, s.left.row_step, s.left.column_step, m, m * k, flip_of(a_type)});
  const PackedCodes right = packed_b(e, s, k_padded, n_padded);
  const Operand b_zeros = optional(e, b_zero), b_scales = optional(e, b_scale), added = optional(e, c);
  const Operand y_scales = optional(e, y_scale), y_zeros = optional(e, y_zero);
  const auto counted = [](const Operand& o) { return o.buffer < 0 ? int64_t(0) : int64_t(o.count()); };
  Results r{rows, n, n_padded, k, s.one_b ? rows : m, 0, counted(b_zeros), 0, counted(b_scales), 0, 0, 0, alpha};
  r.a_zeros = dynamic ? 1 : counted(a_codes.zero);
  r.a_scales = dynamic ? 1 : counted(a_codes.scale);
  r.column_sums = s.one_b ? n : n * s.batch;
  if (added.buffer >= 0) {
    const Dims& d = added.dims;
    r.c_column = !d.empty() && d.back() > 1 ? 1 : 0;
    r.c_row = d.size() > 1 && d[d.size() - 2] > 1 ? d.back() : 0;
  }
  const Type out = out_type(e);
  const Operand y = e.out(0, out, s.dims);
  Defines defines{{"FINISH", "1"},
                  {"A_CODE", kernel_type(a_type)},
                  {"B_CODE", kernel_type(b_type)},
                  {"OUT", kernel_type(out)},
                  {"SCALE", kernel_type(scale_type(e))},
                  {"MODE", !has_scales()       ? "0"
                           : given(e, y_scale) ? "2"
                                               : "1"}};
  std::vector<Argument> arguments{
      y,        left.sums,         right.sums, added,   a_codes.zero,   b_zeros, a_codes.scale,
      b_scales, optional(e, bias), y_scales,   y_zeros, Argument::of(r)};
  if (rows <= kFewRows && s.one_b) {
    defines["ROWS"] = std::to_string(rows <= 2 ? rows : rows <= 4 ? 4 : 8);
    const std::vector<Argument> first{left.codes, right.codes, k_padded};
    arguments.insert(arguments.begin(), first.begin(), first.end());
    return e.launch(e.kernel("codes.cu", "codes_few", defines), {{unsigned((n + 7) / 8)}, {256}}, arguments);
  }
  Product p;
  p.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
  p.out = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
  p.m = s.one_b ? rows : m;
  p.n = n_padded;
  p.k = k_padded;
  p.transposed_b = true;
  if (!s.one_b) {
    p.batch = s.batch;
    p.stride.a = m * k_padded;
    p.stride.b = n_padded * k_padded;
    p.stride.d = m * n_padded;
  }
  const auto plan = e.device().products().plan(p);
  if (!plan) e.fail("cuBLASLt has no algorithm for this product of 8-bit integers");
  const Operand sums = e.scratch(size_t(rows * n_padded) * 4);
  const Operand workspace = plan->workspace ? e.scratch(plan->workspace) : Operand();
  std::vector<Operand> uses{left.codes, right.codes, sums};
  if (plan->workspace) uses.push_back(workspace);
  e.call(uses, [=, x = left.codes, w = right.codes](const Run& run) {
    run.device.products().submit(*plan, run.stream, {run(x), run(w), 0, run(sums), 0, run(workspace)});
  });
  arguments.insert(arguments.begin(), sums);
  const Grid grid{{unsigned((n + 255) / 256), unsigned(std::min<int64_t>(rows, kMostRowsAtOnce))}, {256}};
  e.launch(e.kernel("codes.cu", "codes_finish", defines), grid, arguments);
}

// ---- making of operators

// A constant B of two axes as rows of codes along k, with `n_padded` rows, and the sum of each.
std::vector<char> packed_rows(const TensorView& view, bool transposed, bool sums) {
  const int64_t k = view.dims[transposed ? 1 : 0], n = view.dims[transposed ? 0 : 1];
  const int64_t k_padded = rounded(k, 16);
  const auto flip = uint8_t(flip_of(view.type));
  const auto* from = static_cast<const uint8_t*>(view.data);
  std::vector<char> codes(sums ? 0 : size_t(rounded(n, 16) * k_padded), 0);
  std::vector<int32_t> totals(sums ? size_t(n) : 0, 0);
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const auto code = char(from[transposed ? j * k + i : i * n + j] ^ flip);
      if (sums)
        totals[size_t(j)] += static_cast<signed char>(code);
      else
        codes[size_t(j * k_padded + i)] = code;
    }
  if (!sums) return codes;
  const auto* bytes = reinterpret_cast<const char*>(totals.data());
  return {bytes, bytes + totals.size() * 4};
}

void pack_constant(CodesOp& op, const Node& node, Builder& builder) {
  const Value* b = node.input(size_t(op.b));
  op.b_type = b->type;
  if (!b->constant) return;
  const TensorView view = view_of(b->constant);
  if (view.dims.size() != 2 || view.dims[0] < 1 || view.dims[1] < 1) return;
  const bool transposed = op.transposed_b;
  const int64_t k = view.dims[transposed ? 1 : 0], n = view.dims[transposed ? 0 : 1];
  const std::string form = transposed ? "codes of rows" : "codes of columns";
  op.b_dims = view.dims;
  const int codes = builder.packed(b, form, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, {rounded(n, 16), rounded(k, 16)},
                                   [=](const TensorView& v) { return packed_rows(v, transposed, false); });
  const int sums = builder.packed(b, form + ", sums", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, {n},
                                  [=](const TensorView& v) { return packed_rows(v, transposed, true); });
  op.in[size_t(op.b)] = codes;
  op.packed_codes = op.b;
  op.in.resize(std::max(op.in.size(), kMostInputs), -1);  // behind those that a node may have
  op.packed_sums = int(op.in.size());
  op.in.push_back(sums);
}

// Indices of inputs and attributes of each type of node.
void describe(CodesOp& op, const Node& node) {
  if (node.type == "MatMulInteger") {
    op.a_zero = 2;
    op.b_zero = 3;
  } else if (node.type == "MatMulIntegerToFloat") {
    op.a_scale = 2;
    op.b_scale = 3;
    op.a_zero = 4;
    op.b_zero = 5;
    op.bias = 6;
  } else if (node.type == "DynamicQuantizeMatMul") {
    op.dynamic = true;
    op.b_scale = 2;
    op.b_zero = 3;
    op.bias = 4;
  } else {  // QLinearMatMul, QGemm
    op.a_scale = 1;
    op.a_zero = 2;
    op.b = 3;
    op.b_scale = 4;
    op.b_zero = 5;
    const bool gemm = node.type == "QGemm";
    op.c = gemm ? 6 : -1;
    op.y_scale = gemm ? 7 : 6;
    op.y_zero = gemm ? 8 : 7;
    op.alpha = gemm ? node.number("alpha", 1) : 1;
    op.transposed_a = gemm && node.integer("transA", 0) != 0;
    op.transposed_b = gemm && node.integer("transB", 0) != 0;
    op.plain_matrices = gemm;
  }
}

std::unique_ptr<CodesOp> made_codes(const Node& node, Builder& builder) {
  auto op = std::make_unique<CodesOp>();
  describe(*op, node);
  op->who = node.who();
  // A packed B replaces the constant, which then needs no memory of its own.
  const Value* b = node.input(size_t(op->b));
  const bool packs = b->constant && b->rank() == 2 && b->fixed() && b->dims[0] > 0 && b->dims[1] > 0;
  for (const Value* v : node.in) op->in.push_back(packs && v == b ? -1 : builder.number(v));
  for (const Value* v : node.out) op->out.push_back(builder.number(v));
  op->b_type = b->type;
  if (packs) pack_constant(*op, node, builder);
  return op;
}

std::unique_ptr<Op> make_codes(const Node& node, Builder& builder) { return made_codes(node, builder); }

std::string refuses_codes(const Node& node, const Claiming&) {
  CodesOp op;
  describe(op, node);
  const Value *a = node.input(0), *b = node.input(size_t(op.b));
  if (!a || !b || !is_code(b->type)) return "B has no codes of 8 bits";
  if (op.dynamic ? a->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : !is_code(a->type))
    return text("A of type ", name_of(a->type));
  if (op.a_scale >= 0) {
    const Value *x = node.input(size_t(op.a_scale)), *y = node.input(size_t(op.b_scale));
    if (!x || !y || x->type != y->type) return "scales of different types";
    if (x->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && x->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16)
      return text("scales of type ", name_of(x->type));
  }
  const Value* zero = op.y_zero >= 0 ? node.input(size_t(op.y_zero)) : nullptr;
  if (zero && !is_code(zero->type)) return text("a result of type ", name_of(zero->type));
  if (a == b) return "both operands are one value";
  if (!a->has_rank || !b->has_rank) return "operands of unknown rank";
  Dims left = a->dims, right = b->dims;
  if (right.size() > 2) {
    left.resize(left.size() > 2 ? left.size() - 2 : 0);
    right.resize(right.size() - 2);
    const bool one = std::all_of(right.begin(), right.end(), [](int64_t d) { return d == 1; });
    const bool unknown = std::count(left.begin(), left.end(), -1) || std::count(right.begin(), right.end(), -1);
    if (!one && (left != right || unknown)) return "leading axes of B that are not those of A";
  }
  return "";
}

}  // namespace

std::unique_ptr<Op> scaled_codes_op(const Node& node, Builder& builder, const ScaledCodes& scaled) {
  auto op = made_codes(node, builder);
  op->in.resize(std::max(op->in.size(), kMostInputs), -1);
  op->a_scale = 4;
  op->b_scale = 5;
  op->in[4] = builder.number(scaled.a_scale);
  op->in[5] = builder.number(scaled.b_scale);
  if (scaled.bias) {
    op->bias = 6;
    op->in[6] = builder.number(scaled.bias);
  }
  op->out = {builder.number(scaled.out)};
  return op;
}

void add_code_products(Kinds& kinds) {
  kinds[{"", "MatMulInteger"}] = {refuses_codes, make_codes};
  kinds[{"", "QLinearMatMul"}] = {refuses_codes, make_codes};
  for (const char* type : {"MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QGemm"})
    kinds[{"com.microsoft", type}] = {refuses_codes, make_codes};
}

}  // namespace providers::cuda
