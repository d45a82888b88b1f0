// Converts nodes to steps of a program.
#include <cmath>

#include "quantized.h"

namespace xnn {
namespace {

using providers::Error;
using providers::text;

template <typename T>
std::vector<T> with_channels_last(std::vector<T> data, const Dims& dims) {
  if (dims.size() != 4) return data;
  std::vector<T> last(data.size());
  channels_last(data.data(), last.data(), dims);
  return last;
}

// Weights [out, in of a group, height, width] become [out, height, width, in], or [1, height, width, out] if each
// channel is its own group.
Dims filter_dims(const Dims& w, bool deep) { return deep ? Dims{1, w[2], w[3], w[0]} : Dims{w[0], w[2], w[3], w[1]}; }
template <typename T>
std::vector<T> filter(const std::vector<T>& from, const Dims& w, bool deep) {
  const int64_t o = w[0], i = w[1], area = w[2] * w[3];
  std::vector<T> to(from.size());
  for (int64_t a = 0; a < o; ++a)
    for (int64_t b = 0; b < i; ++b)
      for (int64_t c = 0; c < area; ++c)
        to[size_t(deep ? c * o + a : (a * area + c) * i + b)] = from[size_t((a * i + b) * area + c)];
  return to;
}

// A matrix with one row per result, as Gemm with transB has it.
template <typename T>
std::vector<T> rows_of_results(std::vector<T> w, const Dims& dims, bool turned) {
  if (turned) return w;
  std::vector<T> to(w.size());
  for (int64_t i = 0; i < dims[0]; ++i)
    for (int64_t j = 0; j < dims[1]; ++j) to[size_t(j * dims[0] + i)] = w[size_t(i * dims[1] + j)];
  return to;
}

class Lowering {
 public:
  explicit Lowering(const providers::Compilation& what) : what_(what), agreements_(what.graph) { p_.name = what.name; }

  Program program() {
    for (size_t i = 0; i < what_.inputs.size(); ++i) input_at_[what_.inputs[i]] = int(i);
    p_.inputs.assign(what_.inputs.size(), -1);
    for (const Node& node : what_.graph.nodes())
      for (const Value* v : node.in) ++readers_[v];
    asked_.insert(what_.outputs.begin(), what_.outputs.end());
    for (const Node& node : what_.graph.nodes())
      if (!claims(node) || !agreements_.hold(node))
        throw Error(text(what_.name, ": ", node.who(), " was not claimed, but is to be compiled; its inputs are ",
                         node.inputs_text()));
    find_units();
    for (const Node& node : what_.graph.nodes()) {
      const auto unit = units_.find(&node);
      if (unit != units_.end())
        add(unit->second);
      else if (!absorbed_.count(&node))
        add(node);
      else
        continue;
      count(node, unit != units_.end());
    }
    for (const std::string& name : what_.outputs) p_.outputs.push_back(ids_.at(name));
    drop_unread();
    return std::move(p_);
  }

 private:
  void count(const Node& node, bool is_unit) {
    const bool converts = node.type == "QuantizeLinear" || node.type == "DequantizeLinear";
    if (is_unit || moves_bytes(node))
      ++p_.on_integers;
    else if (!converts)
      ++p_.in_float32;
  }

  int id_of(const Value* v) {
    const auto known = ids_.find(v->name);
    if (known != ids_.end()) return known->second;
    int id = int(p_.values.size());
    if (!providers::is_byte(v) && fixed(v)) {
      id = p_.add_constant(v->dims, with_channels_last(numbers(*v), v->dims));
    } else {
      p_.values.emplace_back();
      if (providers::is_byte(v)) mark(p_.values.back(), agreements_.of(*v));
      if (const auto at = input_at_.find(v->name); at != input_at_.end()) {
        p_.values.back().input = at->second;
        p_.inputs[size_t(at->second)] = id;
      }
    }
    p_.values[size_t(id)].name = v->name;
    return ids_[v->name] = id;
  }

  static void mark(Slot& slot, const Operand& o) {
    slot.scale = o.scale.scales[0];
    slot.zero = o.zero();
    slot.biased = o.value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
  }

  // Readers of a constant of 8-bit integers may use different scales.
  int id_of(const Operand& o) {
    if (!o.value->constant) return id_of(o.value);
    const int id =
        p_.add_constant(Constant{o.value->dims, {}, with_channels_last(stored_bytes(*o.value), o.value->dims), {}, {}});
    mark(p_.values[size_t(id)], o);
    return id;
  }

