// Transpose, DepthToSpace, SpaceToDepth.
#include "moves.h"

namespace providers::cuda {
namespace {

class Transpose : public Op {
 public:
  explicit Transpose(const Node& node) : perm_(node.integers("perm")) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in_any_layout(0);
    const size_t rank = x.rank();
    Dims perm = perm_;
    if (perm.empty())
      for (size_t d = rank; d-- > 0;) perm.push_back(int64_t(d));
    Dims sorted = perm;
    std::sort(sorted.begin(), sorted.end());
    for (size_t d = 0; d < std::max(rank, perm.size()); ++d)
      if (d >= rank || d >= perm.size() || sorted[d] != int64_t(d))
        e.fail(text("perm is no order of the ", rank, " axes"));
    const Dims from = strides_of(in_memory(x.dims, x.layout));
    Dims dims;
    for (const int64_t p : perm) dims.push_back(x.dims[size_t(p)]);
    const Dims to = strides_of(dims);
    Box box;
    for (size_t d = 0; d < rank; ++d)
      box.axes.push_back({dims[d], from[place_of(size_t(perm[d]), rank, x.layout)], to[d]});
    emit_view(e, 0, box, x, dims);
  }

 private:
  const Dims perm_;
};

// Strides of the four axes of an image in ONNX's order.
struct Strides {
  Strides(const Dims& dims, Layout layout) {
    const Dims s = strides_of(in_memory(dims, layout));
    n = s[0];
    c = s[place_of(1, 4, layout)];
    h = s[place_of(2, 4, layout)];
    w = s[place_of(3, 4, layout)];
  }
  int64_t n, c, h, w;
};

/// Both operators keep the layout of their input.
class BlockMove : public Op {
 public:
  explicit BlockMove(const Node& node)
      : to_space_(node.type == "DepthToSpace"),
        columns_first_(node.string("mode", "DCR") == "CRD"),
        block_(node.integer("blocksize", 0)) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in_any_layout(0);
    if (x.rank() != 4) e.fail("expected an input of four axes");
    const Dims& d = x.dims;
    const int64_t b = block_, bb = b * b;
    const bool fits = b > 0 && (to_space_ ? d[1] % bb == 0 : d[2] % b == 0 && d[3] % b == 0);
    if (!fits) e.fail(text("the shape cannot be divided into blocks of ", b));
    const Dims dims = to_space_ ? Dims{d[0], d[1] / bb, d[2] * b, d[3] * b} : Dims{d[0], d[1] * bb, d[2] / b, d[3] / b};
    const Operand y = e.out(0, x.type, dims, x.layout);
    Box box = to_space_ ? spread(dims, Strides(d, x.layout), Strides(dims, x.layout))
                        : gathered(d, Strides(d, x.layout), Strides(dims, x.layout));
    std::stable_sort(box.axes.begin(), box.axes.end(), [](const BoxAxis& p, const BoxAxis& q) { return p.to > q.to; });
    emit_box(e, box, x, y);
  }

 private:
  Box spread(const Dims& y, const Strides& from, const Strides& to) const {
    const int64_t b = block_, channels = y[1];
    Box box;
    box.axes = {{y[0], from.n, to.n},         {channels, columns_first_ ? b * b * from.c : from.c, to.c},
                {y[2] / b, from.h, b * to.h}, {b, columns_first_ ? b * from.c : b * channels * from.c, to.h},
                {y[3] / b, from.w, b * to.w}, {b, columns_first_ ? from.c : channels * from.c, to.w}};
    return box;
  }
  Box gathered(const Dims& x, const Strides& from, const Strides& to) const {
    const int64_t b = block_, channels = x[1];
    Box box;
    box.axes = {{x[0], from.n, to.n},
                {b, from.h, columns_first_ ? b * to.c : b * channels * to.c},
                {b, from.w, columns_first_ ? to.c : channels * to.c},
                {channels, from.c, columns_first_ ? b * b * to.c : to.c},
                {x[2] / b, b * from.h, to.h},
                {x[3] / b, b * from.w, to.w}};
    return box;
  }

  const bool to_space_, columns_first_;
  const int64_t block_;
};

std::string refuses_first(const Node& node, const Claiming&) { return refuses_type(node.input(0)); }

}  // namespace

void add_transposes(Kinds& kinds) {
  kinds[{"", "Transpose"}] = kind_of<Transpose>(refuses_first);
  kinds[{"", "DepthToSpace"}] = kind_of<BlockMove>(refuses_first);
  kinds[{"", "SpaceToDepth"}] = kind_of<BlockMove>(refuses_first);
}

}  // namespace providers::cuda
