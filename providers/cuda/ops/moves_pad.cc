// Pad and CenterCropPad.
#include "moves.h"

namespace providers::cuda {
namespace {

// The arguments of kernels/pad.cu.
template <typename D, typename Signed>
struct Padded {
  int32_t rank = 0, mode = 0;
  D extent[kMostAxes];
  Signed size[kMostAxes] = {}, begin[kMostAxes] = {};
  int64_t stride[kMostAxes] = {};
};

/// One axis in the order of memory.
struct PadAxis {
  int64_t size = 1, extent = 1;  ///< of the source, without what is cut off; of the target
  int64_t begin = 0;             ///< where the source begins in the target
  int64_t skip = 0;              ///< elements of the source that are cut off before
  int64_t stride = 1;            ///< of the source, in elements
  bool plain() const { return size == extent && begin == 0; }
};

/// The value that fills constant padding.
struct Filler {
  std::optional<Operand> value;
  int64_t bits = 0;
};

// Axes that are neither padded nor cut are merged with a neighbour of that kind.
std::vector<PadAxis> merged(const std::vector<PadAxis>& axes) {
  std::vector<PadAxis> result;
  for (const PadAxis& a : axes) {
    PadAxis* const last = result.empty() ? nullptr : &result.back();
    if (a.size == 1 && a.extent == 1) continue;
    if (last && last->plain() && a.plain() && last->stride == a.size * a.stride)
      *last = {last->size * a.size, last->extent * a.extent, 0, 0, a.stride};
    else
      result.push_back(a);
  }
  return result;
}

class PadOp : public Op {
 protected:
  /// `pads`: before and after each axis of ONNX's order.
  static void emit_pads(Emitter& e, const Operand& x, const Dims& before, const Dims& after, int mode,
                        const Filler& filler);
};

template <typename D, typename Signed>
Argument arguments_of(const std::vector<PadAxis>& axes, int mode, int64_t ratio) {
  Padded<D, Signed> p;
  p.mode = mode;
  for (size_t d = 0; d < axes.size(); ++d, ++p.rank) {
    const int64_t r = d + 1 == axes.size() ? ratio : 1;  // the last axis is counted in words
    p.extent[d] = D(axes[d].extent / r);
    p.size[d] = Signed(axes[d].size / r);
    p.begin[d] = Signed(axes[d].begin / r);
    p.stride[d] = r == ratio ? axes[d].stride * r / ratio : axes[d].stride / ratio;
  }
  return Argument::of(p);
}

void PadOp::emit_pads(Emitter& e, const Operand& x, const Dims& before, const Dims& after, int mode,
                      const Filler& filler) {
  const size_t rank = x.rank(), unit = size_of(x.type);
  const Dims strides = strides_of(in_memory(x.dims, x.layout));
  Dims dims = x.dims;
  std::vector<PadAxis> axes(rank);
  int64_t skipped = 0;
  for (size_t d = 0; d < rank; ++d) {
    PadAxis& a = axes[place_of(d, rank, x.layout)];
    const int64_t low = std::min<int64_t>(before[d], 0), high = std::min<int64_t>(after[d], 0);
    dims[d] = x.dims[d] + before[d] + after[d];
    if (dims[d] < 0) e.fail(text("more is cut off axis ", d, " than it has"));
    a = {std::max<int64_t>(x.dims[d] + low + high, 0), dims[d], std::max<int64_t>(before[d], 0), -low,
         strides[place_of(d, rank, x.layout)]};
    if (mode != 0 && a.size == 0 && a.extent > 0) e.fail(text("axis ", d, " has no element to pad with"));
    skipped += a.skip * a.stride;
  }
  const Operand y = e.out(0, x.type, dims, x.layout);
  if (y.count() == 0) return;
  if (x.count() == 0) skipped = 0;
  axes = merged(axes);
  if (axes.size() > kMostAxes) e.fail(text(axes.size(), " padded axes, at most ", kMostAxes));
  size_t word = unit;
  if (!axes.empty() && axes.back().plain() && axes.back().stride == 1) {
    const auto bytes = int64_t(unit);
    word = word_for(unit, {axes.back().extent * bytes, skipped * bytes});
    for (size_t d = 0; d + 1 < axes.size(); ++d) word = std::min(word, word_for(unit, {axes[d].stride * bytes}));
  }
  const auto ratio = int64_t(word / unit), count = int64_t(y.bytes() / word);
  const bool narrow = std::max(count, int64_t(x.count())) < kNarrow / 4;  // reflection doubles extents
  Operand source = x;
  source.offset += size_t(skipped) * unit;
  e.launch(move_kernel(e, {"pad.cu", "pad_words"}, word, unit, narrow), flat_grid(size_t(count), 256, 4),
           {source, y, filler.value ? Argument(*filler.value) : Argument(int64_t(0)), filler.bits, count,
            narrow ? arguments_of<Divisor, int32_t>(axes, mode, ratio)
                   : arguments_of<WideDivisor, int64_t>(axes, mode, ratio)});
}

class Pad : public PadOp {
 public:
  explicit Pad(const Node& node)
      : attributes_(node.since < 11 && node.domain != "com.microsoft"),
        pads_(node.integers("pads")),
        value_(node.number("value", 0)),
        mode_(mode_of(node.string("mode", "constant"))) {}

