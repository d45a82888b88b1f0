#include "cudnn_graph.h"

#include <algorithm>
#include <functional>

namespace software_cuda::dnn {

const Value* Data::find(int name) const {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : &found->second;
}
int64_t Data::integer(int name, int64_t otherwise) const {
  const Value* const v = find(name);
  return v && !v->integers.empty() ? v->integers[0] : otherwise;
}
double Data::real(int name, double otherwise) const {
  const Value* const v = find(name);
  return v && !v->reals.empty() ? v->reals[0] : otherwise;
}
std::vector<int64_t> Data::integers(int name) const {
  const Value* const v = find(name);
  return v ? v->integers : std::vector<int64_t>();
}
const Data* Data::descriptor(int name) const {
  const Value* const v = find(name);
  return v && !v->descriptors.empty() ? v->descriptors[0].get() : nullptr;
}

Tensor::Tensor(const Data& d)
    : id(d.integer(906, 0)),
      within(d.integer(907, 0) != 0),
      by_value(d.integer(908, 0) != 0),
      dims(d.integers(902)),
      strides(d.integers(903)) {
  switch (d.integer(901, -1)) {
    case 0:
      type = Number::f32;
      break;
    case 1:
      type = Number::f64;
      break;
    case 2:
      type = Number::f16;
      break;
    case 4:
      type = Number::i32;
      break;
    case 9:
      type = Number::bf16;
      break;
    case 11:
      type = Number::u8;  // bool
      break;
    default:
      throw Refusal{kUnsupported, "a tensor of a type that the stand-in does not have"};
  }
}

int64_t Tensor::count() const {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

const Data& need(const Data& d, int name) {
  const Data* const found = d.descriptor(name);
  if (!found) throw Refusal{kBadParameter, "attribute " + std::to_string(name) + " is not set"};
  return *found;
}

namespace {

struct Shape {
  explicit Shape(const Data& o);
  void check() const;
  bool back;
  Tensor x, w, y;  // of the convolution; its gradient reads y and makes x
  std::vector<int64_t> strides, dilations, begins, ends;
  double alpha, beta;
  int64_t groups, outputs, channels;  // of a group
  size_t axes;
};

Shape::Shape(const Data& o)
    : back(o.kind == kBackwardData),
      x(need(o, back ? 710 : 704)),
      w(need(o, back ? 709 : 703)),
      y(need(o, back ? 711 : 705)),
      alpha(o.real(back ? 706 : 700, 1)),
      beta(o.real(back ? 707 : 701, 0)) {
  const Data& c = need(o, back ? 708 : 702);
  strides = c.integers(103);
  dilations = c.integers(102);
  begins = c.integers(105);
  ends = c.integers(104);
  axes = size_t(c.integer(106, 0));
  check();
  channels = w.dims[1];
  groups = x.dims[1] / channels;
  outputs = w.dims[0] / groups;
}

void Shape::check() const {
  const size_t rank = axes + 2;
  const auto wrong = [](const std::string& what) { throw Refusal{kBadParameter, what}; };
  for (const Tensor* t : {&x, &w, &y})
    if (t->dims.size() != rank || t->strides.size() != rank) wrong("a tensor of another rank than the convolution");
  for (const auto* list : {&strides, &dilations, &begins, &ends})
    if (list->size() != axes) wrong("a list of another length than the convolution's axes");
  if (axes < 2 || axes > 3) throw Refusal{kUnsupported, "a convolution of other than 2 or 3 axes"};
  if (x.dims[0] != y.dims[0] || y.dims[1] != w.dims[0]) wrong("batch or channels do not fit");
  if (w.dims[1] < 1 || x.dims[1] % w.dims[1] || w.dims[0] % (x.dims[1] / w.dims[1])) wrong("the groups do not fit");
  for (size_t i = 0; i < axes; ++i) {
    const int64_t room = x.dims[i + 2] + begins[i] + ends[i] - ((w.dims[i + 2] - 1) * dilations[i] + 1);
    if (room < 0 || room / strides[i] + 1 != y.dims[i + 2])
      wrong("axis " + std::to_string(i) + ": the extent of the output does not fit");
  }
}

/// Goes through all indices of an extent, with the offsets of the strides.
void walk(const std::vector<int64_t>& dims, const std::function<void(const std::vector<int64_t>&)>& visit) {
  for (const int64_t d : dims)
    if (d == 0) return;
  std::vector<int64_t> at(dims.size());
  for (;;) {
    visit(at);
    size_t i = dims.size();
    while (i-- > 0) {
      if (++at[i] < dims[i]) break;
      at[i] = 0;
    }
    if (i == size_t(-1)) return;
  }
}

int64_t offset(const std::vector<int64_t>& at, const std::vector<int64_t>& strides, size_t from = 0) {
  int64_t sum = 0;
  for (size_t i = 0; i < at.size(); ++i) sum += at[i] * strides[i + from];
  return sum;
}

std::vector<int64_t> spatial(const Tensor& t) { return {t.dims.begin() + 2, t.dims.end()}; }

/// The place of what the tap `tap` reads for the output `at`, from the begin of a channel; -1: in the padding.
int64_t source(const Shape& s, const std::vector<int64_t>& at, const std::vector<int64_t>& tap) {
  int64_t sum = 0;
  for (size_t i = 0; i < s.axes; ++i) {
    const int64_t p = at[i] * s.strides[i] - s.begins[i] + tap[i] * s.dilations[i];
    if (p < 0 || p >= s.x.dims[i + 2]) return -1;
    sum += p * s.x.strides[i + 2];
  }
  return sum;
}

/// All positions of the taps (or outputs), in order.
std::vector<std::vector<int64_t>> positions(const std::vector<int64_t>& dims) {
  std::vector<std::vector<int64_t>> all;
  walk(dims, [&](const auto& at) { all.push_back(at); });
  return all;
}

void forward(const Shape& s, const void* x, const void* w, void* y) {
  const auto taps = positions(spatial(s.w)), outputs = positions(spatial(s.y));
  const auto depth = s.channels * int64_t(taps.size());
  std::vector<float> filter(static_cast<size_t>(s.outputs * depth)), row(static_cast<size_t>(depth));
  for (int64_t n = 0; n < s.x.dims[0]; ++n) {
    for (int64_t g = 0; g < s.groups; ++g) {
      size_t i = 0;
      for (int64_t k = 0; k < s.outputs; ++k)
        for (int64_t c = 0; c < s.channels; ++c)
          for (const auto& t : taps)
            filter[i++] = float(load(
                s.w.type, w, (g * s.outputs + k) * s.w.strides[0] + c * s.w.strides[1] + offset(t, s.w.strides, 2)));
      for (const auto& at : outputs) {
        for (size_t t = 0; t < taps.size(); ++t) {
          const int64_t from = source(s, at, taps[t]);
          for (int64_t c = 0; c < s.channels; ++c)
            row[size_t(c) * taps.size() + t] =
                from < 0 ? 0
                         : float(load(s.x.type, x, n * s.x.strides[0] + (g * s.channels + c) * s.x.strides[1] + from));
        }
        for (int64_t k = 0; k < s.outputs; ++k)
          store(s.y.type, y, n * s.y.strides[0] + (g * s.outputs + k) * s.y.strides[1] + offset(at, s.y.strides, 2),
                s.alpha * double(dot(&filter[size_t(k * depth)], row.data(), depth)));
      }
    }
  }
}

/// The gradient by the data of one group of one batch element, into sums by channel and place.
void gather_back(const Shape& s, int64_t n, int64_t g, const void* y, const std::vector<float>& filter,
                 const std::vector<int64_t>& dense, std::vector<float>& sums) {
  const auto taps = positions(spatial(s.w)), places = positions(spatial(s.y));
  const auto plane = int64_t(sums.size()) / s.channels;
  std::vector<float> row(static_cast<size_t>(s.outputs));
  for (const auto& at : places) {
    for (int64_t k = 0; k < s.outputs; ++k)
      row[size_t(k)] = float(
          load(s.y.type, y, n * s.y.strides[0] + (g * s.outputs + k) * s.y.strides[1] + offset(at, s.y.strides, 2)));
    for (size_t t = 0; t < taps.size(); ++t) {
      if (source(s, at, taps[t]) < 0) continue;
      int64_t to = 0;
      for (size_t i = 0; i < s.axes; ++i)
        to += (at[i] * s.strides[i] - s.begins[i] + taps[t][i] * s.dilations[i]) * dense[i];
      for (int64_t c = 0; c < s.channels; ++c)
        sums[size_t(c * plane + to)] +=
            dot(&filter[(size_t(c) * taps.size() + t) * size_t(s.outputs)], row.data(), s.outputs);
    }
  }
}

void backward(const Shape& s, const void* y, const void* w, void* x) {
  const auto taps = positions(spatial(s.w)), places = positions(spatial(s.x));
  std::vector<int64_t> dense(s.axes, 1);
  for (size_t i = s.axes - 1; i-- > 0;) dense[i] = dense[i + 1] * s.x.dims[i + 3];
  std::vector<float> filter(size_t(s.outputs * s.channels) * taps.size());
  for (int64_t n = 0; n < s.x.dims[0]; ++n) {
    for (int64_t g = 0; g < s.groups; ++g) {
      size_t i = 0;
      for (int64_t c = 0; c < s.channels; ++c)
        for (const auto& t : taps)
          for (int64_t k = 0; k < s.outputs; ++k)
            filter[i++] = float(load(
                s.w.type, w, (g * s.outputs + k) * s.w.strides[0] + c * s.w.strides[1] + offset(t, s.w.strides, 2)));
      std::vector<float> sums(size_t(s.channels) * places.size());
      gather_back(s, n, g, y, filter, dense, sums);
      for (int64_t c = 0; c < s.channels; ++c)
        for (size_t p = 0; p < places.size(); ++p)
          store(s.x.type, x,
                n * s.x.strides[0] + (g * s.channels + c) * s.x.strides[1] + offset(places[p], s.x.strides, 2),
                s.alpha * double(sums[size_t(c) * places.size() + p]));
    }
  }
}

constexpr int kIndexMode = 501, kSelectMode = 601;

/// A function of one or two numbers.
std::function<double(double, double)> function_of(const Data& d) {
  switch (d.integer(0, -1)) {
    case 0:
      return [](double a, double b) { return a + b; };
    case 1:
      return [](double a, double b) { return a * b; };
    case 3:
      return [](double a, double b) { return a > b || a != a ? a : b; };
    case 6:
      return [](double a, double b) { return a / b; };
    case 9:
      return [](double a, double b) { return a - b; };
    case 13:
      return [](double a, double) { return std::exp(a); };
    case 15:
      return [](double a, double) { return std::log(a); };
    case 100: {
      const double lower = d.real(3, 0), upper = d.real(4, 3.4e38), slope = d.real(5, 0);
      return
          [=](double v, double) { return v > lower || v != v ? (v > upper ? upper : v) : lower + slope * (v - lower); };
    }
    case 101:
      return [](double v, double) { return std::tanh(v); };
    case 102:
      return [](double v, double) { return 1 / (1 + std::exp(-v)); };
    case 106: {
      const double beta = d.real(8, 1);
      return [=](double v, double) { return v / (1 + std::exp(-beta * v)); };
    }
    case 303:
      return [](double a, double b) { return a >= b; };
    case 304:
      return [](double a, double b) { return a < b; };
    case 400:
      return [](double a, double b) { return a != 0 && b != 0; };
    case kIndexMode:
    case kSelectMode:
      return nullptr;  // they are no functions of numbers alone
    default:
      throw Refusal{kUnsupported, "a pointwise mode that the stand-in does not have"};
  }
}

/// Operands of a mode.
int operands_of(int64_t mode) {
  if (mode == kSelectMode) return 3;
  return mode == 13 || mode == 15 || mode == kIndexMode || (mode >= 100 && mode < 300) ? 1 : 2;
}

struct Pointwise {
  explicit Pointwise(const Data& o)
      : x(need(o, 751)),
        y(need(o, 753)),
        b(o.descriptor(752) ? need(o, 752) : need(o, 751)),
        t(o.descriptor(758) ? need(o, 758) : need(o, 751)),
        mode(need(o, 750).integer(0, -1)),
        axis(size_t(need(o, 750).integer(9, 0))),
        function(function_of(need(o, 750))) {
    const int given = 1 + (o.descriptor(752) != nullptr) + (o.descriptor(758) != nullptr);
    if (given != operands_of(mode)) throw Refusal{kBadParameter, "the number of inputs does not fit"};
    if (mode == kIndexMode && axis >= y.dims.size()) throw Refusal{kBadParameter, "there is no such axis"};
    for (const Tensor* other : {&x, &b, &t})
      for (size_t i = 0; i < y.dims.size(); ++i)
        if (other->dims.size() != y.dims.size() || (other->dims[i] != y.dims[i] && other->dims[i] != 1))
          throw Refusal{kBadParameter, "the shapes of a pointwise operation do not fit"};
  }
  Tensor x, y, b, t;
  int64_t mode;
  size_t axis;
  std::function<double(double, double)> function;
};

int64_t spread(const Tensor& t, const std::vector<int64_t>& at) {
  int64_t sum = 0;
  for (size_t i = 0; i < at.size(); ++i) sum += t.dims[i] == 1 ? 0 : at[i] * t.strides[i];
  return sum;
}

/// Elements from the first to the last that a tensor has.
size_t extent(const Tensor& t) {
  int64_t last = 0;
  for (size_t i = 0; i < t.dims.size(); ++i) last += (t.dims[i] - 1) * t.strides[i];
  return size_t(last + 1);
}

}  // namespace

namespace {

void compute_pointwise(const Data& o, const Finder& at) {
  const Pointwise p(o);
  void *const x = at(p.x), *const b = at(p.b), *const t = at(p.t), *const y = at(p.y);
  walk(p.y.dims, [&](const auto& i) {
    double v = 0;
    if (p.mode == kIndexMode)
      v = double(i[p.axis]);
    else if (p.mode == kSelectMode)
      v = load(p.t.type, t, spread(p.t, i)) != 0 ? load(p.x.type, x, spread(p.x, i))
                                                 : load(p.b.type, b, spread(p.b, i));
    else
      v = p.function(load(p.x.type, x, spread(p.x, i)), load(p.b.type, b, spread(p.b, i)));
    store(p.y.type, y, offset(i, p.y.strides), v);
  });
}

}  // namespace

void examine(const Data& o) {
  if (o.kind == kPointwiseOperation) {
    const Pointwise fits(o);
    (void)fits;
  } else if (o.kind == kMatmulOperation) {
    examine_product(o);
  } else if (o.kind == kReductionOperation) {
    examine_reduction(o);
  } else {
    const Shape fits(o);
    if (fits.beta != 0) throw Refusal{kUnsupported, "a convolution that adds to its output"};
  }
}

void compute(const Data& graph, const Places& places) {
  std::map<int64_t, std::vector<char>> room;
  const Finder at = [&](const Tensor& t) -> void* {
    if (!t.within) return places.at(t.id);
    auto& bytes = room[t.id];
    if (bytes.empty()) bytes.assign(extent(t) * bytes_of(t.type), char(0xFF));
    return bytes.data();
  };
  for (const auto& o : graph.find(801)->descriptors) {
    if (o->kind == kPointwiseOperation) {
      compute_pointwise(*o, at);
      continue;
    }
    if (o->kind == kMatmulOperation || o->kind == kReductionOperation) {
      o->kind == kMatmulOperation ? compute_product(*o, at) : compute_reduction(*o, at);
      continue;
    }
    const Shape s(*o);
    if (s.back)
      backward(s, at(s.y), at(s.w), at(s.x));
    else
      forward(s, at(s.x), at(s.w), at(s.y));
  }
}

}  // namespace software_cuda::dnn
