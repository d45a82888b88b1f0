// Which nodes may be claimed, and what they become.
#include <algorithm>
#include <cmath>
#include <limits>

#include "program.h"

namespace xnn {
namespace {

using providers::Error;
using providers::TensorView;
using providers::text;
using providers::Value;
using providers::view_of;

const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> all = {{"Conv", Kind::convolution},
                                                  {"MaxPool", Kind::max_pool},
                                                  {"AveragePool", Kind::average_pool},
                                                  {"GlobalAveragePool", Kind::global_average},
                                                  {"ReduceMean", Kind::global_average},
                                                  {"Gemm", Kind::product},
                                                  {"Softmax", Kind::softmax},
                                                  {"Relu", Kind::clamp},
                                                  {"Clip", Kind::clamp},
                                                  {"Sigmoid", Kind::sigmoid},
                                                  {"HardSwish", Kind::hard_swish},
                                                  {"LeakyRelu", Kind::leaky_relu},
                                                  {"Elu", Kind::elu},
                                                  {"Add", Kind::add},
                                                  {"Sub", Kind::subtract},
                                                  {"Mul", Kind::multiply},
                                                  {"Div", Kind::divide},
                                                  {"Max", Kind::maximum},
                                                  {"Min", Kind::minimum},
                                                  {"HardSigmoid", Kind::clamp},
                                                  {"BatchNormalization", Kind::multiply},
                                                  {"Flatten", Kind::reshape},
                                                  {"Reshape", Kind::reshape}};
  return all;
}

bool constant(const Node& node, size_t i) { return node.input(i) && node.input(i)->constant; }

std::vector<float> numbers(const Value& v) {
  const TensorView t = view_of(v.constant);
  const auto* first = static_cast<const float*>(t.data);
  return {first, first + t.count()};
}

Window window_of(const Node& node) {
  Window w;
  w.kernel = node.integers("kernel_shape");
  if (w.kernel.empty() && node.input(1) && node.in[1]->rank() == 4)
    w.kernel = {node.in[1]->dims[2], node.in[1]->dims[3]};
  w.strides = node.integers("strides", {1, 1});
  w.dilations = node.integers("dilations", {1, 1});
  w.pads = node.integers("pads", {0, 0, 0, 0});
  w.auto_pad = node.string("auto_pad", "NOTSET");
  w.groups = node.integer("group", 1);
  return w;
}

bool sound(const Window& w) {
  const auto least = [](const Dims& d, int64_t v) {
    return std::all_of(d.begin(), d.end(), [v](int64_t x) { return x >= v; });
  };
  return w.kernel.size() == 2 && w.strides.size() == 2 && w.dilations.size() == 2 && w.pads.size() == 4 &&
         w.groups > 0 && least(w.kernel, 1) && least(w.strides, 1) && least(w.dilations, 1) && least(w.pads, 0);
}

bool claims_convolution(const Node& node) {
  if (node.in[0]->rank() != 4 || !constant(node, 1) || node.in[1]->rank() != 4) return false;
  const Dims& w = node.in[1]->dims;
  const Window window = window_of(node);
  return sound(window) && window.kernel == Dims{w[2], w[3]} && count_of(w) > 0 && w[0] % window.groups == 0 &&
         (!node.input(2) || (constant(node, 2) && node.in[2]->dims == Dims{w[0]}));
}

// The library wants more than one element in a window, and fails where some are padding alone.
bool claims_pool(const Node& node) {
  const Window w = window_of(node);
  if (node.in[0]->rank() != 4 || !sound(w) || w.kernel[0] * w.kernel[1] < 2 || node.integer("ceil_mode", 0))
    return false;
  for (size_t i = 0; i < 2; ++i)
    if (w.pads[i] >= w.kernel[i] || w.pads[i + 2] >= w.kernel[i]) return false;
  if (node.type == "MaxPool") return true;
  const bool padded =
      w.auto_pad != "NOTSET" || std::any_of(w.pads.begin(), w.pads.end(), [](int64_t p) { return p > 0; });
  return w.dilations == Dims{1, 1} && !(padded && node.integer("count_include_pad", 0));
}

bool claims_mean(const Node& node) {
  if (node.in[0]->rank() != 4) return false;
  if (node.type == "GlobalAveragePool") return true;
  Dims axes = node.integers("axes");
  if (node.input(1)) axes = constant(node, 1) ? Dims(view_of(node.in[1]->constant).integers()) : Dims();
  for (int64_t& a : axes) a += a < 0 ? 4 : 0;
  std::sort(axes.begin(), axes.end());
  return axes == Dims{2, 3} && node.integer("keepdims", 1) == 1;
}

bool claims_product(const Node& node) {
  return node.in[0]->rank() == 2 && constant(node, 1) && node.in[1]->rank() == 2 && node.integer("transA", 0) == 0 &&
         node.number("alpha", 1) == 1 && node.number("beta", 1) == 1 &&
         (!node.input(2) ||
          (constant(node, 2) && node.in[2]->dims == Dims{node.in[1]->dims[node.integer("transB", 0) ? 0 : 1]}));
}

// Images lie with channels last, which other ranks know nothing of: both have the same rank, or one is a number.
bool claims_binary(const Node& node) {
  if (node.in.size() != 2 || !node.in[1]) return false;
  const auto number = [&](size_t i) {
    return constant(node, i) && view_of(node.in[i]->constant).count() == 1 && node.in[i]->rank() <= 1;
  };
  return (node.in[0]->rank() == node.in[1]->rank() && node.in[0]->rank() <= 4) || number(0) || number(1);
}

bool claims_clip(const Node& node) {
  return (!node.input(1) || constant(node, 1)) && (!node.input(2) || constant(node, 2)) && node.since >= 11;
}

bool claims_norm(const Node& node) {
  if (node.in[0]->rank() != 4 || node.integer("training_mode", 0) || node.in.size() != 5) return false;
  for (size_t i = 1; i < 5; ++i)
    if (!constant(node, i) || node.in[i]->dims != Dims{node.in[0]->dims[1]}) return false;
  return true;
}

// An image of one element for each channel lies alike in both forms.
bool claims_reshape(const Node& node) {
  const Dims &x = node.in[0]->dims, &y = node.out[0]->dims;
  const bool flat = x.size() == 4 && x[2] == 1 && x[3] == 1 && y.size() == 2;
  return flat && (node.type == "Flatten" ? node.integer("axis", 1) == 1 : y[1] == x[1] && x[1] > 0);
}

// Nor does the library take tensors without elements.
bool all_floats(const Node& node) {
  for (const Value* v : node.in)
    if (v && std::count(v->dims.begin(), v->dims.end(), 0)) return false;
  for (size_t i = 0; i < node.in.size(); ++i) {
    const Value* v = node.in[i];
    const bool axes = i == 1 && (node.type == "ReduceMean" || node.type == "Reshape");
    if (v && !axes && (v->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || !v->has_rank)) return false;
  }
  return node.out[0]->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && node.out[0]->has_rank && node.in[0]->rank() <= 4;
}

}  // namespace

