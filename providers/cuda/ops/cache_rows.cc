// TensorScatter: a cache with new rows.
#include "expand.h"
#include "reductions.h"

namespace providers::cuda {
namespace {

class TensorScatter final : public Op {
 public:
  explicit TensorScatter(const Node& node)
      : axis_(node.integer("axis", -2)), circular_(node.string("mode", "linear") == "circular") {}

  void emit(Emitter& e) const override {
    const Operand past = e.in(0), update = e.in(1);
    const AroundAxis a = around_axis(e, axis_, past.dims);
    Dims wanted = past.dims;
    if (a.axis == 0 || update.rank() != past.rank()) e.fail("the axis is the first, or the update has other axes");
    wanted[a.axis] = update.dims[a.axis];
    if (wanted != update.dims) e.fail("the update has other extents than the cache");
    const Operand begin = e.has(2) ? e.in(2) : Operand();
    if (e.has(2) && begin.dims != Dims{past.dims[0]}) e.fail("there must be an index for each sample");
    const Operand y = e.out(0, past.type, past.dims);
    if (y.count() == 0) return;
    e.copy(past, y);
    struct {
      int64_t count, rows, room, inner, prefixes;
      int32_t circular, unused;
    } x{int64_t(update.count()), update.dims[a.axis], a.length, a.inner, a.outer / past.dims[0], circular_, 0};
    if (x.count == 0) return;
    const Defines defines{{"WORD", text("u", 8 * size_of(past.type))}};
    e.launch(e.kernel("cache_rows.cu", "cache_rows", defines), flat_grid(update.count()),
             {update, begin, y, Argument::of(x)});
  }

 private:
  const int64_t axis_;
  const bool circular_;
};

std::string refuses(const Node& node, const Claiming&) {
  const Value* const begin = node.input(2);
  if (size_of(node.input(0)->type) == 0) return text("elements of type ", name_of(node.input(0)->type));
  if (begin && begin->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64) return "its indices are not int64";
  const std::string mode = node.string("mode", "linear");
  return mode == "linear" || mode == "circular" ? "" : "its mode is " + mode;
}

}  // namespace

void add_cache_rows(Kinds& kinds) {
  kinds[{"", "TensorScatter"}] = {refuses, [](const Node& node, Builder& builder) -> std::unique_ptr<Op> {
                                    auto op = std::make_unique<TensorScatter>(node);
                                    bind(*op, node, builder);
                                    return op;
                                  }};
}

}  // namespace providers::cuda
