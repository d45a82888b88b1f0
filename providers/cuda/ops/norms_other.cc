// LpNormalization, MeanVarianceNormalization, EmbedLayerNormalization.
#include "rows.h"

namespace providers::cuda {
namespace {

constexpr int kThreads = 256;

struct LpNorm : Op {
  int64_t axis = -1, power = 2;

  void emit(Emitter& e) const override {
    const Operand x = e.in(0), y = e.out(0, x.type, x.dims);
    const AroundAxis a = around_axis(e, axis, x.dims);
    if (y.count() == 0) return;
    int32_t across = 1;
    while (across < 32 && across < a.inner) across *= 2;
    const int64_t tiles = divide_up(a.inner, across);
    const Defines defines{{"STORED", stored_type(x.type)}, {"POWER", std::to_string(power)}};
    e.launch(e.kernel("moments.cu", "lp_normalize", defines), {{unsigned(a.outer * tiles)}, {kThreads}},
             {x, y, tiles, a.length, a.inner, across});
  }
};

struct MeanVariance : Op {
  Dims axes;

  void emit(Emitter& e) const override {
    const Operand x = e.in(0), y = e.out(0, x.type, x.dims);
    std::vector<bool> reduced(x.rank(), false);
    for (const int64_t axis : axes) reduced[axis_of(e, axis, x.rank())] = true;
    if (y.count() == 0) return;
    const Merged m = merge_axes(x.dims, reduced);
    if (!m.fits) e.fail(text("more than ", Walk::kMost, " separate groups of axes"));
    const Defines defines{{"STORED", stored_type(x.type)}, {"POWER", "2"}};
    e.launch(e.kernel("moments.cu", "mean_variance", defines), {{unsigned(m.outs)}, {kThreads}},
             {x, y, Argument::of(m.kept), Argument::of(m.reduced), std::max<int64_t>(m.columns, 1), m.count});
  }
};

// Inputs: ids, segment ids, tables of words, positions and segments, gamma, beta, mask, position ids.
struct EmbedNorm : Op {
  float epsilon = 0;

  void emit(Emitter& e) const override {
    RowNorm n;
    n.ids[0] = e.in(0);
    n.x = e.in(2);
    n.skip = e.in(3);
    n.scale = e.in(5);
    n.shift = e.in(6);
    if (n.ids[0].rank() != 2 || n.x.rank() != 2 || n.skip.rank() != 2)
      e.fail("ids and tables of embeddings have two axes");
    const int64_t length = n.x.dims[1], sequence = n.ids[0].dims[1];
    n.rows = int64_t(n.ids[0].count());
    n.length = length;
    n.x_rows = n.x.dims[0];
    n.skip_rows = n.skip.dims[0];
    if (e.has(8)) n.ids[1] = e.in(8);
    if (e.has(8) && int64_t(n.ids[1].count()) != n.rows)
      e.fail(text("there are ", n.ids[1].count(), " position ids, expected ", n.rows));
    if (!e.has(8) && n.skip_rows < sequence)
      e.fail(text("there are ", n.skip_rows, " positions for a sequence of ", sequence));
    if (!e.has(8)) n.skip_rows = sequence;
    if (e.has(1) && e.has(4)) {
      n.ids[2] = e.in(1);
      n.bias = e.in(4);
      n.bias_rows = n.bias.dims[0];
      if (int64_t(n.ids[2].count()) != n.rows)
        e.fail(text("there are ", n.ids[2].count(), " segment ids, expected ", n.rows));
    }
    n.epsilon = epsilon;
    n.y = e.out(0, n.x.type, {n.ids[0].dims[0], sequence, length});
    if (e.has_out(2)) n.sum = e.out(2, n.x.type, {n.ids[0].dims[0], sequence, length});
    launch_norm(e, n);
    if (e.has_out(1)) count_mask(e, n.ids[0].dims[0], sequence);
  }

 private:
  static void count_mask(Emitter& e, int64_t rows, int64_t length) {
    const Operand mask = e.has(7) ? e.in(7) : Operand{};
    const Operand y = e.out(1, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, {rows});
    const Defines defines{{"STORED", "float"}, {"POWER", "2"}};
    e.launch(e.kernel("moments.cu", "count_mask", defines), {{unsigned(divide_up(rows, kThreads / 32))}, {kThreads}},
             {mask, y, rows, length});
  }
};

std::string refuses_embedding(const Node& node, const Claiming&) {
  for (const size_t i : {0, 1, 7, 8})
    if (node.input(i) && node.input(i)->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32)
      return text("input ", i, " has type ", name_of(node.input(i)->type));
  for (const size_t i : {2, 3, 4, 5, 6}) {
    if (i == 4 && !node.input(4)) continue;
    const std::string why = refuses_type(node, i, "f");
    if (!why.empty()) return why;
    if (node.input(i)->type != node.input(2)->type) return "the tables have different types";
  }
  if (!node.input(1) != !node.input(4)) return "only one of segment ids and their table is there";
  return "";
}

}  // namespace

void add_other_norms(Kinds& kinds) {
  kinds[{"", "LpNormalization"}] = {[](const Node& node, const Claiming&) -> std::string {
                                      const int64_t p = node.integer("p", 2);
                                      return p == 1 || p == 2 ? refuses_type(node, 0, "fd") : text("p = ", p);
                                    },
                                    [](const Node& node, Builder& builder) -> std::unique_ptr<Op> {
                                      auto op = std::make_unique<LpNorm>();
                                      bind(*op, node, builder);
                                      op->axis = node.integer("axis", -1);
                                      op->power = node.integer("p", 2);
                                      return op;
                                    }};
  kinds[{"", "MeanVarianceNormalization"}] = {
      [](const Node& node, const Claiming&) { return refuses_type(node, 0, "fd"); },
      [](const Node& node, Builder& builder) -> std::unique_ptr<Op> {
        auto op = std::make_unique<MeanVariance>();
        bind(*op, node, builder);
        op->axes = node.integers("axes", {0, 2, 3});
        return op;
      }};
  kinds[{"com.microsoft", "EmbedLayerNormalization"}] = {refuses_embedding,
                                                         [](const Node& node, Builder& builder) -> std::unique_ptr<Op> {
                                                           auto op = std::make_unique<EmbedNorm>();
                                                           bind(*op, node, builder);
                                                           op->epsilon = node.number("epsilon", 1e-12f);
                                                           return op;
                                                         }};
}

}  // namespace providers::cuda
