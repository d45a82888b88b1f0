// MatMulNBits and GatherBlockQuantized of com.microsoft: weights in codes of 2, 4 or 8 bits.
#include <algorithm>

#include "common/sizes.h"
#include "products.h"

namespace providers::cuda {
namespace {

// Up to as many rows, groups of eight of them read the codes again; beyond, the codes become elements first.
constexpr int64_t kMostFewRows = 16;
// The same for tensor cores, which read the codes once for up to 32 rows, or 16 of float32. Products of float32 with
// elements cost more.
constexpr int64_t kMostCoreRows = 64, kMostCoreRowsOfFloat = 96;
// Up to as many rows, lanes read codes of different blocks at once; their x lies in shared memory, of which three blocks
// of threads need as much.
constexpr int64_t kMostLaneRows = 2;
constexpr size_t kMostLaneShared = 72 << 10, kMostSumsShared = 4 << 10;
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
int64_t product(const Dims& dims, size_t begin, size_t end) {
  int64_t n = 1;
  for (size_t i = begin; i < end; ++i) n *= dims[i];
  return n;
}

// A product's operands: some columns of all.
struct Given {
  Operand a, codes, scales, zeros, bias, y;
  int64_t m = 0, n = 0;
};

struct NBitsOp : public Op {
  enum Input : size_t { kA, kB, kScales, kZeros, kGroups, kBias };
  int64_t k = 0, bits = 4, block = 32;
  std::vector<int64_t> columns;  // of each output; weights lie one after the other
  bool tf32 = false;
  NBitsForm form;

  void emit(Emitter& e) const override {
    Given g;
    g.a = e.in(kA);
    if (g.a.dims.empty() || g.a.dims.back() != k)
      e.fail(text("A has shape ", shape_text(g.a.dims), ", expected ", k, " as its last extent"));
    g.codes = e.in(kB);
    g.scales = e.in(kScales);
    if (e.has(kZeros)) g.zeros = e.in(kZeros);
    if (e.has(kBias)) g.bias = e.in(kBias);
    for (const int64_t each : columns) g.n += each;
    check(e, g);
    Dims dims = g.a.dims;
    g.m = product(dims, 0, dims.size() - 1);
    if (columns.size() > 1 && g.m == 1) return emit_row(e, g, dims);
    int64_t first = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      dims.back() = columns[i];
      const Operand y = e.out(i, g.a.type, dims);
      if (y.count() > 0) emit_product(e, part(g, first, columns[i], y));
      first += columns[i];
    }
  }

 private:
  int64_t blocks() const { return ceil_div(k, block); }
  int64_t row_bytes() const { return blocks() * block * bits / 8; }
  bool zeros_are_codes(const Given& g) const { return g.zeros.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8; }
  int64_t zeros_of_row(const Given& g) const { return zeros_are_codes(g) ? ceil_div(blocks() * bits, 8) : blocks(); }

  void check(Emitter& e, const Given& g) const {
    const Dims codes{g.n, blocks(), block * bits / 8}, scales{g.n, blocks()}, zeros{g.n, zeros_of_row(g)};
    const auto same = [](const Operand& o, const Dims& wanted) {
      return int64_t(o.count()) == product(wanted, 0, wanted.size());
    };
    if (!same(g.codes, codes)) e.fail(text("B has shape ", shape_text(g.codes.dims), ", expected ", shape_text(codes)));
    if (!same(g.scales, scales))
      e.fail(text("scales have shape ", shape_text(g.scales.dims), ", expected ", shape_text(scales)));
    if (e.has(kZeros) && !same(g.zeros, zeros))
      e.fail(text("zero_points have shape ", shape_text(g.zeros.dims), ", expected ", shape_text(zeros)));
  }

  // The columns from `first` on.
  Given part(Given g, int64_t first, int64_t count, const Operand& y) const {
    const size_t size = size_of(g.a.type);
    g.codes.offset += size_t(first * row_bytes());
    g.scales.offset += size_t(first * blocks()) * size;
    if (g.zeros.buffer >= 0) g.zeros.offset += size_t(first * zeros_of_row(g)) * (zeros_are_codes(g) ? 1 : size);
    if (g.bias.buffer >= 0) g.bias.offset += size_t(first) * size;
    g.n = count;
    g.y = y;
    return g;
  }

