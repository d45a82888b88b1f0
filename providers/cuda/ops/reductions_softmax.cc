// Softmax and LogSoftmax.
#include <algorithm>

#include "rows.h"

namespace providers::cuda {

RowPlan plan_rows(const Emitter& e, Type type, int64_t rows, int64_t length) {
  const int64_t size = int64_t(size_of(type)), most = size == 8 ? 16 : 32;  // elements that a thread keeps
  const int64_t wide = length % (16 / size) ? 1 : 16 / size, packs = length / wide;
  int64_t threads = 32, held = std::max<int64_t>(1, divide_up(packs, 32));
  const bool few = rows < 8 * e.device().multiprocessors() && held > 1;  // their warps would not fill the device
  if (held * wide > most || few) {
    threads = held = 0;
    for (const int64_t limit : {256, 512})
      for (int64_t n = 1; n * wide <= most && !held; n *= 2) {
        threads = divide_up(divide_up(packs, n), 32) * 32;
        if (threads <= limit) held = n;
      }
    if (!held) threads = 1024;
    if (held && threads == 32) held = divide_up(packs, 32);
  }
  if (held > 8) held = divide_up(held, 4) * 4;  // fewer variants
  const int64_t together = threads == 32 ? 4 : 1;
  RowPlan plan;
  plan.defines = {{"STORED", stored_type(type)},
                  {"WIDE", std::to_string(wide)},
                  {"THREADS", std::to_string(threads)},
                  {"PACKS", std::to_string(held)}};
  plan.grid = {{unsigned(divide_up(rows, together))}, {unsigned(threads * together)}};
  return plan;
}

namespace {

struct Softmax : Op {
  int64_t axis = -1;
  bool logarithm = false, flat = false;  // flat: all axes from `axis` on are one

  void emit(Emitter& e) const override;

 private:
  void columns(Emitter& e, const Operand& x, const Operand& y, const AroundAxis& a) const;
};

void Softmax::columns(Emitter& e, const Operand& x, const Operand& y, const AroundAxis& a) const {
  const Defines defines{{"STORED", stored_type(x.type)},
                        {"WIDE", "1"},
                        {"THREADS", "32"},
                        {"PACKS", "1"},
                        {"LOGARITHM", logarithm ? "1" : "0"}};
  const int64_t tiles = divide_up(a.inner, 32);
  const bool few = a.outer * tiles < 4 * e.device().multiprocessors();
  unsigned downs = 1;
  while (downs < (few ? 32u : 8u) && downs * 4 <= a.length) downs *= 2;
  e.launch(e.kernel("softmax.cu", "softmax_columns", defines), {{unsigned(a.outer * tiles)}, {32 * downs}},
           {x, y, tiles, a.length, a.inner});
}

void Softmax::emit(Emitter& e) const {
  const Dims dims = e.look(0).dims;
  AroundAxis a = around_axis(e, axis, dims);
  const bool last = !flat && dims.size() > 2 && e.look(0).layout == Layout::channels_last;
  const Operand x = last ? e.in_any_layout(0) : e.in(0);
  const Operand y = e.out(0, x.type, dims, x.layout);
  if (y.count() == 0) return;
  if (flat) {
    a.length *= a.inner;
    a.inner = 1;
  }
  if (last) {
    Dims order = dims;
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    const int64_t place = a.axis == 0 ? 0 : a.axis == 1 ? int64_t(dims.size()) - 1 : int64_t(a.axis) - 1;
    a = around_axis(e, place, order);
  }
  if (a.inner > 1) return columns(e, x, y, a);
  RowPlan plan = plan_rows(e, x.type, a.outer, a.length);
  plan.defines["LOGARITHM"] = logarithm ? "1" : "0";
  e.launch(e.kernel("softmax.cu", "softmax", plan.defines), plan.grid, {x, y, a.outer, a.length});
}

std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<Softmax>();
  bind(*op, node, builder);
  op->flat = node.since < 13;
  op->axis = node.integer("axis", op->flat ? 1 : -1);
  op->logarithm = node.type == "LogSoftmax";
  return op;
}

}  // namespace

void add_softmax(Kinds& kinds) {
  for (const char* kind : {"Softmax", "LogSoftmax"})
    kinds[{"", kind}] = {[](const Node& node, const Claiming&) { return refuses_type(node, 0, "fd"); }, make};
}

}  // namespace providers::cuda
