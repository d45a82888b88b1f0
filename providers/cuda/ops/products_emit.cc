// How a product becomes steps: a kernel for few rows, cuBLASLt, or a plain kernel for the types that it does not have.
#include <algorithm>

#include "elementwise.h"
#include "products.h"

namespace providers::cuda {
namespace {

constexpr int64_t kManyBatches = 65535;  // blocks along the second axis of a grid

bool is_real(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
}

Operand moved(Operand operand, int64_t elements) {
  operand.offset += size_t(elements) * size_of(operand.type);
  return operand;
}

Operand nothing() { return {}; }

// The structs of kernels/products.cuh and products.cu.
struct Few {
  int64_t m, n, k;
  int64_t lead_x, lead_w, lead_c, lead_y;
  int64_t stride_x, stride_w, stride_c, stride_y, stride_bias;
  float alpha, beta, a, b;
};
struct Plain {
  int64_t m, n, k;
  int64_t row_a, column_a, row_b, column_b, lead_d;
  int64_t stride_a, stride_b, stride_d, batch;
  float alpha;
};
struct EndingShape {
  int64_t count, columns;
  int64_t matrix, stride_bias;
  float beta, a, b;
};

unsigned blocks_for(Emitter& e, int64_t count, int64_t each) {
  const int64_t blocks = (count + each - 1) / each;
  if (blocks > INT32_MAX) e.fail(text("a product needs ", blocks, " blocks of threads, at most 2147483647"));
  return unsigned(blocks);
}

// d = activated(d + bias + beta * addend)
void emit_finish(Emitter& e, const Operand& d, const Product& p, const Ending& ending) {
  const EndingShape shape{int64_t(d.count()), p.n, p.m * p.n, p.stride_bias, ending.beta, ending.activated.a,
                          ending.activated.b};
  const Kernel kernel =
      product_kernel(e, "products.cu", "finish", {{"ELEMENT", kernel_type(d.type)}}, ending.activated);
  e.launch(kernel, {{blocks_for(e, shape.count, int64_t(256 * 16 / size_of(d.type)))}, {256}},
           {d, ending.bias.value_or(nothing()), ending.addend.value_or(nothing()), Argument::of(shape)});
}
bool finishes(const Ending& ending) { return ending.bias || ending.addend || ending.activated.act != Act::none; }

void emit_plain(Emitter& e, const ProductSet& set, const Operand& a, const Operand& b, const Operand& d,
                const Ending& ending) {
  const Product& p = set.product;
  const Plain shape{p.m,
                    p.n,
                    p.k,
                    p.transposed_a ? 1 : p.lead.a,
                    p.transposed_a ? p.lead.a : 1,
                    p.transposed_b ? 1 : p.lead.b,
                    p.transposed_b ? p.lead.b : 1,
                    p.lead.d,
                    p.stride.a,
                    p.stride.b,
                    p.stride.d,
                    p.batch,
                    ending.alpha};
  const Kernel kernel = product_kernel(e, "products.cu", "multiply_plain", {{"ELEMENT", kernel_type(d.type)}}, {});
  const int64_t tiles = (p.m + 15) / 16 * ((p.n + 15) / 16);
  const Grid grid{{blocks_for(e, tiles, 1), unsigned(std::min(p.batch, kManyBatches))}, {256}};
  for (const ProductSet::Begin& begin : set.begins)
    e.launch(kernel, grid, {moved(a, begin.a), moved(b, begin.b), moved(d, begin.d), Argument::of(shape)});
  if (finishes(ending)) emit_finish(e, d, p, ending);
}

// ---- few rows

// The product with the operands in the order of kernels/gemv.cu.
struct Gemv {
  const Operand *x, *w;
  Few shape;
  bool by_rows;  // w is stored as n x k
  int64_t batch;
};

// Whether kernels/gemv.cu is faster than cuBLASLt, as measured with matrices that are not in the cache.
bool gemv_is_fast(const Product& p, Type type, bool by_rows) {
  const int64_t bytes = p.n * p.k * p.batch * int64_t(size_of(type));
  if (!by_rows) return p.m == 1 && (bytes <= (2 << 20) || (p.k >= 4 * p.n && bytes <= (8 << 20)));
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return p.m <= kFewRows;
  return p.m == 1 || (p.m == 2 && bytes <= (64 << 20));
}

std::optional<Gemv> gemv_of(const ProductSet& set, const Operand& a, const Operand& b, const Ending& ending) {
  const Product& p = set.product;
  if (set.begins.size() != 1 || p.batch > kManyBatches || !is_real(a.type)) return std::nullopt;
  Few s{};
  s.m = p.m;
  s.n = p.n;
  s.k = p.k;
  s.lead_x = p.lead.a;
  s.lead_w = p.lead.b;
  s.lead_c = s.lead_y = p.lead.d;
  s.stride_x = p.stride.a;
  s.stride_w = p.stride.b;
  s.stride_c = s.stride_y = p.stride.d;
  s.stride_bias = p.stride_bias;
  s.alpha = ending.alpha;
  s.beta = ending.beta;
  s.a = ending.activated.a;
  s.b = ending.activated.b;
  const bool a_is_rows = !p.transposed_a || (p.m == 1 && p.lead.a == 1);
  // One column is also a row, if its elements are adjacent.
  const bool by_rows = p.transposed_b || (p.n == 1 && p.lead.b == 1);
  if (p.m <= kFewRows && a_is_rows && gemv_is_fast(p, a.type, by_rows)) return Gemv{&a, &b, s, by_rows, p.batch};
  // A matrix times a vector is the vector times the transposed matrix.
  const bool b_is_vector = p.n == 1 && (p.transposed_b || p.lead.b == 1);
  if (!b_is_vector || p.lead.d != 1 || ending.bias) return std::nullopt;
  s.m = 1;
  s.n = s.lead_c = s.lead_y = p.m;
  s.lead_x = p.k;
  s.lead_w = p.lead.a;
  std::swap(s.stride_x, s.stride_w);
  return Gemv{&b, &a, s, !p.transposed_a, p.batch};
}

unsigned rounded_rows(int64_t m) { return m <= 2 ? unsigned(m) : m <= 4 ? 4 : 8; }

void emit_gemv(Emitter& e, const Gemv& g, const Operand& d, const Ending& ending) {
  const int64_t vector = int64_t(16 / size_of(d.type)), wanted = e.device().multiprocessors();
  const unsigned rows = rounded_rows(g.shape.m);
  Defines defines{{"ELEMENT", kernel_type(d.type)}, {"ROWS", std::to_string(rows)}};
  Grid grid{{1, unsigned(g.batch)}, {256}};
  if (g.by_rows) {
    const auto [columns, split] = warps_for(g.shape.n * g.batch, g.shape.k, 32 * vector, wanted * 32, 4);
    defines.insert({{"GEMV_ROWS", "1"}, {"COLUMNS", std::to_string(columns)}, {"SPLIT", std::to_string(split)}});
    grid.blocks.x = blocks_for(e, g.shape.n, columns * (8 / split));
  } else {
    int64_t lanes = 8;
    while (lanes > 2 && (g.shape.n + lanes * vector - 1) / (lanes * vector) * g.batch < wanted) lanes /= 2;
    grid.blocks.x = blocks_for(e, g.shape.n, lanes * vector);
    // More threads make up for few blocks; each needs registers for ROWS x 16 bytes of sums.
    grid.threads.x = rows <= 2 && g.shape.k >= 2048 && grid.blocks.x * g.batch <= wanted ? 1024 : 512;
    if (g.shape.k <= 256) grid.threads.x = 256;
    defines.insert(
        {{"GEMV_COLUMNS", "1"}, {"LANES", std::to_string(lanes)}, {"THREADS", std::to_string(grid.threads.x)}});
  }
  const Kernel kernel =
      product_kernel(e, "gemv.cu", g.by_rows ? "gemv_rows" : "gemv_columns", defines, ending.activated);
  e.launch(kernel, grid,
           {*g.x, *g.w, ending.bias.value_or(nothing()), ending.addend.value_or(nothing()), d, Argument::of(g.shape)});
}

// ---- cuBLASLt

ProductActivation activation_for(const Ending& ending) {
  if (ending.activated.act == Act::relu) return ProductActivation::relu;
  if (ending.activated.act == Act::gelu_tanh) return ProductActivation::gelu_tanh;
  return ProductActivation::none;
}

struct Planned {
  std::shared_ptr<const ProductPlan> plan;
  Ending inside, after;  // what the library does, and what is left
};

// As much of the ending as the library does.
Planned planned(Emitter& e, Product p, const Ending& ending) {
  Products& products = e.device().products();
  Planned result;
  result.inside.alpha = p.alpha = ending.alpha;
  // The bias of float8 products has 16 bits.
  const bool of_codes = is_float8(p.type), to_codes = is_float8(p.out);
  const bool whole_bias = !of_codes || to_codes || size_of(p.out) == 2 || !ending.bias;
  const bool real = is_real(p.type) || (of_codes && whole_bias);
  if (of_codes && (ending.scale_a || ending.scale_b)) {
    const bool each = ending.scale_a && ending.scale_b && ending.scale_a->count() * ending.scale_b->count() > 1;
    p.scales = each ? ProductScales::each : ProductScales::one;
  }
  if (ending.addend) {
    p.beta = ending.beta;
    p.lead.c = p.lead.d;
    p.stride.c = p.stride.d;
  }
  const ProductActivation activation = activation_for(ending);
  if (real && (ending.bias || activation != ProductActivation::none)) {
    Product whole = p;
    whole.bias = ending.bias.has_value();
    if (!whole.bias) whole.stride_bias = 0;
    whole.activation = activation;
    result.plan = products.plan(whole);
    if (result.plan) {
      result.inside = ending;
      if (activation == ProductActivation::none) {
        result.inside.activated = {};
        result.after.activated = ending.activated;
      }
      return result;
    }
  }
  if (to_codes && (ending.bias || ending.activated.act != Act::none)) return result;  // codes are the last step
  p.stride_bias = 0;
  result.plan = products.plan(p);
  result.inside.addend = ending.addend;
  result.inside.beta = ending.beta;
  result.after.bias = ending.bias;
  result.after.activated = ending.activated;
  return result;
}

}  // namespace

bool emit_library(Emitter& e, const ProductSet& set, const Operand& a, const Operand& b, const Operand& d,
                  const Ending& ending) {
  const Planned made = planned(e, set.product, ending);
  if (!made.plan) return false;
  const Operand workspace = made.plan->workspace ? e.scratch(made.plan->workspace) : nothing();
  const Operand bias = made.inside.bias.value_or(nothing()), addend = made.inside.addend.value_or(nothing());
  const Operand scale_a = ending.scale_a.value_or(nothing()), scale_b = ending.scale_b.value_or(nothing());
  const Operand scale_d = ending.scale_d.value_or(nothing());
  std::vector<Operand> uses{a, b, d};
  for (const Operand& more : {workspace, bias, addend, scale_a, scale_b, scale_d})
    if (more.buffer >= 0) uses.push_back(more);
  e.call(uses, [=, plan = made.plan, begins = set.begins](const Run& run) {
    const auto in = int64_t(size_of(plan->product.type)), out = int64_t(size_of(plan->product.out));
    for (const ProductSet::Begin& begin : begins) {
      const Address c = run(addend);
      run.device.products().submit(
          *plan, run.stream,
          {run(a) + Address(begin.a * in), run(b) + Address(begin.b * in), c ? c + Address(begin.d * out) : 0,
           run(d) + Address(begin.d * out), run(bias), run(workspace), run(scale_a), run(scale_b), run(scale_d)});
    }
  });
  if (finishes(made.after)) emit_finish(e, d, set.product, made.after);
  return true;
}

// The more columns a warp has, the less often it reads x.
Warps warps_for(int64_t n, int64_t k, int64_t chunk, int64_t wanted, int64_t most_columns) {
  int64_t most = 1;
  while (most < 8 && most * 2 * chunk <= k) most *= 2;
  Warps w{most_columns, 1};
  while (w.columns > 1 && n / w.columns * most < wanted) w.columns /= 2;
  while (w.split < most && n / w.columns * w.split < wanted) w.split *= 2;
  return w;
}

Kernel product_kernel(Emitter& e, const std::string& file, const std::string& entry, Defines defines, Activated act,
                      size_t shared_bytes) {
  defines["ACTIVATION"] = std::to_string(int(act.act));
  return e.kernel(file, entry, defines, shared_bytes);
}

void emit_products(Emitter& e, const ProductSet& set, const Operand& a, const Operand& b, const Operand& d,
                   const Ending& ending) {
  const Product& p = set.product;
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  if (is_float8(a.type)) return emit_float8(e, set, a, b, d, ending);
  const bool library_type = is_real(d.type) || d.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
  if (p.k == 0 || !library_type) return emit_plain(e, set, a, b, d, ending);
  if (const auto gemv = gemv_of(set, a, b, ending)) return emit_gemv(e, *gemv, d, ending);
  ProductSet typed = set;
  typed.product.type = a.type;
  typed.product.out = d.type;
  if (!emit_library(e, typed, a, b, d, ending)) emit_plain(e, set, a, b, d, ending);
}

}  // namespace providers::cuda
