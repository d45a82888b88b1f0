// MoE and QMoE of com.microsoft: mixtures of experts. Which experts compute which tokens is found and used on the
// device; the host never waits for it.
#include <algorithm>
#include <limits>

#include "products.h"

namespace providers::cuda {
namespace {

constexpr int64_t kMostExperts = 2048;  // of kernels/experts.cu
constexpr int64_t kPlanned = 32;        // up to as many tokens, one block chooses and sorts
constexpr int64_t kFewTokens = 16;
constexpr int64_t kFewForCores = 4;  // the same where tensor cores take more
constexpr int64_t kUnit = 16;        // of kernels/experts.cuh
constexpr int64_t kTile = 64;        // rows and columns of a tile of kernels/experts_tile.cu
// Rows of a tile of kernels/experts_cores.cu, and bytes of a row of a stage.
constexpr int64_t kCoresTile = 128, kStageRow = 128;
constexpr int64_t kWideRows = 32;  // of an expert, from which a tile has 256 columns

// The structs of kernels/experts.cu and experts.cuh.
struct Routing {
  int64_t tokens = 0;
  int32_t experts = 0, k = 1, normalized = 0, tile = 1, unused = 0;
};
struct Layer {
  int64_t rows = 0, k = 0, half = 0, results = 0, row_bytes = 0, blocks = 1, zero_bytes = 0;
  int32_t shift = 0, by_rows = 0, aligned = 0, per_token = 0;
};
struct Activation {
  float alpha = 1, beta = 0, most = std::numeric_limits<float>::infinity();
  int32_t limit_after = 0;
};
// Their number is ACTIVATION of kernels/experts.cuh.
const char* const kActivations[] = {"relu", "gelu", "silu", "relu2", "geglu", "swiglu", "identity"};
constexpr int kGeglu = 4, kSwiglu = 5;

// Indices of a matrix's inputs.
struct Inputs {
  size_t weights, scales, bias, zeros;
};
constexpr size_t kNone = 99;
constexpr Inputs kQuantised[3] = {{2, 3, 4, 11}, {5, 6, 7, 12}, {8, 9, 10, 13}},
                 kPlain[3] = {{2, kNone, 3, kNone}, {4, kNone, 5, kNone}, {6, kNone, 7, kNone}};

struct ExpertsOp : Op {
  bool quantised = false, normalized = false;
  int64_t k = 1, fusion = 0, block = 0;
  int64_t bits[3] = {0, 0, 0};  // 0: elements
  int activation_kind = 0;
  Activation activation;

  void emit(Emitter& e) const override;

