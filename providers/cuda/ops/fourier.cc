// DFT and STFT, by their definition: the work grows with the square of the length.
#include <cmath>

#include "expand.h"
#include "reductions.h"

namespace providers::cuda {
namespace {

constexpr int64_t kMostSize = 16384;  // longer ones are faster on a processor with a fast algorithm
constexpr double kPi = 3.14159265358979323846;

struct Transform {
  struct {
    int64_t count = 0, samples = 0, frames = 1, step = 0, inner = 1;
    int32_t size = 0, bins = 0;
  } extents;
  int64_t parts = 1, out_parts = 2;
  bool inverse = false, half = false;
};

template <typename Real>
std::vector<Real> turns(int64_t size) {
  std::vector<Real> table;
  for (int64_t i = 0; i < size; ++i) {
    const double angle = 2 * kPi * double(i) / double(size);
    table.push_back(Real(std::cos(angle)));
    table.push_back(Real(std::sin(angle)));
  }
  return table;
}

Operand table_of(Emitter& e, Type type, int64_t size) {
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE) {
    const auto made = turns<double>(size);
    return e.table(made.data(), made.size() * sizeof(double));
  }
  const auto made = turns<float>(size);
  return e.table(made.data(), made.size() * sizeof(float));
}

void run_transform(Emitter& e, Transform t, const Operand& x, const Operand& window, const Operand& y) {
  if (y.count() == 0) return;
  t.extents.count = int64_t(y.count()) / t.out_parts;
  const Defines defines{{"STORED", kernel_type(x.type)},
                        {"PARTS", std::to_string(t.parts)},
                        {"OUT_PARTS", std::to_string(t.out_parts)},
                        {"INVERSE", t.inverse ? "1" : "0"},
                        {"HALF", t.half ? "1" : "0"}};
  e.launch(e.kernel("fourier.cu", "fourier", defines), flat_grid(size_t(t.extents.count)),
           {x, window, table_of(e, x.type, t.extents.size), y, Argument::of(t.extents)});
}

// The only element of an input that the host knows.
int64_t number(Emitter& e, size_t i) {
  const auto& list = e.integers(i);
  if (list.size() != 1) e.fail(text("input ", i, " has ", list.size(), " elements, expected 1"));
  return list[0];
}

int32_t checked_size(Emitter& e, int64_t size) {
  if (size < 1 || size > INT32_MAX / 2) e.fail(text("a transform of ", size, " elements"));
  return int32_t(size);
}

class Dft final : public Op {
 public:
  explicit Dft(const Node& node)
      : axis_(node.since < 20 ? node.integer("axis", 1) : -2),
        inverse_(node.integer("inverse", 0) != 0),
        onesided_(node.integer("onesided", 0) != 0) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0);
    if (x.rank() < 2 || (x.dims.back() != 1 && x.dims.back() != 2)) e.fail("its last axis has 1 or 2 elements");
    const AroundAxis a = around_axis(e, e.has(2) ? number(e, 2) : axis_, x.dims);
    if (a.axis + 1 == x.rank()) e.fail("the axis is that of real and imaginary parts");
    Transform t;
    t.inverse = inverse_;
    t.half = inverse_ && onesided_;
    t.parts = x.dims.back();
    t.out_parts = t.half ? 1 : 2;
    t.extents.samples = a.length;
    t.extents.inner = a.inner / t.parts;
    const int64_t size = e.has(1) ? number(e, 1) : t.half ? 2 * (a.length - 1) : a.length;
    t.extents.size = checked_size(e, size);
    t.extents.bins = int32_t(onesided_ && !inverse_ ? size / 2 + 1 : size);
    Dims dims = x.dims;
    dims.back() = t.out_parts;
    dims[a.axis] = t.extents.bins;
    run_transform(e, t, x, Operand(), e.out(0, x.type, dims));
  }

 private:
  const int64_t axis_;
  const bool inverse_, onesided_;
};

class Stft final : public Op {
 public:
  explicit Stft(const Node& node) : onesided_(node.integer("onesided", 1) != 0) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0), window = e.has(2) ? e.in(2) : Operand();
    if (x.rank() != 2 && x.rank() != 3) e.fail("the signal has 2 or 3 axes");
    const int64_t size = e.has(3) ? number(e, 3) : e.has(2) ? int64_t(window.count()) : x.dims[1];
    const int64_t step = number(e, 1);
    Transform t;
    t.parts = x.rank() == 3 ? x.dims[2] : 1;
    if (t.parts != 1 && t.parts != 2) e.fail("its last axis has 1 or 2 elements");
    if (step < 1 || size > x.dims[1]) e.fail(text("frames of ", size, " elements with a step of ", step));
    if (e.has(2) && int64_t(window.count()) != size) e.fail(text("the window needs ", size, " elements"));
    t.extents.samples = x.dims[1];
    t.extents.step = step;
    t.extents.size = checked_size(e, size);
    t.extents.frames = (x.dims[1] - size) / step + 1;
    t.extents.bins = int32_t(onesided_ ? size / 2 + 1 : size);
    run_transform(e, t, x, window, e.out(0, x.type, {x.dims[0], t.extents.frames, t.extents.bins, 2}));
  }

 private:
  const bool onesided_;
};

std::string refuses_size(const Node& node, int64_t axis) {
  const Value* const x = node.input(0);
  if (!x->has_rank) return "";
  const int64_t rank = int64_t(x->rank()), at = axis < 0 ? axis + rank : axis;
  const bool is_long = at >= 0 && at < rank && x->dims[size_t(at)] > kMostSize;
  return is_long ? text("it transforms ", x->dims[size_t(at)], " elements; at most ", kMostSize) : "";
}

std::string refuses_dft(const Node& node, const Claiming& claiming) {
  for (const size_t i : {1, 2})
    if (const std::string why = refuses_unknown(node, claiming, i, "its length or axis"); !why.empty()) return why;
  const std::string why = refuses_type(node, 0, "fd");
  return why.empty() ? refuses_size(node, node.since < 20 ? node.integer("axis", 1) : -2) : why;
}

std::string refuses_stft(const Node& node, const Claiming& claiming) {
  for (const size_t i : {1, 3})
    if (const std::string why = refuses_unknown(node, claiming, i, "its step or length"); !why.empty()) return why;
  const Value* const window = node.input(2);
  if (window && window->type != node.input(0)->type) return "its window has another type";
  const std::string why = refuses_type(node, 0, "fd");
  return why.empty() && !window && !node.input(3) ? refuses_size(node, 1) : why;
}

template <typename Made>
std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<Made>(node);
  bind(*op, node, builder);
  return op;
}

}  // namespace

void add_fourier(Kinds& kinds) {
  kinds[{"", "DFT"}] = {refuses_dft, make<Dft>};
  kinds[{"", "STFT"}] = {refuses_stft, make<Stft>};
}

}  // namespace providers::cuda
