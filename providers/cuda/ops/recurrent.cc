// LSTM, GRU and RNN: one product of all inputs with W, then a launch for each step. DynamicQuantizeLSTM is an LSTM
// whose inputs and states are rounded to codes of 8 bits before they are multiplied by weights that were codes.
#include <algorithm>

#include "products.h"
#include "reductions.h"

namespace providers::cuda {
namespace {

constexpr int kStepThreads = 128, kTogether = 8;  // those of kernels/recurrent.cu

enum CellKind { lstm, gru, rnn };

// The kernels' structs of these names.
struct Activation {
  int32_t kind = 0;
  float alpha = 0, beta = 0;
};
struct Cell {
  Activation activations[2][3];
  int32_t first_reversed = 0, directions = 1;
  int64_t units = 0, batch = 0, length = 0;
  int64_t x_time = 0, x_batch = 0, y_time = 0, y_direction = 0, y_batch = 0, h_direction = 0, h_batch = 0;
  float clip = 0;
  int32_t unused = 0;
};

struct NamedActivation {
  const char* name;
  float alpha, beta;
};
// Their number is Activation::kind.
constexpr NamedActivation kActivations[] = {{"Sigmoid", 0, 0},      {"Tanh", 0, 0},
                                            {"Relu", 0, 0},         {"Affine", 1, 0},
                                            {"LeakyRelu", .01f, 0}, {"ThresholdedRelu", 1, 0},
                                            {"ScaledTanh", 1, 1},   {"HardSigmoid", .2f, .5f},
                                            {"Elu", 1, 0},          {"Softsign", 0, 0},
                                            {"Softplus", 0, 0}};

// Inputs: x, W, R, bias, lengths, initial state, initial cell, peepholes. Outputs: all states, the last state and cell.
struct Recurrent : Op {
  CellKind kind = lstm;
  Cell form;
  bool batch_first = false, linear_before_reset = false, tf32 = false, rounds = false;

  void emit(Emitter& e) const override;