 private:
  struct Sizes {
    int64_t tokens = 0, hidden = 0, inner = 0, experts = 0, slots = 0;
    bool few = false, cores = false;
    int64_t tile = kTile;
  };
  /// How the layers of many tokens are run.
  struct Form {
    std::string file;
    int64_t columns = 0, stages = 0;
    size_t shared_bytes = 0;
  };
  struct Chosen {
    Operand chosen, shares, order, begin, tiles, active;
  };
  const Inputs& inputs(size_t matrix) const { return (quantised ? kQuantised : kPlain)[matrix]; }
  bool gated() const { return activation_kind == kGeglu || activation_kind == kSwiglu; }
  Operand optional(Emitter& e, size_t i) const { return i != kNone && e.has(i) ? e.in(i) : Operand(); }
  Sizes sizes(Emitter& e) const;
  Chosen choose(Emitter& e, const Sizes& s) const;
  Layer layer(Emitter& e, size_t matrix, const Sizes& s) const;
  bool fits_cores(Emitter& e, const Sizes& s) const;
  Form form(Emitter& e, size_t matrix, const Sizes& s) const;
  void check(Emitter& e, size_t matrix, const Layer& l, int64_t experts) const;
  void run(Emitter& e, size_t matrix, const Sizes& s, const Chosen& c, const Operand& x, const Operand& y) const;
};

ExpertsOp::Sizes ExpertsOp::sizes(Emitter& e) const {
  const Operand &x = e.look(0), &scores = e.look(1), &second = e.look(inputs(1).weights);
  if (x.rank() < 2 || x.dims.back() < 1 || scores.rank() != 2 || second.rank() != 3)
    e.fail("expected an input of two or three axes, scores of two, and weights of three");
  Sizes s;
  s.tokens = scores.dims[0];
  s.hidden = x.dims.back();
  s.experts = scores.dims[1];
  if (int64_t(x.count()) != s.tokens * s.hidden) e.fail(text("there are scores of ", s.tokens, " tokens"));
  s.inner = second.dims[1] * second.dims[2] / s.hidden;
  if (bits[1]) s.inner = second.dims[1] * second.dims[2] * 8 / bits[1] / s.hidden;
  if (s.experts < k || s.experts > kMostExperts || s.inner < 1)
    e.fail(text(s.experts, " experts, of which ", k, " are chosen"));
  s.slots = s.tokens * k;
  if (s.slots >= int64_t(1) << 30) e.fail("there are too many tokens");
  s.cores = s.tokens > kFewForCores && fits_cores(e, s);
  s.few = !s.cores && (s.tokens <= kFewTokens || s.slots <= 2 * s.experts);
  if (s.cores) s.tile = kCoresTile;
  return s;
}

ExpertsOp::Chosen ExpertsOp::choose(Emitter& e, const Sizes& s) const {
  const auto integers = [&](int64_t count) { return e.scratch(size_t(count) * 4); };
  Chosen c{integers(s.slots),       integers(s.slots),       integers(s.slots),
           integers(s.experts + 1), integers(s.experts + 1), integers(s.experts + 1)};
  const Operand scores = e.in(1), weights = quantised ? optional(e, 14) : Operand();
  if (weights.buffer >= 0 && weights.dims != scores.dims) e.fail("router_weights must have the shape of router_probs");
  Routing r;
  r.tokens = s.tokens;
  r.experts = int32_t(s.experts);
  r.k = int32_t(k);
  r.normalized = normalized || (quantised && weights.buffer < 0);
  r.tile = int32_t(s.tile);
  const Defines defines{{"ELEMENT", kernel_type(scores.type)}};
  const Argument routing = Argument::of(r);
  if (s.tokens <= kPlanned) {
    const unsigned threads = unsigned(std::clamp<int64_t>(s.tokens * 32, 128, 1024));
    e.launch(e.kernel("experts.cu", "experts_plan", defines), {{1}, {threads}},
             {scores, weights, c.chosen, c.shares, c.order, c.begin, c.tiles, c.active, routing});
    return c;
  }
  e.launch(e.kernel("experts.cu", "experts_route", defines), {{unsigned((s.tokens + 7) / 8)}, {256}},
           {scores, weights, c.chosen, c.shares, routing});
  e.launch(e.kernel("experts.cu", "experts_sort", defines), {{1}, {1024}},
           {c.chosen, c.order, c.begin, c.tiles, c.active, routing});
  return c;
}

Layer ExpertsOp::layer(Emitter& e, size_t matrix, const Sizes& s) const {
  const bool first = matrix != 1, fused = gated() && fusion != 0;
  Layer l;
  l.half = s.inner;
  l.rows = !first ? s.hidden : fused && matrix == 0 ? 2 * s.inner : s.inner;
  l.results = !first ? s.hidden : gated() ? 2 * s.inner : s.inner;
  l.k = first ? s.hidden : s.inner;
  l.per_token = first ? int32_t(k) : 0;
  const int64_t b = bits[matrix];
  if (b == 0) {
    l.row_bytes = l.k * int64_t(size_of(e.look(0).type));
    l.aligned = l.row_bytes % 16 == 0;
  } else {
    if (l.k * b % 8) e.fail(text("a row of ", l.k, " weights of ", b, " bits does not end with a byte"));
    if (block && l.k % block) e.fail(text("rows of ", l.k, " weights do not consist of whole blocks of ", block));
    l.row_bytes = l.k * b / 8;
    l.aligned = l.k % kUnit == 0;
    l.by_rows = block == 0;
    l.blocks = block ? l.k / block : 1;
    while (block && int64_t(1) << l.shift < block) ++l.shift;
    l.zero_bytes = ((block ? l.blocks : l.rows) * b + 7) / 8;
  }
  check(e, matrix, l, s.experts);
  return l;
}

int64_t stages_of(const Device& device, int64_t columns) {
  return (int64_t(device.shared_bytes()) - 1024) / ((kCoresTile + columns) * kStageRow);
}

bool ExpertsOp::fits_cores(Emitter& e, const Sizes& s) const {
  const Type type = e.look(0).type;
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || e.device().architecture() != 90) return false;
  if (stages_of(e.device(), kCoresTile) < 3) return false;
  for (size_t m = 0; m < (gated() && fusion == 0 ? 3 : 2); ++m)
    if (!layer(e, m, s).aligned) return false;
  return s.hidden % 8 == 0 && s.inner % 8 == 0;
}

ExpertsOp::Form ExpertsOp::form(Emitter& e, size_t matrix, const Sizes& s) const {
  if (s.few) return {"experts_few", 16, 0, 0};
  if (!s.cores) return {"experts_tile", kTile, 0, 0};
  Form f{"experts_cores", 128, 0, 0};
  // Codes take registers, and their decoding runs beside the products of a second block.
  if (bits[matrix] == 0 && s.slots >= kWideRows * s.experts) f.columns = 256;
  f.stages = std::min<int64_t>(stages_of(e.device(), f.columns), f.columns == 256 ? 4 : bits[matrix] ? 3 : 6);
  f.shared_bytes = size_t(f.stages * (kCoresTile + f.columns) * kStageRow + 1024);
  return f;
}

void ExpertsOp::check(Emitter& e, size_t matrix, const Layer& l, int64_t experts) const {
  const Inputs& in = inputs(matrix);
  const auto expect = [&](size_t i, int64_t count) {
    if (i == kNone || !e.has(i)) return;
    if (int64_t(e.look(i).count()) != count)
      e.fail(text("input ", i, " has shape ", shape_text(e.look(i).dims), ", expected ", count, " elements"));
  };
  const int64_t rows = experts * l.rows;
  expect(in.weights, bits[matrix] ? rows * l.row_bytes : rows * l.k);
  expect(in.scales, rows * l.blocks);
  expect(in.bias, rows);
  expect(in.zeros, (block ? rows : experts) * l.zero_bytes);
}

void ExpertsOp::run(Emitter& e, size_t matrix, const Sizes& s, const Chosen& c, const Operand& x,
                    const Operand& y) const {
  const Layer l = layer(e, matrix, s);
  const Inputs& in = inputs(matrix);
  const bool first = matrix == 0, third = first && gated() && fusion == 0;
  if (third) layer(e, 2, s);  // checks its shapes
  const auto optional_of = [&](size_t i) { return third ? optional(e, i) : Operand(); };
  const Operand scales = optional(e, in.scales);
  const Form f = form(e, matrix, s);
  const int64_t held = s.tokens <= 2 ? s.tokens : s.tokens <= 4 ? 4 : 8;
  Defines defines{{"ELEMENT", kernel_type(e.look(0).type)},
                  {"ROWS_OF", kernel_type(x.type)},
                  {"OUT", kernel_type(y.type)},
                  {"BITS", std::to_string(bits[matrix])},
                  {"SCALE", scales.buffer < 0 ? "float" : kernel_type(scales.type)},
                  {"ZEROS", optional(e, in.zeros).buffer < 0 ? "0" : "1"},
                  {"GATE", !first || !gated() ? "0" : std::to_string(third ? 3 : fusion)},
                  {"FIRST", first ? "1" : "0"},
                  {"ACTIVATION", std::to_string(activation_kind)},
                  {"SCATTER", first ? "0" : "1"}};
  if (s.few) defines["ROWS"] = std::to_string(held);
  if (s.cores) {
    defines["COLUMNS"] = std::to_string(f.columns);
    defines["STAGES"] = std::to_string(f.stages);
    defines[kOwnCode] = "1";
  }
  const Inputs& more = inputs(2);
  const int64_t some = std::min(s.experts, s.slots);
  const auto groups = unsigned(s.few ? some : s.slots / s.tile + some);
  const auto columns = unsigned((l.results + f.columns - 1) / f.columns);
  Grid grid;
  grid.blocks = s.few ? Extent{columns, groups} : Extent{groups, columns};
  grid.threads = {256};
  grid.shared_bytes = f.shared_bytes;
  e.launch(e.kernel(f.file + ".cu", f.file, defines, f.shared_bytes), grid,
           {x, y, c.order, c.begin, s.few ? c.active : c.tiles, int32_t(s.experts), e.in(in.weights), scales,
            optional(e, in.zeros), optional(e, in.bias), optional_of(more.weights), optional_of(more.scales),
            optional_of(more.zeros), optional_of(more.bias), Argument::of(l), Argument::of(activation)});
}

void ExpertsOp::emit(Emitter& e) const {
  const Operand x = e.in(0);
  const Operand y = e.out(0, x.type, x.dims);
  if (y.count() == 0) return;
  const Sizes s = sizes(e);
  const Chosen c = choose(e, s);
  const auto made_of = [&](int64_t columns, Type type) {
    Operand made = e.scratch(size_t(s.slots * columns) * size_of(type));
    made.type = type;
    made.dims = {s.slots, columns};
    return made;
  };
  const Operand inner = made_of(s.inner, s.cores ? x.type : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  const Operand parts = made_of(s.hidden, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  run(e, 0, s, c, x, inner);
  run(e, 1, s, c, inner, parts);
  const auto count = int64_t(y.count());
  e.launch(e.kernel("experts.cu", "experts_join", {{"ELEMENT", kernel_type(x.type)}}), flat_grid(size_t(count)),
           {parts, c.shares, y, count, s.hidden, int32_t(k)});
}

// ---- claims

bool is_real(const Value* v) {
  return v && (v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
               v->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16);
}

int kind_of_activation(const Node& node) {
  const std::string name = node.string("activation_type", "relu");
  const auto* const at = std::find(std::begin(kActivations), std::end(kActivations), name);
  return at == std::end(kActivations) ? -1 : int(at - std::begin(kActivations));
}

int64_t bits_of(const Node& node, size_t matrix) {
  const char* const names[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"};
  return node.integer(names[matrix], node.integer("expert_weight_bits", 4));
}

std::string refuses_matrix(const Node& node, const Inputs& in, int64_t bits) {
  const Value *weights = node.input(in.weights), *x = node.input(0);
  if (!weights || !weights->constant) return text("weights (input ", in.weights, ") are not constant");
  if (node.input(in.bias) && node.input(in.bias)->type != x->type) return "a bias of another type";
  if (!bits) return weights->type == x->type ? "" : "weights of another type";
  if (weights->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8) return text("weights of type ", name_of(weights->type));
  if (!is_real(node.input(in.scales))) return text("no scales (input ", in.scales, ")");
  if (bits != 2 && bits != 4 && bits != 8) return text("weights of ", bits, " bits");
  const Value* zeros = node.input(in.zeros);
  return zeros && zeros->type != weights->type ? "zero points of another type" : "";
}

std::string refuses(const Node& node, const Claiming&) {
  const bool quantised = node.type == "QMoE";
  const Value *x = node.input(0), *scores = node.input(1);
  if (!is_real(x) || !scores || scores->type != x->type)
    return "an input that is not float32, float16 or bfloat16, or scores of another type";
  if (node.integer("use_sparse_mixer", 0)) return "use_sparse_mixer";
  const int kind = kind_of_activation(node);
  const int64_t fusion = node.integer("swiglu_fusion", 0), block = node.integer("block_size", 0);
  const bool gated = kind == kGeglu || kind == kSwiglu;
  if (kind < 0 || fusion < 0 || fusion > 2 || node.integer("k", 1) < 1) return "an unknown activation, or no k";
  const Inputs* const in = quantised ? kQuantised : kPlain;
  const bool third = node.input(in[2].weights) != nullptr;
  if (third != (gated && fusion == 0)) return "weights of a third layer do not match its activation";
  if (quantised) {
    if (node.string("quant_type", "int") != "int") return "quant_type is not 'int'";
    if (node.integer("weights_prepacked", -1) > 0) return "weights_prepacked";
    if (block && (block < kUnit || (block & (block - 1)))) return text("block_size is ", block);
    if (third && bits_of(node, 2) != bits_of(node, 0)) return "the third layer has weights of other bits";
    if (third && (node.input(9)->type != node.input(3)->type || !node.input(13) != !node.input(11)))
      return "the third layer has other scales or zero points than the first";
    if (node.input(14) && node.input(14)->type != x->type) return "router_weights of another type";
    for (size_t i = 15; i < 21; ++i)
      if (node.input(i)) return text("input ", i);
  }
  for (size_t m = 0; m < (third ? 3 : 2); ++m)
    if (const std::string why = refuses_matrix(node, in[m], quantised ? bits_of(node, m) : 0); !why.empty()) return why;
  return "";
}

std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<ExpertsOp>();
  bind(*op, node, builder);
  op->quantised = node.type == "QMoE";
  op->normalized = node.integer("normalize_routing_weights", 0) != 0;
  op->k = node.integer("k", 1);
  op->fusion = node.integer("swiglu_fusion", 0);
  op->block = op->quantised ? node.integer("block_size", 0) : 0;
  for (size_t m = 0; m < 3; ++m) op->bits[m] = op->quantised ? bits_of(node, m) : 0;
  op->activation_kind = kind_of_activation(node);
  Activation& a = op->activation;
  a.alpha = node.number("activation_alpha", 1);
  a.beta = node.number("activation_beta", 0);
  if (node.has("swiglu_limit")) a.most = node.number("swiglu_limit", 0);
  a.limit_after = node.integer("swiglu_limit_after_activation", 0) != 0;
  return op;
}

}  // namespace

void add_experts(Kinds& kinds) {
  for (const char* type : {"MoE", "QMoE"}) kinds[{"com.microsoft", type}] = {refuses, make};
}

}  // namespace providers::cuda
