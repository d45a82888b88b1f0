// Resize and Upsample: tables say what each output position reads along each axis; they are made with the plan.
#include <cmath>

#include "moves.h"
#include "resample.h"

namespace providers::cuda {
namespace {

constexpr size_t kMostBlended = 5;  // axes that one kernel interpolates

// The arguments of kernels/resize.cu.
template <typename D>
struct Resized {
  int32_t rank = 0;
  D extent[kMostAxes];
  int64_t stride[kMostAxes] = {};
  int32_t table[kMostAxes] = {};
};

struct Blend {
  int32_t axis[kMostBlended] = {}, taps[kMostBlended] = {};
};

/// One axis in the order of memory.
struct TableAxis {
  int64_t in = 1, out = 1, stride = 1;
  bool plain = true;  ///< unchanged
  AxisTable table;
};

std::vector<TableAxis> merged(std::vector<TableAxis> axes) {
  std::vector<TableAxis> result;
  for (TableAxis& a : axes) {
    TableAxis* const last = result.empty() ? nullptr : &result.back();
    if (a.plain && a.out == 1) continue;
    if (last && last->plain && a.plain)
      *last = {last->in * a.in, last->out * a.out, a.stride, true, {}};
    else
      result.push_back(std::move(a));
  }
  return result;
}

/// A ratio, of which a half is told from what lies beside it.
struct Ratio {
  int64_t size = 0, extent = 1;
  bool above(const Ratio& other) const {
    return double(size) * double(other.extent) > double(other.size) * double(extent);
  }
  int64_t times(int64_t x) const { return (2 * x * size + extent) / (2 * extent); }
};

/// What the attributes say; `first_form`: only scales, asymmetric coordinates (opset 10, and Upsample).
struct Form {
  Resampling how;
  bool first_form = false, upsample = false;
  std::string policy;
  Dims axes;
  float extrapolation = 0;
  std::vector<float> scales;  ///< of Upsample before opset 9
};

class Resize : public Op {
 public:
  explicit Resize(Form form) : form_(std::move(form)) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in_any_layout(0);
    const size_t rank = x.rank();
    Dims dims = x.dims;
    std::vector<AxisExtents> extents = extents_of(e, x.dims, dims);
    const Operand y = e.out(0, x.type, dims, x.layout);
    if (y.count() == 0) return;
    if (x.count() == 0) e.fail("an axis without elements cannot be resized");
    const Dims strides = strides_of(in_memory(x.dims, x.layout));
    std::vector<TableAxis> axes(rank);
    for (size_t d = 0; d < rank; ++d) {
      Resampling how = form_.how;
      // The first form leaves the rounding open: the lower neighbour where an axis grows, the upper where it shrinks.
      if (form_.first_form && !form_.upsample && extents[d].scale < 1) how.rounding = Rounding::ceil;
      const size_t p = place_of(d, rank, x.layout);
      axes[p] = {x.dims[d], dims[d], strides[p], keeps(how, extents[d]), {}};
      if (axes[p].plain) continue;
      if (x.dims[d] >= INT32_MAX || dims[d] >= INT32_MAX / 64) e.fail(text("axis ", d, " is too long"));
      axes[p].table = make_table(how, extents[d]);
    }
    axes = merged(std::move(axes));
    if (axes.size() > kMostAxes) e.fail(text("at most ", kMostAxes, " axes can be resized"));
    if (std::all_of(axes.begin(), axes.end(), [](const TableAxis& a) { return a.plain; })) return e.copy(x, y);
    form_.how.mode == Interpolation::nearest ? pick(e, axes, x, y) : blend(e, axes, x, y);
  }

 private:
  std::vector<AxisExtents> extents_of(Emitter& e, const Dims& x, Dims& y) const;
  std::vector<float> scales_of(Emitter& e, size_t count) const;
  void pick(Emitter& e, const std::vector<TableAxis>& axes, const Operand& x, const Operand& y) const;
  void blend(Emitter& e, const std::vector<TableAxis>& axes, const Operand& x, const Operand& y) const;