 private:
  struct State {
    Operand products, r, bias, peepholes, lengths, h, next, c, z, reset, y;
  };
  Cell sized(const Emitter& e, const Dims& x, const Dims& r) const;
  Operand multiply(Emitter& e, const Operand& x, const Operand& w) const;
  Operand rounded(Emitter& e, const Operand& x) const;
  void steps(Emitter& e, const Cell& cell, State& s) const;
  void step(Emitter& e, const Cell& cell, const State& s, int64_t at, int phase) const;
  Defines defines(Type type, int phase) const;
  int64_t gates() const { return kind == lstm ? 4 : kind == gru ? 3 : 1; }
};

Defines Recurrent::defines(Type type, int phase) const {
  return {{"STORED", stored_type(type)},
          {"CELL", std::to_string(int(kind))},
          {"PHASE", std::to_string(phase)},
          {"ROUNDS", rounds ? "1" : "0"}};
}

// The inputs as the numbers that their codes have.
Operand Recurrent::rounded(Emitter& e, const Operand& x) const {
  const size_t count = x.count();
  const Operand codes = e.scratch(count), scale = e.scratch(4), zero = e.scratch(1), memory = e.scratch(x.bytes());
  emit_dynamic_codes(e, x, codes, scale, zero);
  Operand y = x;
  y.buffer = memory.buffer;
  y.offset = memory.offset;
  e.launch(e.kernel("codes.cu", "codes_numbers", {{"DYNAMIC", "1"}, {"ROUNDED", "1"}}), flat_grid(count),
           {codes, scale, zero, y, int64_t(count)});
  return y;
}

Cell Recurrent::sized(const Emitter& e, const Dims& x, const Dims& r) const {
  Cell c = form;
  if (x.size() != 3 || r.size() != 3) e.fail("X and R have three axes");
  c.length = x[batch_first ? 1 : 0];
  c.batch = x[batch_first ? 0 : 1];
  c.units = r[2];
  const int64_t d = c.directions;
  if (r[0] != d || r[1] != gates() * c.units)
    e.fail(text("R has the shape ", shape_text(r), ", expected ", shape_text(Dims{d, gates() * c.units, c.units})));
  c.x_time = batch_first ? 1 : c.batch;
  c.x_batch = batch_first ? c.length : 1;
  c.y_time = batch_first ? d * c.units : d * c.batch * c.units;
  c.y_direction = batch_first ? c.units : c.batch * c.units;
  c.y_batch = batch_first ? c.length * d * c.units : c.units;
  c.h_direction = batch_first ? c.units : c.batch * c.units;
  c.h_batch = batch_first ? d * c.units : c.units;
  return c;
}

// [times and sequences, directions, gates, units]
Operand Recurrent::multiply(Emitter& e, const Operand& x, const Operand& w) const {
  const int64_t rows = x.dims[0] * x.dims[1], inputs = x.dims[2];
  if (w.rank() != 3 || w.dims[2] != inputs || w.dims[0] != form.directions)
    e.fail(text("W has the shape ", shape_text(w.dims), ", X has ", inputs, " inputs"));
  const int64_t columns = w.dims[0] * w.dims[1];
  Operand d = x;
  d.dims = {rows, columns};
  const Operand memory = e.scratch(d.bytes());
  d.buffer = memory.buffer;
  d.offset = memory.offset;
  d.known = nullptr;
  auto set = product_set(side_of({rows, inputs}, false, false), side_of({columns, inputs}, true, false), {});
  if (!set) e.fail("the product of X and W cannot be described");
  set->product.tf32 = tf32;
  emit_products(e, *set, x, w, d, Ending{});
  return d;
}

void Recurrent::step(Emitter& e, const Cell& cell, const State& s, int64_t at, int phase) const {
  const Grid grid{{unsigned(divide_up(cell.units, kStepThreads / 32)), unsigned(divide_up(cell.batch, kTogether)),
                   unsigned(cell.directions)},
                  {kStepThreads}};
  e.launch(
      e.kernel("recurrent.cu", "recurrent_step", defines(s.products.type, phase)), grid,
      {s.products, s.r, s.bias, s.peepholes, s.lengths, s.h, s.next, s.c, s.z, s.reset, s.y, at, Argument::of(cell)});
}

void Recurrent::steps(Emitter& e, const Cell& cell, State& s) const {
  const bool two = kind == gru && !linear_before_reset;
  for (int64_t at = 0; at < cell.length; ++at) {
    if (rounds)
      e.launch(e.kernel("codes.cu", "codes_round", {{"DYNAMIC", "1"}, {"ROUNDED", "1"}}),
               {{unsigned(cell.directions)}, {1024}}, {s.h, s.reset, cell.batch * cell.units});
    if (two) step(e, cell, s, at, 1);
    step(e, cell, s, at, two ? 2 : 0);
    std::swap(s.h, s.next);
  }
}

void Recurrent::emit(Emitter& e) const {
  const Operand x = e.in(0), w = e.in(1);
  State s;
  s.r = e.in(2);
  const Cell cell = sized(e, x.dims, s.r.dims);
  const int64_t d = cell.directions, count = d * cell.batch * cell.units;
  if (e.has(3)) s.bias = e.in(3);
  if (e.has(4)) s.lengths = e.in(4);
  if (e.has(7)) s.peepholes = e.in(7);
  const Dims all =
      batch_first ? Dims{cell.batch, cell.length, d, cell.units} : Dims{cell.length, d, cell.batch, cell.units};
  const Dims last = batch_first ? Dims{cell.batch, d, cell.units} : Dims{d, cell.batch, cell.units};
  if (e.has_out(0)) s.y = e.out(0, x.type, all);
  const Operand h = e.has_out(1) ? e.out(1, x.type, last) : Operand{};
  const Operand c = e.has_out(2) ? e.out(2, x.type, last) : Operand{};
  if (count == 0) return;
  const size_t bytes = size_t(count) * (size_of(x.type) == 8 ? 8 : 4);
  for (Operand* o : {&s.h, &s.next, &s.c, &s.z, &s.reset}) {
    const bool used =
        o == &s.h || (rounds && o == &s.reset) || o == &s.next || (kind == lstm ? o == &s.c : kind == gru && o != &s.c);
    if (used) *o = e.scratch(bytes);
  }
  const Defines d0 = defines(x.type, 0);
  const auto begin = [&](size_t input, const Operand& to) {
    const Operand from = e.has(input) ? e.in(input) : Operand{};
    if (e.has(input) && from.dims != last)
      e.fail(text("initial states have the shape ", shape_text(from.dims), ", expected ", shape_text(last)));
    e.launch(e.kernel("recurrent.cu", "recurrent_begin", d0), flat_grid(size_t(count)),
             {from, to, count, Argument::of(cell)});
  };
  begin(5, s.h);
  if (kind == lstm) begin(6, s.c);
  s.products = x;
  if (cell.length) s.products = multiply(e, rounds && x.count() ? rounded(e, x) : x, w);
  steps(e, cell, s);
  const auto end = [&](const Operand& from, const Operand& to) {
    if (to.buffer < 0) return;
    e.launch(e.kernel("recurrent.cu", "recurrent_end", d0), flat_grid(size_t(count)),
             {from, to, count, Argument::of(cell)});
  };
  end(s.h, h);
  end(s.c, c);
}

std::string refuses_activations(const Node& node) {
  for (const std::string& name : node.strings("activations"))
    if (std::none_of(std::begin(kActivations), std::end(kActivations),
                     [&](const NamedActivation& k) { return name == k.name; }))
      return "activation '" + name + "'";
  return "";
}

std::string refuses(const Node& node, const Claiming&) {
  for (const size_t i : {0, 1, 2, 3, 5, 6, 7}) {
    if (i > 2 && !node.input(i)) continue;
    const std::string why = refuses_type(node, i, "fd");
    if (!why.empty()) return why;
    if (node.input(i)->type != node.input(0)->type) return "inputs have different types";
  }
  if (node.integer("input_forget", 0)) return "input_forget is not supported";
  return refuses_activations(node);
}

// Parameters belong to those activations that have them, in order.
void read_activations(const Node& node, Recurrent& op, size_t each) {
  std::vector<std::string> names = node.strings("activations");
  const std::vector<float> alphas = node.numbers("activation_alpha"), betas = node.numbers("activation_beta");
  const char* const usual[3][3] = {{"Sigmoid", "Tanh", "Tanh"}, {"Sigmoid", "Tanh", ""}, {"Tanh", "", ""}};
  size_t alpha = 0, beta = 0;
  for (size_t d = 0; d < size_t(op.form.directions); ++d)
    for (size_t i = 0; i < each; ++i) {
      const std::string name = d * each + i < names.size() ? names[d * each + i] : usual[op.kind][i];
      const auto* const known = std::find_if(std::begin(kActivations), std::end(kActivations),
                                             [&](const NamedActivation& k) { return name == k.name; });
      Activation& a = op.form.activations[d][i];
      a = {int32_t(known - kActivations), known->alpha, known->beta};
      const bool has_beta = name == "Affine" || name == "ScaledTanh" || name == "HardSigmoid";
      const bool has_alpha = has_beta || name == "LeakyRelu" || name == "ThresholdedRelu" || name == "Elu";
      if (has_alpha && alpha < alphas.size()) a.alpha = alphas[alpha++];
      if (has_beta && beta < betas.size()) a.beta = betas[beta++];
    }
}

void read_attributes(const Node& node, Builder& builder, Recurrent& op) {
  const std::string direction = node.string("direction", "forward");
  op.form.directions = direction == "bidirectional" ? 2 : 1;
  op.form.first_reversed = direction == "reverse";
  op.form.clip = node.number("clip", 0);
  op.batch_first = node.integer("layout", 0) != 0;
  op.linear_before_reset = node.integer("linear_before_reset", 0) != 0;
  op.tf32 = builder.setting("use_tf32");
  read_activations(node, op, op.kind == lstm ? 3 : op.kind == gru ? 2 : 1);
}

std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<Recurrent>();
  bind(*op, node, builder);
  op->kind = node.type == "LSTM" ? lstm : node.type == "GRU" ? gru : rnn;
  read_attributes(node, builder, *op);
  return op;
}

// Codes of 8 bits [directions, k, n], with a scale and a zero point for each direction or each column, as numbers
// [directions, n, k].
std::vector<char> decoded(const TensorView& codes, const TensorView& scales, const TensorView& zeros) {
  const int64_t d = codes.dims[0], k = codes.dims[1], n = codes.dims[2];
  const bool by_column = scales.dims.size() == 2;
  const bool is_signed = codes.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
  const auto code = [is_signed](const TensorView& view, int64_t i) {
    const auto* const data = static_cast<const uint8_t*>(view.data);
    return is_signed ? int(int8_t(data[i])) : int(data[i]);
  };
  std::vector<float> numbers(codes.count());
  float* to = numbers.data();
  for (int64_t at = 0; at < d; ++at)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < k; ++i) {
        const int64_t of = by_column ? at * n + j : at;
        *to++ = float(code(codes, (at * k + i) * n + j) - code(zeros, of)) * static_cast<const float*>(scales.data)[of];
      }
  const auto* const begin = reinterpret_cast<const char*>(numbers.data());
  return {begin, begin + numbers.size() * sizeof(float)};
}