  // One row: the results lie one after the other, like the weights.
  void emit_row(Emitter& e, Given g, Dims dims) const {
    g.y = e.scratch(size_t(g.n) * size_of(g.a.type));
    g.y.type = g.a.type;
    g.y.dims = {1, g.n};
    emit_product(e, g);
    Operand mine = g.y;
    for (size_t i = 0; i < columns.size(); ++i) {
      dims.back() = columns[i];
      mine.dims = dims;
      e.alias(i, mine, dims);
      mine.offset += mine.bytes();
    }
  }

  void emit_product(Emitter& e, const Given& g) const {
    const int64_t most = is_float(g) ? kMostCoreRowsOfFloat : kMostCoreRows;
    const bool cores = form.kind == NBitsForm::any ? g.m <= most : form.kind == NBitsForm::cores;
    const bool few = form.kind == NBitsForm::any ? g.m <= kMostFewRows : form.kind == NBitsForm::few;
    const bool lanes = form.kind == NBitsForm::any ? g.m <= kMostLaneRows : form.kind == NBitsForm::lanes;
    const size_t shared = std::min(kMostLaneShared, e.device().shared_bytes() - kMostSumsShared);
    if (lanes && cores_can(e, g) && lane_shared(g) <= shared) return emit_lanes(e, g);
    if (cores && cores_can(e, g)) return emit_cores(e, g);
    if (few) return emit_few(e, g);
    emit_many(e, g);
  }

  static bool is_float(const Given& g) { return g.a.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }

  Defines defines(const Given& g) const {
    return {{"ELEMENT", kernel_type(g.a.type)},
            {"BITS", std::to_string(bits)},
            {"BLOCK", std::to_string(block)},
            {"ZEROS", g.zeros.buffer < 0   ? "0"
                      : zeros_are_codes(g) ? "1"
                                           : "2"}};
  }

  // Whether the kernels by tensor cores can read rows of A and of codes.
  bool cores_can(Emitter& e, const Given& g) const {
    const int needs = g.a.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ? 75 : 80;
    return e.device().architecture() >= needs && g.a.offset % 16 == 0 && k * int64_t(size_of(g.a.type)) % 16 == 0 &&
           k % (32 / bits) == 0 && row_bytes() % 16 == 0;
  }
  const char* whole() const { return row_bytes() % 64 == 0 && k % block == 0 ? "1" : "0"; }

  // `early`: the kernel reads the weights before the kernels before it have ended.
  void launch_few(Emitter& e, Kernel kernel, const Grid& grid, const Given& g, bool early) const {
    kernel.waits = kernel.waits && (!early || (e.is_constant(kB) && e.is_constant(kScales) && e.is_constant(kZeros)));
    const Few few{g.m, g.n, k, k, 0, g.n, g.n, 0, 0, 0, 0, 0, 1, 0, 0, 0};
    e.launch(kernel, grid,
             {g.a, g.codes, g.scales, g.zeros, g.bias, g.y, Argument::of(few), Argument::of(Codes{g.n, k, blocks()})});
  }

  // Of x in kernels/nbits_lanes.cu: as 16 bits, or three times as many for float32.
  size_t lane_shared(const Given& g) const {
    return size_t(g.m * ceil_div(row_bytes(), 64) * 512 / bits * (is_float(g) ? 6 : 2));
  }

  void emit_lanes(Emitter& e, const Given& g) const {
    // Warps that share columns have more codes on their way together; with warps enough for all multiprocessors, each
    // reads longer pieces.
    const int64_t warps = 8, enough = int64_t(e.device().multiprocessors()) * 16;
    int64_t split = is_float(g) || g.n / 16 * 4 < enough ? warps : 4;
    if (form.split) split = form.split;
    // Three blocks of a multiprocessor have registers for two steps, two have them for four.
    const bool two = is_float(g) || bits == 2 || zeros_are_codes(g);
    const size_t shared = lane_shared(g);
    Defines all = defines(g);
    all.insert({{"WARPS", std::to_string(warps)},
                {"SPLIT", std::to_string(split)},
                {"DEPTH", two && !is_float(g) ? "4" : "2"},
                {"LEAST_BLOCKS", two ? "2" : "3"},
                {"WHOLE", whole()}});
    const Kernel kernel = product_kernel(e, "nbits_lanes.cu", "nbits_lanes", all, {}, shared);
    launch_few(e, kernel, {{unsigned(ceil_div(g.n, 16 * warps / split))}, {unsigned(32 * warps)}, shared}, g, true);
  }

