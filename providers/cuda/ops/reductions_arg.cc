// ArgMax, ArgMin and Hardmax.
#include <algorithm>

#include "reductions.h"

namespace providers::cuda {
namespace {

struct Arg : Op {
  int64_t axis = 0;
  bool greatest = true, last = false, keep = true;
  bool mark = false, flat = false;  // Hardmax; its axes from `axis` on are one

  void emit(Emitter& e) const override {
    const Operand x = e.in(0);
    AroundAxis a = around_axis(e, axis, x.dims);
    Dims dims = x.dims;
    if (!mark && !dims.empty()) keep ? void(dims[a.axis] = 1) : void(dims.erase(dims.begin() + long(a.axis)));
    const Operand y = e.out(0, mark ? x.type : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, dims);
    if (y.count() == 0) return;
    if (a.length == 0) e.fail(text("axis ", axis, " has no elements"));
    if (flat) {
      a.length *= a.inner;
      a.inner = 1;
    }
    const bool few = a.outer * a.inner < e.device().multiprocessors() && a.length > 4096;
    const int32_t threads = few ? 1024 : 256;
    int32_t across = 1, downs = 1;
    while (across < 32 && across < a.inner) across *= 2;
    while (across * downs < threads && downs * 2 <= a.length) downs *= 2;
    const int64_t tiles = divide_up(a.inner, across), outers = divide_up(a.outer, threads / (across * downs));
    const Defines defines{{"STORED", stored_type(x.type)},
                          {"GREATEST", greatest ? "1" : "0"},
                          {"LAST", last ? "1" : "0"},
                          {"MARK", mark ? "1" : "0"},
                          {"THREADS", std::to_string(threads)}};
    e.launch(e.kernel("arg.cu", "arg_best", defines), {{unsigned(outers * tiles)}, {unsigned(threads)}},
             {x, y, a.outer, tiles, a.length, a.inner, across, downs});
  }
};

std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<Arg>();
  bind(*op, node, builder);
  op->mark = node.type == "Hardmax";
  op->flat = op->mark && node.since < 13;
  op->axis = node.integer("axis", !op->mark ? 0 : op->flat ? 1 : -1);
  op->greatest = node.type != "ArgMin";
  op->keep = node.integer("keepdims", 1) != 0;
  op->last = node.integer("select_last_index", 0) != 0;
  return op;
}

}  // namespace

void add_extremes(Kinds& kinds) {
  for (const char* kind : {"ArgMax", "ArgMin"})
    kinds[{"", kind}] = {[](const Node& node, const Claiming&) { return refuses_type(node, 0, "fdiub"); }, make};
  kinds[{"", "Hardmax"}] = {[](const Node& node, const Claiming&) { return refuses_type(node, 0, "fd"); }, make};
}

}  // namespace providers::cuda