std::set<std::string> operator_names() {
  std::set<std::string> names;
  for (const auto& [type, kind] : kinds()) names.insert(type);
  return names;
}

bool claims(const Node& node) {
  const auto kind = kinds().find(node.type);
  if (kind == kinds().end() || !node.domain.empty() || node.in.empty() || !node.in[0]) return false;
  if (node.since < 6 && node.type != "Conv" && node.type != "MaxPool" && node.type != "GlobalAveragePool" &&
      node.type != "Flatten")
    return false;
  const bool one = std::all_of(node.out.begin() + 1, node.out.end(), [](const Value* v) { return !v; });
  if (!one || !node.out[0] || !all_floats(node)) return false;
  switch (kind->second) {
    case Kind::convolution:
      return claims_convolution(node);
    case Kind::max_pool:
    case Kind::average_pool:
      return claims_pool(node);
    case Kind::global_average:
      return claims_mean(node);
    case Kind::product:
      return node.since >= 7 && claims_product(node);
    case Kind::softmax:
      return node.in[0]->rank() == 2 && node.integer("axis", node.since < 13 ? 1 : -1) != 0;
    case Kind::reshape:
      return claims_reshape(node);
    default:
      break;
  }
  if (node.type == "BatchNormalization") return node.since >= 7 && claims_norm(node);
  if (node.type == "Clip") return claims_clip(node);
  if (node.type == "Max" || node.type == "Min") return node.since >= 8 && claims_binary(node);
  const bool binary = kind->second >= Kind::add && kind->second <= Kind::divide;
  return !binary || (node.since >= 7 && claims_binary(node));
}

