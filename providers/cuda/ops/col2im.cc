// Col2Im, for images of up to three axes.
#include "expand.h"
#include "reductions.h"

namespace providers::cuda {
namespace {

class Col2Im final : public Op {
 public:
  explicit Col2Im(const Node& node)
      : strides_(node.integers("strides")), dilations_(node.integers("dilations")), pads_(node.integers("pads")) {}

  void emit(Emitter& e) const override {
    const Dims image = e.integers(1), block = e.integers(2);
    const size_t rank = image.size();
    const Operand x = e.in(0);
    if (rank < 1 || rank > 3 || block.size() != rank || x.rank() != 3) e.fail("images have 1 to 3 axes");
    struct {
      int64_t count;
      int32_t image[3], block[3], places[3], stride[3], dilation[3], begin[3];
    } t{0, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}};
    int64_t elements = 1, places = 1;
    for (size_t i = 0; i < rank; ++i) {
      const size_t d = 3 - rank + i;
      t.image[d] = int32_t(image[i]);
      t.block[d] = int32_t(block[i]);
      t.stride[d] = int32_t(item(strides_, i, 1));
      t.dilation[d] = int32_t(item(dilations_, i, 1));
      t.begin[d] = int32_t(item(pads_, i, 0));
      const int64_t room = image[i] + t.begin[d] + item(pads_, rank + i, 0) - t.dilation[d] * (block[i] - 1) - 1;
      if (image[i] < 0 || block[i] < 1 || t.stride[d] < 1 || t.dilation[d] < 1 || room < 0)
        e.fail(text("a block of ", block[i], " elements does not fit an image of ", image[i]));
      t.places[d] = int32_t(room / t.stride[d] + 1);
      places *= t.places[d];
      elements *= block[i];
    }
    if (x.dims[1] % elements || x.dims[2] != places)
      e.fail(text("expected columns of a multiple of ", elements, " elements at ", places, " places"));
    Dims dims{x.dims[0], x.dims[1] / elements};
    dims.insert(dims.end(), image.begin(), image.end());
    const Operand y = e.out(0, x.type, dims);
    if (y.count() == 0) return;
    t.count = int64_t(y.count());
    e.launch(e.kernel("col2im.cu", "col2im", {{"STORED", kernel_type(x.type)}}), flat_grid(y.count()),
             {x, y, Argument::of(t)});
  }

 private:
  static int64_t item(const Dims& list, size_t i, int64_t otherwise) { return i < list.size() ? list[i] : otherwise; }

  const Dims strides_, dilations_, pads_;
};

std::string refuses(const Node& node, const Claiming& claiming) {
  for (const size_t i : {1, 2})
    if (const std::string why = refuses_unknown(node, claiming, i, "its shapes"); !why.empty()) return why;
  for (const size_t i : {1, 2})
    if (node.input(i)->has_rank && node.input(i)->rank() == 1 && node.input(i)->dims[0] > 3)
      return "images have 4 axes or more";
  return refuses_type(node, 0, "fd");
}

}  // namespace

void add_col2im(Kinds& kinds) {
  kinds[{"", "Col2Im"}] = {refuses, [](const Node& node, Builder& builder) -> std::unique_ptr<Op> {
                             auto op = std::make_unique<Col2Im>(node);
                             bind(*op, node, builder);
                             return op;
                           }};
}

}  // namespace providers::cuda
