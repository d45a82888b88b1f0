// MatMulNBits and GatherBlockQuantized of com.microsoft: weights in codes of 2, 4 or 8 bits.
#include <algorithm>

#include "products.h"

namespace providers::cuda {
namespace {

// Up to as many rows, groups of eight of them read the codes again; beyond, the codes become elements first.
constexpr int64_t kMostFewRows = 16;
// The same for tensor cores, which read the codes once for up to 32 rows, or 16 of float32. Products of float32 with
// elements cost more.
constexpr int64_t kMostCoreRows = 64, kMostCoreRowsOfFloat = 96;
constexpr int64_t kUnit = 16;  // codes that a thread decodes together

// The structs of kernels/products.cuh, nbits.cu and nbits_gather.cu.
struct Few {
  int64_t m, n, k;
  int64_t lead_x, lead_w, lead_c, lead_y;
  int64_t stride_x, stride_w, stride_c, stride_y, stride_bias;
  float alpha, beta, a, b;
};
struct Codes {
  int64_t n, k, blocks;
};
struct GatherCodes {
  int64_t count, rows, inner, line, blocks, block;
};

bool is_real(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
}
bool is_power_of_two(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

struct NBitsOp : public Op {
  enum Input : size_t { kA, kB, kScales, kZeros, kGroups, kBias };
  int64_t k = 0, n = 0, bits = 4, block = 32;
  bool tf32 = false;
  NBitsForm form;

  int64_t blocks() const { return (k + block - 1) / block; }

  void emit(Emitter& e) const override {
    const Operand a = e.in(kA), codes = e.in(kB), scales = e.in(kScales);
    if (a.dims.empty() || a.dims.back() != k)
      e.fail(text("A has shape ", shape_text(a.dims), ", expected ", k, " as its last extent"));
    Dims dims = a.dims;
    dims.back() = n;
    const Operand y = e.out(0, a.type, dims);
    if (y.count() == 0) return;
    check(e, codes, scales);
    const int64_t m = int64_t(y.count()) / n;
    const int64_t most = a.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT ? kMostCoreRowsOfFloat : kMostCoreRows;
    const bool cores = form.kind == NBitsForm::any ? m <= most : form.kind == NBitsForm::cores;
    const bool few = form.kind == NBitsForm::any ? m <= kMostFewRows : form.kind == NBitsForm::few;
    if (cores && cores_can(e, a)) return emit_cores(e, m, y);
    if (few) return emit_few(e, m, y);
    emit_many(e, m, y);
  }

 private:
  void check(Emitter& e, const Operand& codes, const Operand& scales) const {
    if (int64_t(codes.count()) != n * blocks() * (block * bits / 8))
      e.fail(
          text("B has shape ", shape_text(codes.dims), ", expected ", shape_text(Dims{n, blocks(), block * bits / 8})));
    if (int64_t(scales.count()) != n * blocks())
      e.fail(text("scales have shape ", shape_text(scales.dims), ", expected ", shape_text(Dims{n, blocks()})));
    if (!e.has(kZeros)) return;
    const Operand& zeros = e.look(kZeros);
    const int64_t wanted = zeros.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 ? (blocks() * bits + 7) / 8 : blocks();
    if (int64_t(zeros.count()) != n * wanted)
      e.fail(text("zero_points have shape ", shape_text(zeros.dims), ", expected ", shape_text(Dims{n, wanted})));
  }

  Operand optional(Emitter& e, size_t i) const { return e.has(i) ? e.in(i) : Operand(); }

  Defines defines(Emitter& e) const {
    const bool zeros = e.has(kZeros);
    const bool codes = zeros && e.look(kZeros).type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    return {{"ELEMENT", kernel_type(e.look(kA).type)},
            {"BITS", std::to_string(bits)},
            {"BLOCK", std::to_string(block)},
            {"ZEROS", !zeros  ? "0"
                      : codes ? "1"
                              : "2"}};
  }

  // Whether kernels/nbits_cores.cu can read rows of A and of codes.
  bool cores_can(Emitter& e, const Operand& a) const {
    const int needs = a.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ? 75 : 80;
    return e.device().architecture() >= needs && a.offset % 16 == 0 && k * int64_t(size_of(a.type)) % 16 == 0 &&
           k % (32 / bits) == 0 && blocks() * block * bits / 8 % 16 == 0;
  }

  void emit_cores(Emitter& e, int64_t m, const Operand& y) const {
    // More does not fit in registers.
    const int64_t most = y.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT ? 4 : bits == 2 ? 1 : 2;
    const int64_t rows = std::min<int64_t>(most, m <= 8 ? 1 : m <= 16 ? 2 : 4);
    const int64_t tiles = form.tiles ? form.tiles : 1, steps = (k * bits / 8 + 63) / 64;
    const int64_t columns = 16 * tiles, wanted = int64_t(e.device().multiprocessors()) * 16;
    // Warps that share columns read more of x in all, but more of them are at work.
    int64_t split = m <= 8 ? 8 : 4;
    while (split < 8 && n / columns * split < wanted) split *= 2;
    if (form.split) split = form.split;
    while (split > 1 && split > steps) split /= 2;
    Defines all = defines(e);
    all.insert({{"ROWS", std::to_string(rows)}, {"TILES", std::to_string(tiles)}, {"SPLIT", std::to_string(split)}});
    const Few few{m, n, k, k, 0, n, n, 0, 0, 0, 0, 0, 1, 0, 0, 0};
    const int64_t each = columns * (8 / split), row_groups = (m + 8 * rows - 1) / (8 * rows);
    e.launch(product_kernel(e, "nbits_cores.cu", "nbits_cores", all, {}),
             {{unsigned((n + each - 1) / each), unsigned(row_groups)}, {256}},
             {e.in(kA), e.in(kB), e.in(kScales), optional(e, kZeros), optional(e, kBias), y, Argument::of(few),
              Argument::of(Codes{n, k, blocks()})});
  }

  void emit_few(Emitter& e, int64_t m, const Operand& y) const {
    // More sums of a thread do not fit in registers.
    const auto [columns, split] =
        warps_for(n, k, 32 * kUnit, int64_t(e.device().multiprocessors()) * 24, m <= 2 ? 4 : 2);
    for (int64_t row = 0; row < m; row += 8) {
      const int64_t rows = std::min<int64_t>(8, m - row), held = rows <= 2 ? rows : rows <= 4 ? 4 : 8;
      Defines all = defines(e);
      all.insert({{"GEMV", "1"},
                  {"ROWS", std::to_string(held)},
                  {"COLUMNS", std::to_string(columns)},
                  {"SPLIT", std::to_string(split)}});
      const Kernel kernel = product_kernel(e, "nbits.cu", "nbits_gemv", all, {});
      Operand a = e.in(kA), to = y;
      a.offset += size_t(row * k) * size_of(a.type);
      to.offset += size_t(row * n) * size_of(y.type);
      const Few few{rows, n, k, k, 0, n, n, 0, 0, 0, 0, 0, 1, 0, 0, 0};
      const int64_t each = columns * (8 / split);
      e.launch(kernel, {{unsigned((n + each - 1) / each)}, {256}},
               {a, e.in(kB), e.in(kScales), optional(e, kZeros), optional(e, kBias), to, Argument::of(few),
                Argument::of(Codes{n, k, blocks()})});
    }
  }

  void emit_many(Emitter& e, int64_t m, const Operand& y) const {
    Operand weights = e.scratch(size_t(n * k) * size_of(y.type));
    weights.type = y.type;
    weights.dims = {n, k};
    const Kernel kernel = product_kernel(e, "nbits.cu", "nbits_decode", defines(e), {});
    e.launch(kernel, flat_grid(size_t(n * ((k + kUnit - 1) / kUnit))),
             {e.in(kB), e.in(kScales), optional(e, kZeros), weights, Argument::of(Codes{n, k, blocks()})});
    const auto set = product_set(side_of({m, k}, false, false), side_of({n, k}, true, false), {});
    ProductSet typed = *set;
    typed.product.tf32 = tf32;
    Ending ending;
    if (e.has(kBias)) ending.bias = e.in(kBias);
    emit_products(e, typed, e.in(kA), weights, y, ending);
  }
};

std::string refuses_nbits(const Node& node, const Claiming&) {
  const Value* a = node.input(0);
  const int64_t bits = node.integer("bits", 4), block = node.integer("block_size", 0);
  if (!a || !is_real(a->type)) return text("A of type ", a ? name_of(a->type) : "nothing");
  if (bits != 2 && bits != 4 && bits != 8) return text("bits is ", bits);
  if (block < 16 || block > 4096 || !is_power_of_two(block)) return text("block_size is ", block);
  if (node.input(4)) return "it has g_idx";
  if (node.integer("weight_prepacked", 0) != 0) return "its weights are prepacked";
  if (node.integer("K", 0) <= 0 || node.integer("N", 0) <= 0) return "K or N is not positive";
  if (!node.input(1) || !node.input(1)->constant) return "B is not constant";
  if (!node.input(2) || node.input(2)->type != a->type) return "scales have another type than A";
  if (const Value* zeros = node.input(3))
    if (zeros->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 && zeros->type != a->type)
      return text("zero_points of type ", name_of(zeros->type));
  return "";
}

std::unique_ptr<Op> make_nbits(const Node& node, Builder& builder) {
  auto op = nbits_op(node.integer("K", 0), node.integer("N", 0), node.integer("bits", 4), node.integer("block_size", 0),
                     builder.setting("use_tf32"));
  bind(*op, node, builder);
  return op;
}

// ---- GatherBlockQuantized

struct GatherOp : public Op {
  enum Input : size_t { kData, kIndices, kScales, kZeros };
  int64_t bits = 4, block = 128;

  void emit(Emitter& e) const override {
    const Operand data = e.in(kData), indices = e.in(kIndices), scales = e.in(kScales);
    const int64_t per_byte = 8 / bits;
    Dims dims = indices.dims;
    for (size_t i = 1; i < data.rank(); ++i) dims.push_back(data.dims[i]);
    dims.back() *= per_byte;
    const Operand y = e.out(0, scales.type, dims);
    if (y.count() == 0) return;
    GatherCodes s{int64_t(y.count()), data.dims[0], 1, dims.back(), 0, block};
    for (size_t i = 1; i < data.rank(); ++i) s.inner *= data.dims[i];
    s.inner *= per_byte;
    s.blocks = (s.line + block - 1) / block;
    if (int64_t(scales.count()) != int64_t(data.count()) * per_byte / s.line * s.blocks)
      e.fail(text("scales have shape ", shape_text(scales.dims), ", data ", shape_text(data.dims),
                  "; expected one for each block of ", block, " along the last axis"));
    const Kernel kernel = e.kernel(
        "nbits_gather.cu", "gather_codes",
        {{"ELEMENT", kernel_type(y.type)}, {"INDEX", kernel_type(indices.type)}, {"BITS", std::to_string(bits)}});
    e.launch(kernel, flat_grid(y.count(), 256, 4),
             {data, indices, scales, e.has(kZeros) ? e.in(kZeros) : Operand(), y, Argument::of(s)});
  }
};

std::string refuses_gather(const Node& node, const Claiming&) {
  const Value *data = node.input(0), *scales = node.input(2);
  const int64_t bits = node.integer("bits", 4), block = node.integer("block_size", 128);
  if (!data || data->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8)
    return text("data of type ", data ? name_of(data->type) : "nothing");
  if (!data->has_rank || data->rank() < 2) return "data of unknown rank";
  if (!scales || !is_real(scales->type)) return "scales that are no floats";
  if (bits != 2 && bits != 4 && bits != 8) return text("bits is ", bits);
  if (block < 16 || !is_power_of_two(block)) return text("block_size is ", block);
  const auto rank = int64_t(data->rank()), along = node.integer("gather_axis", 0),
             blocked = node.integer("quantize_axis", 1);
  if ((along < 0 ? along + rank : along) != 0) return "gather_axis is not the first";
  if ((blocked < 0 ? blocked + rank : blocked) != rank - 1) return "quantize_axis is not the last";
  return "";
}

std::unique_ptr<Op> make_gather(const Node& node, Builder& builder) {
  auto op = std::make_unique<GatherOp>();
  bind(*op, node, builder);
  op->bits = node.integer("bits", 4);
  op->block = node.integer("block_size", 128);
  return op;
}

}  // namespace

std::unique_ptr<Op> nbits_op(int64_t k, int64_t n, int64_t bits, int64_t block, bool tf32, NBitsForm form) {
  auto op = std::make_unique<NBitsOp>();
  op->k = k;
  op->n = n;
  op->bits = bits;
  op->block = block;
  op->tf32 = tf32;
  op->form = form;
  return op;
}

void add_nbits(Kinds& kinds) {
  kinds[{"com.microsoft", "MatMulNBits"}] = {refuses_nbits, make_nbits};
  kinds[{"com.microsoft", "GatherBlockQuantized"}] = {refuses_gather, make_gather};
  add_blocked_codes(kinds);
}

}  // namespace providers::cuda