int Program::add_constant(Dims dims, std::vector<float> data) {
  data.resize(data.size() + XNN_EXTRA_BYTES / sizeof(float));
  Slot slot;
  slot.constant = std::make_shared<Constant>(Constant{std::move(dims), std::move(data)});
  values.push_back(std::move(slot));
  return int(values.size()) - 1;
}

namespace {

class Lowering {
 public:
  explicit Lowering(const providers::Compilation& what) : what_(what) { p_.name = what.name; }

  Program program() {
    for (size_t i = 0; i < what_.inputs.size(); ++i) input_at_[what_.inputs[i]] = int(i);
    p_.inputs.assign(what_.inputs.size(), -1);
    for (const Node& node : what_.graph.nodes())
      for (const Value* v : node.in) ++readers_[v];
    for (const std::string& name : what_.outputs) asked_.insert({name, true});
    for (const Node& node : what_.graph.nodes()) {
      if (!claims(node))
        throw Error(text(what_.name, ": ", node.who(), " was not claimed, but is to be compiled; its inputs are ",
                         node.inputs_text()));
      add(node);
    }
    for (const std::string& name : what_.outputs) p_.outputs.push_back(ids_.at(name));
    return std::move(p_);
  }

 private:
  int id_of(const Value* v) {
    const auto known = ids_.find(v->name);
    if (known != ids_.end()) return known->second;
    int id = int(p_.values.size());
    if (v->constant) {
      std::vector<float> data = numbers(*v);
      if (v->rank() == 4) {
        std::vector<float> last(data.size());
        channels_last(data.data(), last.data(), v->dims);
        data = last;
      }
      id = p_.add_constant(v->dims, data);
    } else {
      p_.values.emplace_back();
      if (const auto at = input_at_.find(v->name); at != input_at_.end()) {
        p_.values.back().input = at->second;
        p_.inputs[size_t(at->second)] = id;
      }
    }
    p_.values[size_t(id)].name = v->name;
    return ids_[v->name] = id;
  }

  int fresh(const Node& node) {
    p_.values.emplace_back();
    p_.values.back().name = node.who();
    return int(p_.values.size()) - 1;
  }

  Step& step(const Node& node, Kind kind, std::vector<int> in, int out) {
    Step s;
    s.kind = kind;
    s.who = node.who();
    s.in = std::move(in);
    s.out = out;
    p_.steps.push_back(std::move(s));
    return p_.steps.back();
  }

  void add(const Node& node) {
    const Kind kind = kinds().at(node.type);
    if (node.type == "Conv") return convolution(node);
    if (node.type == "BatchNormalization") return norm(node);
    if (node.type == "Gemm") return product(node);
    const int x = id_of(node.in[0]);
    if (node.type == "HardSigmoid") {
      const int scaled = fresh(node), moved = fresh(node);
      step(node, Kind::multiply, {x, p_.add_constant({1}, {node.number("alpha", 0.2f)})}, scaled);
      step(node, Kind::add, {scaled, p_.add_constant({1}, {node.number("beta", 0.5f)})}, moved);
      Step& s = step(node, Kind::clamp, {moved}, id_of(node.out[0]));
      s.low = 0, s.high = 1;
      return;
    }
    std::vector<int> in{x};
    if (kind >= Kind::add && kind <= Kind::minimum) in.push_back(id_of(node.in[1]));
    Step& s = step(node, kind, in, -1);
    if (kind == Kind::max_pool || kind == Kind::average_pool) s.window = window_of(node);
    if (node.type == "Relu") s.low = 0;
    if (node.type == "Clip" && node.input(1)) s.low = numbers(*node.in[1])[0];
    if (node.type == "Clip" && node.input(2)) s.high = numbers(*node.in[2])[0];
    if (kind == Kind::leaky_relu || kind == Kind::elu) s.low = node.number("alpha", kind == Kind::elu ? 1 : 0.01f);
    const size_t at = p_.steps.size() - 1;
    p_.steps[at].out = id_of(node.out[0]);
  }

