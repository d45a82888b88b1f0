// CumSum and CumProd.
#include "reductions.h"

namespace providers::cuda {
namespace {

struct Scan : Op {
  bool product = false, reverse = false, exclusive = false;

  void emit(Emitter& e) const override {
    const std::vector<int64_t>& given = e.integers(1);
    if (given.size() != 1) e.fail(text("the axis has ", given.size(), " values, expected 1"));
    const Operand x = e.in(0), y = e.out(0, x.type, x.dims);
    const AroundAxis a = around_axis(e, given[0], x.dims);
    if (y.count() == 0) return;
    const Defines defines{{"STORED", stored_type(x.type)},
                          {"PRODUCT", product ? "1" : "0"},
                          {"REVERSE", reverse ? "1" : "0"},
                          {"EXCLUSIVE", exclusive ? "1" : "0"}};
    const int64_t columns = a.outer * a.inner;
    const bool many = a.length <= 32 || (a.inner > 1 && columns >= 32 * e.device().multiprocessors());
    if (many)
      e.launch(e.kernel("scan.cu", "scan_columns", defines), {{unsigned(divide_up(columns, 128))}, {128}},
               {x, y, columns, a.length, a.inner});
    else
      e.launch(e.kernel("scan.cu", "scan_rows", defines), {{unsigned(columns)}, {1024}}, {x, y, a.length, a.inner});
  }
};

}  // namespace

void add_scans(Kinds& kinds) {
  for (const char* kind : {"CumSum", "CumProd"})
    kinds[{"", kind}] = {[](const Node& node, const Claiming& claiming) {
                           const std::string why = refuses_type(node, 0, "fdiu");
                           return !why.empty() ? why : refuses_unknown(node, claiming, 1, "the axis");
                         },
                         [](const Node& node, Builder& builder) -> std::unique_ptr<Op> {
                           auto op = std::make_unique<Scan>();
                           bind(*op, node, builder);
                           op->product = node.type == "CumProd";
                           op->reverse = node.integer("reverse", 0) != 0;
                           op->exclusive = node.integer("exclusive", 0) != 0;
                           return op;
                         }};
}

}  // namespace providers::cuda
