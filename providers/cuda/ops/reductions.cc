// Reduce*: the sum, mean, greatest and so on over any axes.
#include "reductions.h"

#include <algorithm>
#include <numeric>

namespace providers::cuda {
namespace {

constexpr int kThreads = 256;

bool has_integer_result(const std::string& kind) {
  return kind == "ReduceSum" || kind == "ReduceMean" || kind == "ReduceMax" || kind == "ReduceMin" ||
         kind == "ReduceProd" || kind == "ReduceL1" || kind == "ReduceSumSquare";
}

struct Reduce : Op {
  std::string kind;
  Dims axes;  // of the attribute
  bool keep = true, none_is_none = false;

  void emit(Emitter& e) const override;

 private:
  std::vector<bool> chosen(const Emitter& e, const Dims& dims) const;
  Defines defines(Type type, const Merged& m) const;
  bool short_rows(Emitter& e, const Operand& x, const Operand& y, const Merged& m) const;
  void rows(Emitter& e, const Operand& x, const Operand& y, const Merged& m) const;
  void columns(Emitter& e, const Operand& x, const Operand& y, const Merged& m) const;
  size_t state_bytes(Type type) const;
};

std::vector<bool> Reduce::chosen(const Emitter& e, const Dims& dims) const {
  const Dims given = e.has(1) ? Dims(e.integers(1)) : axes;
  std::vector<bool> reduced(dims.size(), given.empty() && !none_is_none);
  for (const int64_t axis : given)
    if (!dims.empty()) reduced[axis_of(e, axis, dims.size())] = true;
  return reduced;
}

// The kept axes of a tensor with its channels last come out in ONNX's order.
bool natural(const Dims& dims, const std::vector<bool>& reduced) {
  if (reduced[1] || dims[1] == 1) return true;
  for (size_t d = 2; d < dims.size(); ++d)
    if (!reduced[d] && dims[d] != 1) return false;
  return true;
}

Defines Reduce::defines(Type type, const Merged& m) const {
  const bool integer = !is_real(type) && type != ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
  std::string computed = summed_type(type);
  if (integer && !has_integer_result(kind)) computed = "double";
  if (integer && (kind == "ReduceMax" || kind == "ReduceMin") && size_of(type) < 4) computed = "int";
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 && computed == "i64") computed = "u64";
  const bool limits = computed != "double" || !integer;
  const Type real = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  return {{"STORED", stored_type(type)},
          {"COMPUTED", computed},
          {"OP", kind},
          {"PLAIN", m.plain ? "1" : "0"},
          {"LEAST", least_of(limits ? type : real)},
          {"GREATEST", greatest_of(limits ? type : real)}};
}

size_t Reduce::state_bytes(Type type) const {
  return kind == "ReduceLogSumExp" ? 2 * (is_real(type) ? 4 : 8) : summed_bytes(type);
}

// Threads of a row that none of them has nothing to do for: a power of two, up to a warp.
int64_t lanes_for(int64_t accesses) {
  int64_t lanes = 1;
  while (lanes < 32 && lanes * 2 <= accesses) lanes *= 2;
  return lanes;
}

// Chunks of each result, so that `blocks` blocks become about as many as wanted; each has at least `least` elements.
int64_t chunks_for(int64_t wanted, int64_t blocks, int64_t count, int64_t least) {
  if (blocks * 8 > wanted * 3) return 1;
  return std::max<int64_t>(1, std::min({wanted / std::max<int64_t>(blocks, 1), count / least, int64_t(1024)}));
}

// Of each result: a thread joins them if there are results enough, else a warp.
void join_chunks(Emitter& e, Defines defines, const Operand& partial, const Operand& y, const Merged& m,
                 int64_t chunks) {
  const int64_t lanes = m.outs >= 4096 && chunks <= 64 ? 1 : 32;
  defines["LANES"] = std::to_string(lanes);
  e.launch(e.kernel("reduce.cu", "reduce_chunks", defines),
           {{unsigned(divide_up(m.outs * lanes, kThreads))}, {kThreads}},
           {partial, y, m.outs, int32_t(chunks), m.count});
}

// Rows whose accesses a group of at most 32 threads has on their way at once, with those of other rows.
bool Reduce::short_rows(Emitter& e, const Operand& x, const Operand& y, const Merged& m) const {
  int64_t each = 16 / int64_t(size_of(x.type));
  while (m.count % each) each /= 2;
  const int64_t accesses = m.count / each;
  const int64_t lanes = lanes_for(accesses);
  const int64_t held = divide_up(accesses, lanes), groups = kThreads / lanes;
  if (!m.plain || held > 8 || m.count == 0) return false;
  const int64_t rows = held == 1 && m.outs >= groups * e.device().multiprocessors() * 8 ? 2 : 1;
  Defines d = defines(x.type, m);
  d.insert({{"LANES", std::to_string(lanes)},
            {"LOADS", "1"},
            {"ROWS", std::to_string(rows)},
            {"HELD", std::to_string(held)},
            {"EACH", std::to_string(each)}});
  e.launch(e.kernel("reduce.cu", "reduce_short_rows", d), {{unsigned(divide_up(m.outs, groups * rows))}, {kThreads}},
           {x, y, Argument::of(m.kept), m.outs, m.count});
  return true;
}

void Reduce::rows(Emitter& e, const Operand& x, const Operand& y, const Merged& m) const {
  if (short_rows(e, x, y, m)) return;
  int64_t lanes = lanes_for(m.count);
  if (m.count > 4096 || (m.count > 512 && m.outs < 32 * e.device().multiprocessors())) lanes = kThreads;
  const int64_t blocks = divide_up(m.outs, kThreads / lanes);
  int64_t chunks = lanes == kThreads ? chunks_for(4 * e.device().multiprocessors(), blocks, m.count, 4096) : 1;
  const int64_t chunk = std::max<int64_t>(divide_up(divide_up(m.count, chunks), 1024), 1) * 1024;
  chunks = std::max<int64_t>(1, divide_up(m.count, chunk));
  Defines d = defines(x.type, m);
  d["LANES"] = std::to_string(lanes);
  d["LOADS"] = "8";
  const Operand partial = chunks > 1 ? e.scratch(size_t(m.outs * chunks) * state_bytes(x.type)) : Operand{};
  e.launch(e.kernel("reduce.cu", "reduce_rows", d), {{unsigned(blocks), unsigned(chunks)}, {kThreads}},
           {x, y, partial, Argument::of(m.kept), Argument::of(m.reduced), m.outs, m.count, chunk});
  if (chunks > 1) join_chunks(e, d, partial, y, m, chunks);
}

// Whether each column's place is a multiple of `wide` elements.
bool even(const Merged& m, int64_t wide) {
  bool all = m.columns % wide == 0;
  for (int i = 0; i < m.kept.rank; ++i) all = all && m.kept.stride[i] % wide == 0;
  for (int i = 0; i < m.reduced.rank; ++i) all = all && (m.reduced.stride[i] % wide == 0 || m.count == 1);
  return all;
}

void Reduce::columns(Emitter& e, const Operand& x, const Operand& y, const Merged& m) const {
  int64_t wide = 16 / int64_t(size_of(x.type));
  while (wide > 1 && (!even(m, wide) || m.columns < wide * 8)) wide /= 2;
  int64_t across = 1;
  while (across < 32 && across * wide < m.columns) across *= 2;
  const int64_t size = int64_t(size_of(x.type)), processors = e.device().multiprocessors();
  const auto blocks_of = [&](int64_t threads) { return m.outs / m.columns * divide_up(m.columns, threads * wide); };
  // Half as wide blocks may be enough without chunks.
  if (across == 32 && blocks_of(32) < 4 * processors && blocks_of(16) * 2 > 3 * processors) across = 16;
  const int64_t down = kThreads / across, blocks = blocks_of(across);
  // Narrower accesses need more threads to keep memory busy.
  const int64_t wanted = processors * (wide * size < 16 ? 16 : size < 4 ? 2 : 4);
  int64_t chunks = chunks_for(wanted, blocks, m.count, down * 8);
  const int64_t chunk = divide_up(divide_up(m.count, chunks), down) * down;
  chunks = std::max<int64_t>(1, divide_up(m.count, std::max<int64_t>(chunk, 1)));
  Defines d = defines(x.type, m);
  d["ACROSS"] = std::to_string(across);
  d["WIDE"] = std::to_string(wide);
  d["LOADS"] = "8";
  const Operand partial = chunks > 1 ? e.scratch(size_t(m.outs * chunks) * state_bytes(x.type)) : Operand{};
  e.launch(e.kernel("reduce.cu", "reduce_columns", d), {{unsigned(blocks), unsigned(chunks)}, {kThreads}},
           {x, y, partial, Argument::of(m.kept), Argument::of(m.reduced), m.outs, m.columns, m.count, chunk});
  if (chunks == 1) return;
  Defines join = defines(x.type, m);
  join["LOADS"] = "1";
  join_chunks(e, join, partial, y, m, chunks);
}

void Reduce::emit(Emitter& e) const {
  const Dims dims = e.look(0).dims;
  std::vector<bool> reduced = chosen(e, dims);
  if (none_is_none && (e.has(1) ? e.integers(1).empty() : axes.empty())) {
    e.alias(0, e.in(0), dims);
    return;
  }
  Dims result;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!reduced[d]) result.push_back(dims[d]);
    if (reduced[d] && keep) result.push_back(1);
  }
  const bool last = e.look(0).layout == Layout::channels_last && dims.size() > 2 && natural(dims, reduced);
  const Operand x = last ? e.in_any_layout(0) : e.in(0);
  const Operand y = e.out(0, x.type, result);
  if (y.count() == 0) return;
  Dims order = dims;
  if (last) {
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    std::rotate(reduced.begin() + 1, reduced.begin() + 2, reduced.end());
  }
  const Merged m = merge_axes(order, reduced);
  if (!m.fits) e.fail(text("more than ", Walk::kMost, " separate groups of axes to reduce"));
  m.columns ? columns(e, x, y, m) : rows(e, x, y, m);
}

std::string refuses(const Node& node, const Claiming& claiming) {
  const bool extreme = node.type == "ReduceMax" || node.type == "ReduceMin";
  const std::string why = refuses_type(node, 0, extreme ? "fdiub" : "fdiu");
  if (!why.empty()) return why;
  const Value* x = node.input(0);
  if (x->has_rank && x->rank() > 2 * Walk::kMost) return text("rank ", x->rank());
  return refuses_unknown(node, claiming, 1, "the axes");
}

std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<Reduce>();
  bind(*op, node, builder);
  op->kind = node.type;
  op->axes = node.integers("axes");
  op->keep = node.integer("keepdims", 1) != 0;
  op->none_is_none = node.integer("noop_with_empty_axes", 0) != 0;
  return op;
}

}  // namespace

void add_reductions(Kinds& kinds) {
  for (const char* kind : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare",
                           "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"})
    kinds[{"", kind}] = {refuses, make};
  add_softmax(kinds);
  add_extremes(kinds);
  add_scans(kinds);
  add_topk(kinds);
  add_recurrent(kinds);
}

}  // namespace providers::cuda