  const Form form_;
};

std::vector<float> reals_of(Emitter& e, size_t i) {
  e.integers(i);  // asks for the elements if they are not known yet
  std::vector<float> list;
  for (const double v : e.look(i).known->reals) list.push_back(float(v));
  return list;
}

std::vector<float> Resize::scales_of(Emitter& e, size_t count) const {
  const size_t input = form_.first_form ? 1 : 2;
  std::vector<float> scales = form_.scales.empty() ? reals_of(e, input) : form_.scales;
  if (scales.size() != count) e.fail(text(scales.size(), " scales for ", count, " axes"));
  for (const float s : scales)
    if (!(s > 0) || !std::isfinite(s)) e.fail(text("a scale of ", s));
  return scales;
}

std::vector<AxisExtents> Resize::extents_of(Emitter& e, const Dims& x, Dims& y) const {
  std::vector<size_t> list;
  for (const int64_t a : form_.axes) list.push_back(axis_of(e, a, x.size()));
  for (size_t d = 0; form_.axes.empty() && d < x.size(); ++d) list.push_back(d);
  const auto given = [&](size_t i) { return !form_.first_form && e.has(i) && e.look(i).count() > 0; };
  const bool by_size = given(3), stretches = form_.policy == "stretch";
  const Dims sizes = by_size ? e.integers(3) : Dims();
  if (by_size && sizes.size() != list.size()) e.fail(text(sizes.size(), " sizes for ", list.size(), " axes"));
  if (!by_size && !form_.first_form && !given(2)) e.fail("neither scales nor sizes are given");
  const std::vector<float> scales = by_size ? std::vector<float>() : scales_of(e, list.size());
  const bool crops = form_.how.coordinates == Coordinates::tf_crop_and_resize;
  const std::vector<float> roi = crops && given(1) ? reals_of(e, 1) : std::vector<float>();
  if (crops && roi.size() != 2 * list.size()) e.fail(text("roi has ", roi.size(), " numbers, not two for each axis"));
  Ratio common;
  for (size_t i = 0; by_size && !stretches && i < list.size(); ++i) {
    const Ratio r{sizes[i], std::max<int64_t>(x[list[i]], 1)};
    if (i == 0 || r.above(common) == (form_.policy == "not_smaller")) common = r;
  }
  std::vector<AxisExtents> result;
  for (const int64_t d : x) result.push_back({d, d, 1, float(d), 0, 1});
  for (size_t i = 0; i < list.size(); ++i) {
    AxisExtents& a = result[list[i]];
    if (!by_size) a.out = int64_t(std::floor(float(a.in) * scales[i]));
    if (by_size) a.out = stretches ? sizes[i] : common.times(a.in);
    if (a.out < 0) e.fail(text("a size of ", a.out));
    a.scale = !by_size    ? scales[i]
              : stretches ? float(a.out) / float(std::max<int64_t>(a.in, 1))
                          : float(common.size) / float(common.extent);
    a.length = by_size ? float(a.out) : a.scale * float(a.in);
    if (crops) {
      a.roi_begin = roi[i];
      a.roi_end = roi[i + list.size()];
    }
    y[list[i]] = a.out;
  }
  return result;
}

// All tables one after another.
struct Tables {
  std::vector<int32_t> index;
  std::vector<float> weight;
  std::vector<int32_t> begin;  // by axis; -1: plain
};
Tables joined(const std::vector<TableAxis>& axes) {
  Tables all;
  for (const TableAxis& a : axes) {
    all.begin.push_back(a.plain ? -1 : int32_t(all.index.size()));
    all.index.insert(all.index.end(), a.table.index.begin(), a.table.index.end());
    all.weight.insert(all.weight.end(), a.table.weight.begin(), a.table.weight.end());
  }
  return all;
}

template <typename D>
Argument make_resized(const std::vector<TableAxis>& axes, const Tables& tables, int64_t ratio) {
  Resized<D> r;
  for (size_t d = 0; d < axes.size(); ++d, ++r.rank) {
    const bool last = d + 1 == axes.size();
    r.extent[d] = D(last ? axes[d].out / ratio : axes[d].out);  // the last axis is counted in words
    r.stride[d] = last ? axes[d].stride : axes[d].stride / ratio;
    r.table[d] = tables.begin[d];
  }
  return Argument::of(r);
}

// Bytes of a word along the last axis, if it is unchanged.
size_t word_of(const std::vector<TableAxis>& axes, size_t unit) {
  return axes.back().plain ? word_for(unit, {axes.back().out * int64_t(unit)}) : unit;
}

void Resize::pick(Emitter& e, const std::vector<TableAxis>& axes, const Operand& x, const Operand& y) const {
  const size_t unit = size_of(x.type), word = word_of(axes, unit);
  const Tables tables = joined(axes);
  const auto count = int64_t(y.bytes() / word), ratio = int64_t(word / unit);
  const bool narrow = count < kNarrow;
  e.launch(move_kernel(e, {"resize.cu", "pick_nearest"}, word, unit, narrow), flat_grid(size_t(count), 256, 4),
           {x, y, e.table(tables.index.data(), tables.index.size() * 4), bits_of(x.type, form_.extrapolation), count,
            narrow ? make_resized<Divisor>(axes, tables, ratio) : make_resized<WideDivisor>(axes, tables, ratio)});
}

void Resize::blend(Emitter& e, const std::vector<TableAxis>& axes, const Operand& x, const Operand& y) const {
  const size_t unit = size_of(x.type), word = word_of(axes, unit);
  const Tables tables = joined(axes);
  const auto count = int64_t(y.bytes() / word), ratio = int64_t(word / unit);
  const bool narrow = count < kNarrow;
  std::vector<int32_t> which, taps;
  for (size_t d = 0; d < axes.size(); ++d) {
    if (axes[d].plain) continue;
    which.push_back(int32_t(d));
    taps.push_back(int32_t(axes[d].table.taps));
  }
  const size_t n = which.size();
  if (n > kMostBlended) e.fail(text(n, " axes to interpolate, at most ", kMostBlended));
  Blend blend;
  std::copy(which.begin(), which.end(), blend.axis);
  std::copy(taps.begin(), taps.end(), blend.taps);
  const Defines defines{{"ELEMENT", kernel_type(x.type)},
                        {"AXES", std::to_string(n)},
                        {"TAPS", std::to_string(form_.how.antialias ? 0 : taps[0])},
                        {"ROUND", form_.how.antialias ? "1" : "0"}};
  e.launch(move_kernel(e, {"resize.cu", "blend_axes"}, word, unit, narrow, defines), flat_grid(size_t(count)),
           {x, y, e.table(tables.index.data(), tables.index.size() * 4),
            e.table(tables.weight.data(), tables.weight.size() * 4), form_.extrapolation, count,
            narrow ? make_resized<Divisor>(axes, tables, ratio) : make_resized<WideDivisor>(axes, tables, ratio),
            Argument::of(blend)});
}

// The list of floating-point numbers of an attribute.
std::vector<float> reals_of(const Node& node, const std::string& name) {
  const auto at = node.attributes.find(name);
  if (at == node.attributes.end()) return {};
  std::vector<float> list(16);
  size_t bytes = 0;
  check(api().ReadOpAttr(at->second, ORT_OP_ATTR_FLOATS, list.data(), list.size() * sizeof(float), &bytes));
  list.resize(bytes / sizeof(float));
  return list;
}

Form form_of(const Node& node) {
  Form f;
  f.upsample = node.type == "Upsample";
  f.first_form = f.upsample || node.since < 11;
  f.policy = node.string("keep_aspect_ratio_policy", "stretch");
  f.axes = node.integers("axes");
  f.extrapolation = node.number("extrapolation_value", 0);
  if (f.upsample && node.since < 9) f.scales = reals_of(node, "scales");
  f.how.cubic_a = node.number("cubic_coeff_a", -0.75f);
  f.how.exclude_outside = node.integer("exclude_outside", 0) != 0;
  f.how.antialias = node.integer("antialias", 0) != 0;
  std::string mode = node.string("mode", "nearest");
  if (mode == "bilinear") mode = "linear";
  if (!read_name(mode, f.how.mode)) throw Error("mode '" + mode + "'");
  if (f.first_form) {
    f.how.coordinates = Coordinates::asymmetric;
    f.how.rounding = Rounding::floor;
    return f;
  }
  const std::string coordinates = node.string("coordinate_transformation_mode", "half_pixel");
  if (!read_name(coordinates, f.how.coordinates)) throw Error("coordinates '" + coordinates + "'");
  const std::string rounding = node.string("nearest_mode", "round_prefer_floor");
  if (!read_name(rounding, f.how.rounding)) throw Error("nearest_mode '" + rounding + "'");
  return f;
}

std::string refuses_resize(const Node& node, const Claiming& claiming) {
  if (const std::string why = refuses_type(node.input(0)); !why.empty()) return why;
  if (node.type == "Upsample" && node.since < 7) return "the form before opset 7";
  Form form;
  try {
    form = form_of(node);
  } catch (const Error& e) {
    return e.what();
  }
  const Type t = node.in[0]->type;
  const bool blends = form.how.mode != Interpolation::nearest;
  const bool real = t == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || t == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
                    t == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 || t == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE ||
                    t == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 || t == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
  if (blends && !real) return text("interpolation of ", name_of(t));
  if (blends && (!node.in[0]->has_rank || node.in[0]->rank() > kMostBlended))
    return "interpolation of more than 5 axes";
  const bool crops = form.how.coordinates == Coordinates::tf_crop_and_resize;
  const char* const names[] = {"", crops || form.first_form ? "roi or scales" : "", "scales", "sizes"};
  for (size_t i = 1; i < 4; ++i)
    if (const std::string why = *names[i] ? refuses_unknown(node, claiming, i, names[i]) : ""; !why.empty()) return why;
  return "";
}

}  // namespace

void add_resize(Kinds& kinds) {
  const Kind kind{refuses_resize, [](const Node& node, Builder&) -> std::unique_ptr<Op> {
                    return std::make_unique<Resize>(form_of(node));
                  }};
  kinds[{"", "Resize"}] = kinds[{"", "Upsample"}] = kind;
  add_samples(kinds);
}

}  // namespace providers::cuda