  // A value between the steps of one node; 8-bit integers have the scale of `like`.
  int fresh(const Node& node, const Operand* like = nullptr) {
    p_.values.emplace_back();
    p_.values.back().name = node.who();
    if (like) mark(p_.values.back(), *like);
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

  void find_units() {
    const auto single = [&](const Value* v) { return readers_[v] == 1 && !asked_.count(v->name); };
    for (const Node& node : what_.graph.nodes()) {
      if (!is_linear(node) && node.type != "QuantizeLinear") continue;
      Unit unit = is_linear(node) ? linear(node) : surrounded(node, single, absorbed_);
      if (unit.node) units_.emplace(&node, std::move(unit));
    }
  }

  void add(const Unit& u) {
    const int x = id_of(u.x), y = id_of(u.y);
    std::vector<int> in{x};
    if (u.kind == Kind::convolution) return stored_convolution(u, x, y);
    if (u.kind == Kind::product) return stored_product(u, x, y);
    if (u.w.value) in.push_back(id_of(u.w));
    Step& s = step(*u.node, u.kind, in, y);
    if (u.kind == Kind::max_pool) s.window = window_of(*u.node);
    s.low = u.low, s.high = u.high;
  }

  // Weights, and initial sums, which have one scale per result.
  std::vector<int> stored_weights(const Unit& u, Dims dims, std::vector<int8_t> bytes) {
    std::vector<float> scales = *scales_of_weights(u);
    std::vector<int32_t> sums = *sums_of(u, scales);
    const auto results = int64_t(scales.size());
    const int weights = p_.add_constant(Constant{std::move(dims), {}, std::move(bytes), {}, scales});
    for (float& s : scales) s *= u.x.scale.scales[0];
    return {weights, p_.add_constant(Constant{{results}, {}, {}, std::move(sums), std::move(scales)})};
  }

  void stored_convolution(const Unit& u, int x, int y) {
    const Window window = window_of(*u.node);
    const Dims& dims = u.w.value->dims;
    const bool deep = is_depthwise(window, *u.w.value);
    const std::vector<int> known =
        stored_weights(u, filter_dims(dims, deep), filter(stored_bytes(*u.w.value), dims, deep));
    Step& s = step(*u.node, deep ? Kind::depthwise : Kind::convolution, {x, known[0], known[1]}, y);
    s.window = window;
    s.low = u.low, s.high = u.high;
  }

  // The library's products have one scale for all results, its convolutions one per result.
  void stored_product(const Unit& u, int x, int y) {
    const bool turned = u.node->integer("transB", 0) != 0;
    const Dims& dims = u.w.value->dims;
    const Dims as_filter{dims[turned ? 0 : 1], 1, 1, dims[turned ? 1 : 0]};
    const std::vector<int> known =
        stored_weights(u, as_filter, rows_of_results(stored_bytes(*u.w.value), dims, turned));
    const int image = fresh(*u.node, &u.x), result = fresh(*u.node, &u.y);
    step(*u.node, Kind::reshape, {x}, image);
    Step& s = step(*u.node, Kind::convolution, {image, known[0], known[1]}, result);
    s.window = Window{{1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}};
    s.low = u.low, s.high = u.high;
    step(*u.node, Kind::reshape, {result}, y);
  }

  void convert(const Node& node) {
    if (!fixed(node.out[0]))
      step(node, Kind::convert, {id_of(node.in[0])}, id_of(node.out[0]));
    else if (asked_.count(node.out[0]->name))
      id_of(node.out[0]);
  }

  // Removes dequantized values that only operations on integers read.
  void drop_unread() {
    std::set<int> read(p_.outputs.begin(), p_.outputs.end());
    for (size_t i = p_.steps.size(); i-- > 0;) {
      if (read.count(p_.steps[i].out))
        read.insert(p_.steps[i].in.begin(), p_.steps[i].in.end());
      else
        p_.steps.erase(p_.steps.begin() + ptrdiff_t(i));
    }
    for (size_t i = 0; i < p_.values.size(); ++i)
      if (!read.count(int(i))) p_.values[i].constant.reset();
  }

  void add(const Node& node) {
    if (node.type == "QuantizeLinear" || node.type == "DequantizeLinear") return convert(node);
    const Kind kind = *kind_of(node);
    if (node.type == "Conv") return convolution(node);
    if (node.type == "BatchNormalization") return norm(node);
    if (kind == Kind::product) return product(node);
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

  void convolution(const Node& node) {
    const Value& w = *node.in[1];
    const Window window = window_of(node);
    const bool deep = is_depthwise(window, w);
    std::vector<float> bias = node.input(2) ? numbers(*node.in[2]) : std::vector<float>(size_t(w.dims[0]), 0);
    const int weights = p_.add_constant(filter_dims(w.dims, deep), filter(numbers(w), w.dims, deep));
    const int sums = p_.add_constant({w.dims[0]}, bias), x = id_of(node.in[0]), y = id_of(node.out[0]);
    step(node, deep ? Kind::depthwise : Kind::convolution, {x, weights, sums}, y).window = window;
  }

  // Folds it into the weights of the convolution before it, unless something else reads that result.
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
    const bool turned = node.integer("transB", 0) != 0;
    const int64_t k = dims[turned ? 1 : 0], n = dims[turned ? 0 : 1];
    const std::vector<float> bias = node.input(2) ? numbers(*node.in[2]) : std::vector<float>(size_t(n), 0);
    const int weights = p_.add_constant({n, k}, rows_of_results(numbers(*node.in[1]), dims, turned));
    const int sums = p_.add_constant({n}, bias), x = id_of(node.in[0]), y = id_of(node.out[0]);
    step(node, Kind::product, {x, weights, sums}, y);
  }

  const providers::Compilation& what_;
  const Agreements agreements_;
  std::map<const Node*, Unit> units_;  // by the node that they replace
  std::set<const Node*> absorbed_;
  Program p_;
  std::map<std::string, int> ids_, input_at_;
  std::set<std::string> asked_;
  std::map<const Value*, int> readers_;
};

}  // namespace

int Program::add_constant(Constant c) {
  if (!c.data.empty()) c.data.resize(c.data.size() + XNN_EXTRA_BYTES / sizeof(float));
  if (!c.stored.empty()) c.stored.resize(c.stored.size() + XNN_EXTRA_BYTES);
  if (!c.sums.empty()) c.sums.resize(c.sums.size() + XNN_EXTRA_BYTES / sizeof(int32_t));
  Slot slot;
  slot.constant = std::make_shared<Constant>(std::move(c));
  values.push_back(std::move(slot));
  return int(values.size()) - 1;
}

Program lower(const providers::Compilation& what) { return Lowering(what).program(); }

}  // namespace xnn