  void emit_cores(Emitter& e, const Given& g) const {
    // More does not fit in registers.
    const int64_t most = !is_float(g) ? 4 : bits == 2 ? 1 : 2;
    const int64_t rows = std::min<int64_t>(most, g.m <= 8 ? 1 : g.m <= 16 ? 2 : 4), warps = 8;
    const int64_t tiles = form.tiles ? form.tiles : 1, wanted = int64_t(e.device().multiprocessors()) * 16;
    // Warps that share columns read more of x in all, but more of them are at work.
    int64_t split = rows == 1 && !is_float(g) && g.zeros.buffer < 0 ? 4 : warps;
    while (split < warps && g.n / (16 * tiles) * split < wanted) split *= 2;
    if (form.split) split = form.split;
    while (split > 1 && split > ceil_div(row_bytes(), 64)) split /= 2;
    Defines all = defines(g);
    all.insert({{"ROWS", std::to_string(rows)},
                {"TILES", std::to_string(tiles)},
                {"WARPS", std::to_string(warps)},
                {"SPLIT", std::to_string(split)},
                {"WHOLE", whole()}});
    const Grid grid{{unsigned(ceil_div(g.n, 16 * tiles * warps / split)), unsigned(ceil_div(g.m, 8 * rows))},
                    {unsigned(32 * warps)}};
    launch_few(e, product_kernel(e, "nbits_cores.cu", "nbits_cores", all, {}), grid, g, true);
  }

  void emit_few(Emitter& e, const Given& g) const {
    // More sums of a thread do not fit in registers.
    const auto [each, split] =
        warps_for(g.n, k, 32 * kUnit, int64_t(e.device().multiprocessors()) * 24, g.m <= 2 ? 4 : 2);
    for (int64_t row = 0; row < g.m; row += 8) {
      Given some = g;
      some.m = std::min<int64_t>(8, g.m - row);
      some.a.offset += size_t(row * k) * size_of(g.a.type);
      some.y.offset += size_t(row * g.n) * size_of(g.a.type);
      Defines all = defines(g);
      all.insert({{"GEMV", "1"},
                  {"ROWS", std::to_string(some.m <= 2   ? some.m
                                          : some.m <= 4 ? 4
                                                        : 8)},
                  {"COLUMNS", std::to_string(each)},
                  {"SPLIT", std::to_string(split)}});
      launch_few(e, product_kernel(e, "nbits.cu", "nbits_gemv", all, {}),
                 {{unsigned(ceil_div(g.n, each * (8 / split)))}, {256}}, some, false);
    }
  }

  void emit_many(Emitter& e, const Given& g) const {
    Operand weights = e.scratch(size_t(g.n * k) * size_of(g.a.type));
    weights.type = g.a.type;
    weights.dims = {g.n, k};
    const Kernel kernel = product_kernel(e, "nbits.cu", "nbits_decode", defines(g), {});
    e.launch(kernel, flat_grid(size_t(g.n * ceil_div(k, kUnit))),
             {g.codes, g.scales, g.zeros, weights, Argument::of(Codes{g.n, k, blocks()})});
    const auto set = product_set(side_of({g.m, k}, false, false), side_of({g.n, k}, true, false), {});
    ProductSet typed = *set;
    typed.product.tf32 = tf32;
    Ending ending;
    if (g.bias.buffer >= 0) ending.bias = g.bias;
    emit_products(e, typed, g.a, weights, g.y, ending);
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
  auto op = nbits_op(node.integer("K", 0), {node.integer("N", 0)}, node.integer("bits", 4),
                     node.integer("block_size", 0), builder.setting("use_tf32"));
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

std::unique_ptr<Op> nbits_op(int64_t k, std::vector<int64_t> columns, int64_t bits, int64_t block, bool tf32,
                             NBitsForm form) {
  auto op = std::make_unique<NBitsOp>();
  op->k = k;
  op->columns = std::move(columns);
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
