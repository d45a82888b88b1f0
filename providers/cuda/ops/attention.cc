#include "attention.h"

#include <algorithm>
#include <cmath>

#include "common/sizes.h"

namespace providers::cuda {
namespace {

constexpr double kLog2E = 1.4426950408889634;

/// What kernels/attention_rule.cuh calls AttentionShape.
struct AttentionStrides {
  int64_t q[3], k[3], v[3], y[3], bias[4], flags[4];
};
struct AttentionExtents {
  int32_t batch, heads, group, rows, keys, size, v_size;
};
struct AttentionArguments : AttentionStrides, AttentionExtents {
  int32_t causal, left, right, before;
  int32_t length_step, length_plus, from_end;
  int32_t pack, splits;
  float scale, softcap, hidden, blind;
};
static_assert(sizeof(AttentionArguments) == 20 * 8 + 20 * 4);

/// How one call is run.
struct Form {
  std::string file, entry;
  int64_t block_rows = 0, tile = 0, head = 0;  // BM, BN and HEAD of the kernel
  int64_t pack = 1, splits = 1, warps = 4, stages = 0;
  size_t shared_bytes = 0;
  bool aligned = false, floats = false;
};

constexpr int64_t kTiny = 4096;       // products of one head
constexpr int64_t kMostSplits = 128;  // for which the kernels have shared memory
constexpr int64_t kFewRows = 8;       // rows of a block of attention_decode
constexpr int64_t kGroupRows = 16;    // of attention_group

int64_t padded_head(int64_t size, bool power_of_two, int64_t least) {
  if (!power_of_two) return std::max<int64_t>(32, round_up(size, 32));
  int64_t head = least;
  while (head < size) head *= 2;
  return head;
}

size_t flash_bytes(const Form& f, bool floats) {
  const int64_t pitch = f.head + (floats ? 4 : 8);
  return size_t((f.block_rows + 4 * f.tile) * pitch * (floats ? 4 : 2));
}
size_t plain_bytes(const Form& f) {
  return size_t((f.block_rows + f.tile) * (f.head + 4) + f.block_rows * (f.tile + 4)) * sizeof(float);
}

bool has_cores(const Device& device, const AttentionCall& c) {
  const int needs = c.q.data.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ? 75 : 80;
  return device.architecture() >= needs && (c.q.data.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || c.settings.tf32);
}

// Few queries: a block has all rows that share a head of K and V, or eight of them.
Form decode_form(const AttentionCall& c, int64_t rows) {
  Form f;
  f.file = "attention_decode.cu";
  f.entry = "attention_decode";
  f.head = padded_head(std::max(c.size, c.v_size), true, 16 / int64_t(size_of(c.q.data.type)));
  f.block_rows = 1;
  while (f.block_rows < std::min(kFewRows, rows)) f.block_rows *= 2;
  f.tile = 32;
  f.shared_bytes = size_t(f.block_rows * std::max<int64_t>(f.warps * (f.head + 2), kMostSplits + 1)) * sizeof(float);
  return f;
}

size_t group_bytes(const Form& f) {
  const int64_t tiles = (16 + f.warps * f.stages * 2 * f.tile) * (f.head + 8) * 2;
  const int64_t results = f.block_rows * std::max(f.warps * (f.head + 4), kMostSplits + 1) * int64_t(sizeof(float));
  return size_t(std::max(tiles, results));
}

// The same by tensor cores. An empty form if shared memory is too small.
Form group_form(const Device& device, const AttentionCall& c, int64_t rows) {
  Form f;
  f.file = "attention_group.cu";
  f.entry = "attention_group";
  f.head = padded_head(std::max(c.size, c.v_size), false, 0);
  if (f.head > 256) return {};
  f.block_rows = 1;
  while (f.block_rows < rows) f.block_rows *= 2;
  f.tile = 16;
  for (const auto& [warps, stages] : {std::pair(4, 3), {4, 2}, {2, 2}}) {
    f.warps = warps;
    f.stages = stages;
    f.shared_bytes = group_bytes(f);
    if (f.shared_bytes <= device.shared_bytes()) return f;
  }
  return {};
}

// The first form whose tiles fit into shared memory; an empty one if none does.
Form flash_form(const Device& device, const AttentionCall& c, int64_t rows, int64_t others) {
  Form f;
  f.file = "attention_flash.cu";
  f.entry = "attention_flash";
  f.head = padded_head(std::max(c.size, c.v_size), false, 0);
  if (f.head > 256) return {};
  f.floats = c.q.data.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  const bool wide = !f.floats && f.head <= 128 && ceil_div(rows, 128) * others >= device.multiprocessors();
  for (const auto& [block, tile] : {std::pair(128, 64), {64, 64}, {64, 32}, {64, 16}}) {
    if (block == 128 && !wide) continue;
    if (tile == 64 && f.head > (f.floats ? 64 : 128)) continue;  // more would not fit into registers
    f.block_rows = block;
    f.tile = tile;
    f.shared_bytes = flash_bytes(f, f.floats);
    if (f.shared_bytes <= device.shared_bytes()) return f;
  }
  return {};
}

// By products of groups of four warps, which compute capability 9.0 has. An empty form if they do not fit.
Form wide_form(const Device& device, const AttentionCall& c, const Form& given) {
  const int64_t size = std::max(c.size, c.v_size);
  if (device.architecture() != 90 || given.pack != 1 || !given.aligned || size > 128) return {};
  Form f = given;
  f.file = "attention_wide.cu";
  f.entry = "attention_wide";
  f.head = size <= 64 ? 64 : 128;
  const bool many = ceil_div(c.rows, 128) * c.batch * c.heads >= device.multiprocessors();
  f.block_rows = many && c.rows > 64 && f.head == 128 ? 128 : 64;
  f.tile = f.block_rows == 64 && f.head == 128 ? 64 : 128;  // two blocks for each multiprocessor
  f.warps = f.block_rows / 16;
  f.shared_bytes = size_t((f.block_rows + 4 * f.tile) * f.head * 2 + 1024);
  return f.shared_bytes <= device.shared_bytes() ? f : Form{};
}

Form plain_form(const Device& device, const AttentionCall& c) {
  Form f;
  f.file = "attention_plain.cu";
  f.entry = "attention_plain";
  f.head = padded_head(std::max(c.size, c.v_size), false, 0);
  f.warps = 8;
  f.floats = c.q.data.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  for (const auto& [block, tile] : {std::pair(64, 64), {64, 32}, {32, 32}, {32, 16}, {16, 16}}) {
    if (tile == 64 && f.head > 64) continue;
    f.block_rows = block;
    f.tile = tile;
    f.shared_bytes = plain_bytes(f);
    if (f.shared_bytes <= std::min<size_t>(device.shared_bytes(), 64 << 10)) break;
  }
  return f;
}

// Shares the keys among blocks if there are too few blocks otherwise.
int64_t splits_of(const Device& device, const AttentionCall& c, const Form& f, int64_t blocks) {
  const bool few = f.entry == "attention_decode", group = f.entry == "attention_group";
  const int64_t processors = device.multiprocessors(), tiles = ceil_div(c.keys, f.tile);
  const int64_t wanted = processors * (few ? 3 : group && blocks * 2 > processors ? 2 : 1);
  if (blocks * 2 > wanted || tiles < 4) return 1;
  const int64_t most = few ? std::min<int64_t>(tiles, std::max<int64_t>(tiles / 3, 5)) : tiles / 4;
  const int64_t splits = std::clamp<int64_t>(wanted / blocks, 1, std::min(most, kMostSplits));
  return ceil_div(tiles, ceil_div(tiles, splits));
}

Form form_of(const Device& device, const AttentionCall& c) {
  const int64_t group = c.heads / c.kv_heads, pack = c.rows <= 2 * kFewRows ? group : 1, rows = c.rows * pack;
  const int64_t others = c.batch * (c.heads / pack);
  // Tensor cores round probabilities to the type of V. Where they gain nothing, results are more exact without them.
  const bool tiny = c.rows * c.keys * c.size <= kTiny;
  const bool cores = !tiny && has_cores(device, c), halves = c.q.data.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  Form given;
  given.pack = pack;
  given.aligned =
      is_aligned(c.q, c.size) && is_aligned(c.k, c.size) && is_aligned(c.v, c.v_size) && is_aligned(c.y, c.v_size);
  Form f;
  if (cores && halves) f = rows <= kGroupRows ? group_form(device, c, rows) : wide_form(device, c, given);
  if (f.entry.empty() && rows <= (cores ? kFewRows : 4 * kFewRows))
    f = decode_form(c, rows);
  else if (f.entry.empty() && cores)
    f = flash_form(device, c, rows, others);
  if (f.entry.empty()) f = plain_form(device, c);
  f.pack = pack;
  f.aligned = given.aligned;
  f.splits = splits_of(device, c, f, ceil_div(rows, f.block_rows) * others);
  return f;
}

void copy_strides(const HeadStrides& s, int64_t (&to)[3]) {
  to[0] = s.batch;
  to[1] = s.head;
  to[2] = s.row;
}

AttentionArguments arguments_of(const Emitter& e, const AttentionCall& c, const Form& f) {
  AttentionArguments a{};
  copy_strides(c.q.strides, a.q);
  copy_strides(c.k.strides, a.k);
  copy_strides(c.v.strides, a.v);
  copy_strides(c.y.strides, a.y);
  if (c.bias) std::copy_n(c.bias->strides, 4, a.bias);
  if (c.flags) std::copy_n(c.flags->strides, 4, a.flags);
  a.batch = checked_int(e, c.batch, "batch");
  a.heads = checked_int(e, c.heads, "number of heads");
  a.group = checked_int(e, c.heads / c.kv_heads, "number of heads");
  a.rows = checked_int(e, c.rows, "number of queries");
  a.keys = checked_int(e, c.keys, "number of keys");
  a.size = checked_int(e, c.size, "size of a head");
  a.v_size = checked_int(e, c.v_size, "size of a head");
  a.causal = c.causal;
  constexpr int64_t kFar = 1 << 30;
  a.left = int32_t(std::min(c.left, kFar));
  a.right = int32_t(std::min(c.right, kFar));
  a.before = checked_int(e, c.before, "number of past keys");
  a.length_step = c.lengths ? int32_t(size_of(c.lengths->type) / 4) : 0;
  a.length_plus = checked_int(e, c.length_plus, "length");
  a.from_end = c.from_end;
  a.pack = int32_t(f.pack);
  a.splits = int32_t(f.splits);
  a.scale = float(c.softcap > 0 ? c.scale / c.softcap : c.scale * kLog2E);
  a.softcap = float(c.softcap * kLog2E);
  // A finite number stays finite, as in kernels/attention_rule.cuh.
  constexpr double kLowest = std::numeric_limits<float>::lowest();
  a.hidden = float(std::isinf(c.hidden) ? c.hidden : std::max(c.hidden * kLog2E, kLowest));
  a.blind = float(c.blind);
  return a;
}

Defines operands_of(const AttentionCall& c, Defines d) {
  if (c.bias) d["BIAS"] = kernel_type(c.bias->data.type);
  if (c.flags) d["FLAGS"] = c.flag_hides ? "1" : "0";
  return d;
}

Defines defines_of(const AttentionCall& c, const Form& f) {
  Defines d{{"ELEMENT", kernel_type(c.q.data.type)}, {"HEAD", std::to_string(f.head)},
            {"BM", std::to_string(f.block_rows)},    {"BN", std::to_string(f.tile)},
            {"FLOATS", f.floats ? "1" : "0"},        {"ALIGNED", f.aligned ? "1" : "0"}};
  d["SOFTCAP"] = c.softcap > 0 ? "1" : "0";
  const bool few = f.entry == "attention_decode", group = f.entry == "attention_group";
  if (few || group) d["ROWS"] = std::to_string(f.block_rows);
  if (group) d["STAGES"] = std::to_string(f.stages);
  if (f.entry == "attention_plain") return operands_of(c, std::move(d));
  d["WARPS"] = std::to_string(f.warps);
  if (f.entry == "attention_wide") d[kOwnCode] = "1";
  if (few) return operands_of(c, std::move(d));
  const bool shared = c.bias && c.bias->strides[2] == 0 && (f.pack == 1 || c.bias->strides[1] == 0);
  if (shared) d["SHARED_BIAS"] = "1";
  if (!c.bias && !c.flags && c.softcap <= 0 && c.scale > 0) d["FUSED"] = "1";
  return operands_of(c, std::move(d));
}
void combine(Emitter& e, const AttentionCall& c, const Form& f, const AttentionArguments& a, const Operand& parts) {
  const Kernel kernel = e.kernel("attention_combine.cu", "attention_combine",
                                 {{"ELEMENT", kernel_type(c.q.data.type)}, {"HEAD", std::to_string(f.head)}});
  Grid grid;
  grid.blocks.x = unsigned(checked_int(e, c.batch * c.heads * c.rows, "number of results"));
  grid.threads.x = unsigned(std::min<int64_t>(round_up(c.v_size, 32), 128));
  e.launch(kernel, grid, {parts, c.sinks.value_or(Operand()), c.y.data, Argument::of(a)});
}

// Zeros, which the blocks that count themselves leave as zeros: a plan serves one run at a time.
Operand counters(Emitter& e, int64_t count) {
  const std::vector<int32_t> zeros(static_cast<size_t>(count), 0);
  return e.table(zeros.data(), zeros.size() * sizeof(int32_t));
}

void check_call(const Emitter& e, const AttentionCall& c) {
  if (c.kv_heads <= 0 || c.heads % c.kv_heads)
    e.fail(text("Q has ", c.heads, " heads and K ", c.kv_heads, "; expected a multiple"));
  if (c.size > kMostHeadSize || c.v_size > kMostHeadSize)
    e.fail(text("heads have ", c.size, " and ", c.v_size, " elements, expected at most ", kMostHeadSize));
}

}  // namespace

bool is_aligned(const Heads& heads, int64_t size) {
  const auto bytes = int64_t(size_of(heads.data.type)), word = 16 / bytes;
  const HeadStrides& s = heads.strides;
  return heads.data.offset % 16 == 0 && size % word == 0 && s.batch % word == 0 && s.head % word == 0 &&
         s.row % word == 0;
}

AttentionSettings::AttentionSettings(const Builder& builder)
    : tf32(builder.setting("use_tf32")),
      repeats_runs(builder.setting("enable_cuda_graph")),
      always_by_library(builder.setting("attention_by_cudnn")),
      never_by_library(builder.setting("attention_by_kernels")) {}

void expect_dims(const Emitter& e, size_t i, const Dims& dims) {
  if (e.look(i).dims != dims)
    e.fail(text("input ", i, " has shape ", shape_text(e.look(i).dims), ", expected ", shape_text(dims)));
}

bool is_attention_type(const Value* value) {
  return value &&
         (value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
          value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16);
}

int checked_int(const Emitter& e, int64_t v, const char* what) {
  if (v < -2147483647 || v > 2147483647) e.fail(text("the ", what, " is ", v, ", expected at most 2147483647"));
  return int(v);
}

ScoreOperand score_operand(const Emitter& e, const Operand& operand, const std::array<int64_t, 4>& scores,
                           int64_t* columns) {
  ScoreOperand made;
  made.data = operand;
  bool fits = operand.rank() <= 4;
  int64_t stride = 1;
  for (size_t d = operand.rank(); fits && d-- > 0;) {
    const size_t axis = 4 - operand.rank() + d;
    const int64_t extent = operand.dims[d];
    const bool shorter = axis == 3 && columns && extent < scores[3];
    fits = extent == 1 || extent == scores[axis] || shorter;
    made.strides[axis] = extent == 1 ? 0 : stride;
    if (shorter && extent != 1) *columns = extent;
    stride *= extent;
  }
  if (!fits)
    e.fail(text("the mask does not broadcast to scores of shape [", scores[0], ",", scores[1], ",", scores[2], ",",
                scores[3], "]"));
  return made;
}

void attention(Emitter& e, const AttentionCall& c) {
  if (c.batch == 0 || c.heads == 0 || c.rows == 0 || c.v_size == 0) return;
  check_call(e, c);
  if (attention_by_library(e, c)) return;
  const Form f = form_of(e.device(), c);
  const AttentionArguments a = arguments_of(e, c, f);
  const Operand none;
  const int64_t results = c.batch * c.heads * c.rows;
  const Operand parts = f.splits > 1 ? e.scratch(size_t(f.splits * results * (f.head + 2)) * sizeof(float)) : none;
  Grid grid;
  grid.blocks = {unsigned(checked_int(e, c.batch * f.splits, "batch")), unsigned(c.heads / f.pack),
                 unsigned(ceil_div(c.rows * f.pack, f.block_rows))};
  if (grid.blocks.y > 65535 || grid.blocks.z > 65535) e.fail("there are more heads or queries than a launch can have");
  grid.threads.x = unsigned(f.warps * 32);
  grid.shared_bytes = f.shared_bytes;
  std::vector<Argument> arguments{c.q.data,
                                  c.k.data,
                                  c.v.data,
                                  c.y.data,
                                  c.bias ? c.bias->data : none,
                                  c.flags ? c.flags->data : none,
                                  c.lengths.value_or(none),
                                  c.sinks.value_or(none),
                                  parts};
  const bool joins = f.entry == "attention_decode" || f.entry == "attention_group";  // itself
  if (joins) arguments.push_back(f.splits > 1 ? counters(e, c.batch * grid.blocks.y * grid.blocks.z) : none);
  arguments.push_back(Argument::of(a));
  e.launch(e.kernel(f.file, f.entry, defines_of(c, f), f.shared_bytes), grid, arguments);
  if (f.splits > 1 && !joins) combine(e, c, f, a, parts);
}

void add_attention(Kinds& kinds) {
  add_onnx_attention(kinds);
  add_multi_head(kinds);
  add_packed_attention(kinds);
  add_group_query(kinds);
  add_rotary(kinds);
}

}  // namespace providers::cuda
