// Scan: runs its body once for each element along one axis of its scan inputs. Body inputs: state, one element of each
// scan input; body outputs: the next state, and values that are stacked along a new axis.
#include "ops/control/common/iteration.h"

namespace retort::ops {
namespace {

struct Scan {
  int64_t scanned = 0;
  std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
  static constexpr std::tuple attributes{
      required("num_scan_inputs", &Scan::scanned), attr("scan_input_axes", &Scan::input_axes),
      attr("scan_input_directions", &Scan::input_directions), attr("scan_output_axes", &Scan::output_axes),
      attr("scan_output_directions", &Scan::output_directions)};

  void check() const {
    require(scanned >= 1, ErrorCode::invalid_argument, "num_scan_inputs is {}, at least 1 is wanted", scanned);
    for (const auto* list : {&input_directions, &output_directions}) {
      for (const int64_t d : *list)
        require(d == 0 || d == 1, ErrorCode::invalid_argument, "direction {} is neither 0 nor 1", d);
    }
    check_length(input_axes, size_t(scanned), "scan_input_axes");
    check_length(input_directions, size_t(scanned), "scan_input_directions");
  }
  static void check_length(const std::vector<int64_t>& list, size_t wanted, std::string_view name) {
    require(list.empty() || list.size() == wanted, ErrorCode::invalid_argument, "{} has {} entries for {} values", name,
            list.size(), wanted);
  }
  static int64_t entry(const std::vector<int64_t>& list, size_t i) { return list.empty() ? 0 : list[i]; }

  /// How many states there are, and how many outputs are stacked.
  struct Counts {
    size_t states, inputs, stacked;
  };
  Counts counts(size_t own, size_t taken, size_t given, size_t outputs) const {
    require(own == taken && own >= size_t(scanned) && given >= own - size_t(scanned) && outputs <= given,
            ErrorCode::invalid_graph,
            "{} inputs, {} of them scanned, and {} outputs, but a body of {} inputs and {} outputs; correct "
            "num_scan_inputs or the body",
            own, scanned, outputs, taken, given);
    const size_t states = own - size_t(scanned);
    check_length(output_axes, given - states, "scan_output_axes");
    check_length(output_directions, given - states, "scan_output_directions");
    return {states, size_t(scanned), given - states};
  }

  // The kernel sizes the outputs; the types, ranks and extents that the body fixes are known before.
  void infer(InferContext& c) const {
    if (!c.node()) return;
    require(c.node()->bodies.size() == 1, ErrorCode::invalid_graph,
            "attribute 'body' is required and missing; set it to a graph");
    const Graph& body = *c.node()->bodies[0].graph;
    const size_t own = c.node()->inputs.size() - c.node()->captures;
    const Counts n = counts(own, body.inputs.size() - body.captures, body.outputs.size(), c.output_count());
    for (size_t i = 0; i < own; ++i) {
      const ValueType& formal = body.value(body.inputs[i]).type;
      if (c.has(i)) require_same_type(c.type(i), formal, "input", i);
      if (i < n.states) require_same_type(body.value(body.outputs[i]).type, formal, "state", i);
    }
    for (size_t i = 0; i < c.output_count(); ++i) {
      const ValueType& t = body.value(body.outputs[i]).type;
      c.set(i, t.dtype);
      if (!t.ranked) continue;
      const bool stacked = i >= n.states;
      const size_t axis = stacked ? c.axis(entry(output_axes, i - n.states), t.rank() + 1) : t.rank();
      Shape shape;
      for (size_t d = 0; d <= t.rank(); ++d) {
        if (stacked && d == axis) shape.push_back(length(c, n));
        if (d < t.rank()) shape.push_back(is_known(t.shape[d]) ? t.shape[d] : c.unknown_extent());
      }
      c.set(i, t.dtype, shape);
    }
  }
  Dim length(InferContext& c, const Counts& n) const {
    if (!c.ranked(n.states) || c.rank(n.states) == 0) return c.unknown_extent();
    return c.shape(n.states)[c.axis(entry(input_axes, 0), c.rank(n.states))];
  }

  void run(RunContext& c) const {
    BodyRunner& bodies = c.bodies();
    const size_t body = bodies.index("body"), taken = bodies.input_count(body);
    const Counts n = counts(taken, taken, bodies.output_count(body), c.output_count());
    for (size_t i = 0; i < taken; ++i) require(c.has(i), ErrorCode::invalid_graph, "input {} is missing", i);
    const std::vector<size_t> axes = scan_axes(c, n);
    const int64_t length = c.shape(n.states)[axes[0]];
    std::vector<Value> in(taken), out(n.states + n.stacked);
    std::vector<std::vector<Value>> stacked(n.stacked);
    for (size_t i = 0; i < n.states; ++i) in[i] = copy_of(c, i);
    for (int64_t t = 0; t < length && !c.parallel().cancelled(); ++t) {
      for (size_t i = 0; i < n.inputs; ++i) {
        const int64_t at = entry(input_directions, i) ? length - 1 - t : t;
        in[n.states + i] = slice_of(c, n.states + i, axes[i], at);
      }
      bodies.run(body, in, out);
      for (size_t i = 0; i < n.states; ++i) in[i] = std::exchange(out[i], Value());
      for (size_t i = 0; i < n.stacked; ++i) add_part(stacked[i], std::exchange(out[n.states + i], Value()));
    }
    if (c.parallel().cancelled()) return;
    for (size_t i = 0; i < c.output_count(); ++i) {
      if (!c.wants(i)) continue;
      const size_t k = i - n.states;
      if (i < n.states)
        c.set_value(i, std::move(in[i]));
      else
        c.set_value(
            i, stack(stacked[k], bodies.output_type(body, i), entry(output_axes, k), entry(output_directions, k) == 1));
    }
  }

  // The axis of each scan input, all of one extent.
  std::vector<size_t> scan_axes(const RunContext& c, const Counts& n) const {
    std::vector<size_t> axes;
    for (size_t i = 0; i < n.inputs; ++i) {
      const Shape& s = c.shape(n.states + i);
      require(s.rank() > 0, ErrorCode::invalid_argument, "scan input {} is a scalar", i);
      axes.push_back(normalize_axis(entry(input_axes, i), s.rank()));
      const int64_t first = c.shape(n.states)[axes[0]];
      require(s[axes[i]] == first, ErrorCode::invalid_argument,
              "scan inputs 0 and {} have {} and {} elements to go through", i, first, s[axes[i]]);
    }
    return axes;
  }
};

}  // namespace

extern const OpDef op_scan;
constinit const OpDef op_scan = define<Scan>({
    .name = "Scan",
    .since = {8, 9, 11, 16, 19, 21, 23, 24, 25},
    .inputs = {"initial_state_and_scan_inputs: V..."},
    .outputs = {"final_state_and_scan_outputs: V..."},
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