  // Weights [out, in of a group, height, width] become [out, height, width, in], or [1, height, width, out] where each
  // channel is a group of its own.
  void convolution(const Node& node) {
    const Value& w = *node.in[1];
    std::vector<float> from = numbers(w), to(from.size());
    const Window window = window_of(node);
    const int64_t o = w.dims[0], i = w.dims[1], area = w.dims[2] * w.dims[3];
    const bool deep = window.groups > 1 && i == 1;
    for (int64_t a = 0; a < o; ++a)
      for (int64_t b = 0; b < i; ++b)
        for (int64_t c = 0; c < area; ++c)
          to[size_t(deep ? c * o + a : (a * area + c) * i + b)] = from[size_t((a * i + b) * area + c)];
    const Dims dims = deep ? Dims{1, w.dims[2], w.dims[3], o} : Dims{o, w.dims[2], w.dims[3], i};
    std::vector<float> bias = node.input(2) ? numbers(*node.in[2]) : std::vector<float>(size_t(o), 0);
    const int weights = p_.add_constant(dims, to), sums = p_.add_constant({o}, bias), x = id_of(node.in[0]);
    const int y = id_of(node.out[0]);
    step(node, deep ? Kind::depthwise : Kind::convolution, {x, weights, sums}, y).window = window;
  }

  // Into the weights of the convolution before it, where nobody else reads that.
  void norm(const Node& node) {
    const std::vector<float> gain = numbers(*node.in[1]), offset = numbers(*node.in[2]), mean = numbers(*node.in[3]),
                             variance = numbers(*node.in[4]);
    std::vector<float> scale(gain.size()), shift(gain.size());
    for (size_t c = 0; c < gain.size(); ++c) {
      scale[c] = float(gain[c] / std::sqrt(double(variance[c]) + node.number("epsilon", 1e-5f)));
      shift[c] = float(double(offset[c]) - double(mean[c]) * scale[c]);
    }
    const int x = id_of(node.in[0]), y = id_of(node.out[0]);
    Step* source = nullptr;
    for (Step& s : p_.steps)
      if (s.out == x && (s.kind == Kind::convolution || s.kind == Kind::depthwise)) source = &s;
    const auto channels = int64_t(scale.size());
    if (!source || p_.values[size_t(source->in[2])].constant->dims[0] != channels || readers_[node.in[0]] > 1 ||
        asked_.count(node.in[0]->name)) {
      const int scaled = fresh(node);
      step(node, Kind::multiply, {x, p_.add_constant({channels}, scale)}, scaled);
      step(node, Kind::add, {scaled, p_.add_constant({channels}, shift)}, y);
      return;
    }
    std::vector<float>&w = p_.values[size_t(source->in[1])].constant->data,
    &b = p_.values[size_t(source->in[2])].constant->data;
    const size_t total = w.size() - XNN_EXTRA_BYTES / sizeof(float), row = total / scale.size();
    for (size_t i = 0; i < total; ++i) w[i] *= scale[source->kind == Kind::depthwise ? i % scale.size() : i / row];
    for (size_t c = 0; c < scale.size(); ++c) b[c] = b[c] * scale[c] + shift[c];
    source->out = y;
  }

  void product(const Node& node) {
    const Dims& dims = node.in[1]->dims;
    std::vector<float> w = numbers(*node.in[1]);
    const bool turned = node.integer("transB", 0) != 0;
    const int64_t k = dims[turned ? 1 : 0], n = dims[turned ? 0 : 1];
    if (!turned) {
      const std::vector<float> from = w;
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < n; ++j) w[size_t(j * k + i)] = from[size_t(i * n + j)];
    }
    const std::vector<float> bias = node.input(2) ? numbers(*node.in[2]) : std::vector<float>(size_t(n), 0);
    const int weights = p_.add_constant({n, k}, w), sums = p_.add_constant({n}, bias), x = id_of(node.in[0]);
    const int y = id_of(node.out[0]);
    step(node, Kind::product, {x, weights, sums}, y);
  }

  const providers::Compilation& what_;
  Program p_;
  std::map<std::string, int> ids_, input_at_;
  std::map<std::string, bool> asked_;
  std::map<const Value*, int> readers_;
};

}  // namespace

Program lower(const providers::Compilation& what) { return Lowering(what).program(); }

}  // namespace xnn