constexpr size_t kScales = 8;  // those of W, its zero points, and the same of R

std::string refuses_codes(const Node& node, const Claiming&) {
  for (const size_t i : {0, 3, 5, 6, 7})
    if (node.input(i) && node.input(i)->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
      return text("input ", i, " is no float32");
  for (const size_t m : {0, 1}) {
    const Value *codes = node.input(1 + m), *scales = node.input(kScales + 2 * m),
                *zeros = node.input(kScales + 1 + 2 * m);
    if (!codes || !scales || !zeros || !codes->constant || !scales->constant || !zeros->constant)
      return "weights, scales or zero points are not constant";
    if (codes->rank() != 3 || codes->type != zeros->type || scales->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
      return "weights, scales and zero points do not match";
    if (codes->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 && codes->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8)
      return text("weights of type ", name_of(codes->type));
    const int64_t count = scales->rank() == 2 ? codes->dims[0] * codes->dims[2] : codes->dims[0];
    if (int64_t(view_of(scales->constant).count()) != count || int64_t(view_of(zeros->constant).count()) != count)
      return text("weights do not have ", count, " scales and zero points");
  }
  return node.integer("input_forget", 0) ? "input_forget is not supported" : refuses_activations(node);
}

std::unique_ptr<Op> make_codes(const Node& node, Builder& builder) {
  auto made_op = std::make_unique<Recurrent>();
  Recurrent& op = *made_op;
  op.who = node.who();
  for (size_t i = 0; i < kScales; ++i) op.in.push_back(i == 1 || i == 2 ? -1 : builder.number(node.input(i)));
  for (const Value* v : node.out) op.out.push_back(builder.number(v));
  for (const size_t m : {0, 1}) {
    const Value *scales = node.input(kScales + 2 * m), *zeros = node.input(kScales + 1 + 2 * m);
    const Dims& dims = node.in[1 + m]->dims;
    op.in[1 + m] = builder.packed(
        node.in[1 + m], "numbers by " + scales->name + " and " + zeros->name, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
        {dims[0], dims[2], dims[1]},
        [&](const TensorView& codes) { return decoded(codes, view_of(scales->constant), view_of(zeros->constant)); });
  }
  op.rounds = true;
  read_attributes(node, builder, op);
  return made_op;
}

}  // namespace

void add_recurrent(Kinds& kinds) {
  kinds[{"com.microsoft", "DynamicQuantizeLSTM"}] = {refuses_codes, make_codes};
  for (const char* kind : {"LSTM", "GRU", "RNN"}) kinds[{"", kind}] = {refuses, make};
}

}  // namespace providers::cuda