  static int mode_of(const std::string& mode) {
    const char* const names[] = {"constant", "reflect", "edge", "wrap"};
    for (int i = 0; i < 4; ++i)
      if (mode == names[i]) return i;
    return -1;
  }

  void emit(Emitter& e) const override {
    const Operand x = e.in_any_layout(0);
    const size_t rank = x.rank();
    const Dims pads = attributes_ ? pads_ : e.integers(1);
    Dims axes;
    if (!attributes_ && e.has(3)) {
      axes = e.integers(3);
    } else {
      for (size_t d = 0; d < rank; ++d) axes.push_back(int64_t(d));
    }
    if (pads.size() != 2 * axes.size()) e.fail(text(pads.size(), " pads for ", axes.size(), " axes"));
    Dims before(rank, 0), after(rank, 0);
    for (size_t i = 0; i < axes.size(); ++i) {
      const size_t a = axis_of(e, axes[i], rank);
      before[a] = pads[i];
      after[a] = pads[i + axes.size()];
    }
    Filler filler;
    if (attributes_) filler.bits = bits_of(x.type, value_);
    if (!attributes_ && mode_ == 0 && e.has(2) && e.look(2).count() > 0) filler.value = e.in(2);
    emit_pads(e, x, before, after, mode_, filler);
  }

 private:
  const bool attributes_;
  const Dims pads_;
  const float value_;
  const int mode_;
};

class CenterCropPad : public PadOp {
 public:
  explicit CenterCropPad(const Node& node) : axes_(node.integers("axes")), has_axes_(node.has("axes")) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in_any_layout(0);
    const Dims& shape = e.integers(1);
    Dims axes = axes_;
    for (size_t d = 0; !has_axes_ && d < x.rank(); ++d) axes.push_back(int64_t(d));
    if (shape.size() != axes.size()) e.fail(text(shape.size(), " extents for ", axes.size(), " axes"));
    Dims before(x.rank(), 0), after(x.rank(), 0);
    for (size_t i = 0; i < axes.size(); ++i) {
      const size_t a = axis_of(e, axes[i], x.rank());
      const int64_t more = shape[i] - x.dims[a];
      before[a] = more < 0 ? -(-more / 2) : more / 2;
      after[a] = more - before[a];
    }
    emit_pads(e, x, before, after, 0, {});
  }

 private:
  const Dims axes_;
  const bool has_axes_;
};

std::string refuses_pad(const Node& node, const Claiming& claiming) {
  if (const std::string why = refuses_type(node.input(0)); !why.empty()) return why;
  const std::string mode = node.string("mode", "constant");
  if (Pad::mode_of(mode) < 0) return "mode '" + mode + "'";
  if (node.since >= 11 || node.domain == "com.microsoft") {
    for (const size_t i : {1, 3})
      if (const std::string why = refuses_unknown(node, claiming, i, i == 1 ? "pads" : "axes"); !why.empty())
        return why;
    return "";
  }
  if (node.since < 2) return "the form before opset 2";
  return "";
}

std::string refuses_crop(const Node& node, const Claiming& claiming) {
  const std::string why = refuses_type(node.input(0));
  return why.empty() ? refuses_unknown(node, claiming, 1, "the shape") : why;
}

}  // namespace

void add_pads(Kinds& kinds) {
  kinds[{"", "Pad"}] = kind_of<Pad>(refuses_pad);
  kinds[{"com.microsoft", "Pad"}] = kind_of<Pad>(refuses_pad);
  kinds[{"", "CenterCropPad"}] = kind_of<CenterCropPad>(refuses_crop);
}

}  // namespace providers::cuda
