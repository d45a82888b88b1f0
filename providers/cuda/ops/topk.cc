// TopK with a k that is known when the plan is made.
#include <algorithm>

#include "reductions.h"

namespace providers::cuda {
namespace {

constexpr int64_t kMostByTiles = 1024;  // greatest k for which tiles are sorted; they halve the row at least

// The kernel's struct of this name.
struct Rows {
  int64_t length, inner, candidates, k;
};

struct TopK : Op {
  int64_t axis = -1, k = -1;  // k: of the attribute; -1: an input
  bool greatest = true;

  void emit(Emitter& e) const override;

 private:
  struct Job {
    Operand x, values, indices;
    int64_t rows;
    Rows r;
    Defines defines;
    size_t key_bytes;
  };
  void by_tiles(Emitter& e, const Job& job) const;
  void by_digits(Emitter& e, const Job& job) const;
};

void TopK::by_tiles(Emitter& e, const Job& job) const {
  Rows r = job.r;
  Operand old_keys, old_places;
  for (bool done = false; !done;) {
    const int64_t count = r.candidates ? r.candidates : r.length;
    const int64_t most = r.k > 256 && job.key_bytes == 4 ? 4096 : 2048;
    int64_t tile = 64;
    while (tile < most && tile < count) tile *= 2;
    const int64_t tiles = divide_up(count, tile);
    done = tiles == 1;
    const size_t kept = done ? 0 : size_t(job.rows * tiles * r.k);
    const Operand keys = done ? Operand{} : e.scratch(kept * job.key_bytes);
    const Operand places = done ? Operand{} : e.scratch(kept * 4);
    Defines defines = job.defines;
    defines["TILE"] = std::to_string(tile);
    const unsigned threads = unsigned(std::min<int64_t>(tile / 2, 1024));
    e.launch(e.kernel("topk.cu", "topk_tiles", defines), {{unsigned(job.rows * tiles)}, {threads}},
             {job.x, old_keys, old_places, keys, places, job.values, job.indices, tiles, Argument::of(r)});
    old_keys = keys;
    old_places = places;
    r.candidates = tiles * r.k;
  }
}

void TopK::by_digits(Emitter& e, const Job& job) const {
  int32_t room = 1;
  while (room < job.r.k) room *= 2;
  const Operand keys = e.scratch(size_t(job.rows) * size_t(room) * job.key_bytes);
  const Operand places = e.scratch(size_t(job.rows) * size_t(room) * 4);
  e.launch(e.kernel("topk.cu", "topk_select", job.defines), {{unsigned(job.rows)}, {1024}},
           {job.x, keys, places, job.values, job.indices, room, Argument::of(job.r)});
}

void TopK::emit(Emitter& e) const {
  int64_t wanted = k;
  if (e.inputs() > 1) {
    const std::vector<int64_t>& given = e.integers(1);
    if (given.size() != 1) e.fail(text("k has ", given.size(), " values, expected 1"));
    wanted = given[0];
  }
  Job job;
  job.x = e.in(0);
  const AroundAxis a = around_axis(e, axis, job.x.dims);
  if (wanted < 0 || wanted > a.length) e.fail(text("k is ", wanted, ", the axis has ", a.length, " elements"));
  if (a.length >> 30) e.fail(text("the axis has ", a.length, " elements, expected less than 2^30"));
  Dims dims = job.x.dims;
  if (!dims.empty()) dims[a.axis] = wanted;
  const auto output = [&](size_t i, Type type) {  // the kernels write both
    if (e.has_out(i)) return e.out(i, type, dims);
    Operand unused = e.scratch(size_t(product(dims, 0, dims.size())) * size_of(type));
    return unused;
  };
  job.values = output(0, job.x.type);
  job.indices = output(1, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
  if (product(dims, 0, dims.size()) == 0) return;
  job.rows = a.outer * a.inner;
  job.r = {a.length, a.inner, 0, wanted};
  job.key_bytes = size_of(job.x.type) == 8 ? 8 : 4;
  job.defines = {{"STORED", stored_type(job.x.type)},
                 {"KEY", job.key_bytes == 8 ? "u64" : "u32"},
                 {"GREATEST", greatest ? "1" : "0"}};
  wanted <= kMostByTiles ? by_tiles(e, job) : by_digits(e, job);
}

std::string refuses(const Node& node, const Claiming& claiming) {
  const std::string why = refuses_type(node, 0, "fdiub");
  return !why.empty() ? why : refuses_unknown(node, claiming, 1, "k");
}

std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<TopK>();
  bind(*op, node, builder);
  op->axis = node.integer("axis", -1);
  op->k = node.integer("k", -1);
  op->greatest = node.integer("largest", 1) != 0;
  return op;
}

}  // namespace

void add_topk(Kinds& kinds) { kinds[{"", "TopK"}] = {refuses, make}; }

}  // namespace providers::cuda
