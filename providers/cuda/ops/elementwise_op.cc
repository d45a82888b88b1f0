// Runs an expression: values of one shape are computed by one kernel. A value that a larger shape would compute anew
// for each of many elements is computed by a kernel of its own, if it is expensive.
#include <algorithm>
#include <set>

#include "elementwise_loops.h"

namespace providers::cuda {
namespace {

constexpr int kCheap = 12;         // the cost up to which a value is computed again rather than read
constexpr int kCheapScalar = 100;  // for one element, which a thread computes once
constexpr size_t kThreads = 256;

class ElementwiseOp final : public Op {
 public:
  explicit ElementwiseOp(Expression expression) : expression_(std::move(expression)) {}
  void emit(Emitter& e) const override;

 private:
  const Expression expression_;
};

/// One plan of an expression.
class Stages {
 public:
  Stages(const Expression& expression, Emitter& e) : x_(expression), e_(e) {}
  void emit();

 private:
  using Key = std::pair<size_t, Dims>;  // number of extents that are not 1, padded shape

  void infer();
  Dims source_dims(const Source& source) const;
  const Dims& dims_of(Term term) const { return term < 0 ? source_dims_[size_t(~term)] : step_dims_[size_t(term)]; }
  Type type_of(Term term) const { return term < 0 ? x_.sources[size_t(~term)].type : x_.steps[size_t(term)].type; }
  void choose();
  bool is_result(int step) const { return std::count(x_.results.begin(), x_.results.end(), step) > 0; }
  void emit_stage(const std::vector<int>& wanted);
  void collect(int step, const Dims& shape, Loop& loop, std::set<Term>& seen);
  void add_operand(Term term, Loop& loop);
  Layout choose_layout(const std::vector<int>& wanted, const Loop& loop) const;
  Operand bring(Term term, const Dims& shape, Layout layout);
  std::vector<Operand> make_results(const std::vector<int>& wanted, Layout layout);
  std::optional<Argument> parameter(Term term) const;
  void read(Loop& loop, const Dims& shape, Layout layout, const std::vector<Operand>& results);
  void launch(Loop& loop, LoopAxes& axes, const std::vector<Operand>& results, std::vector<Argument>& arguments);
  void find_exponents(Loop& loop) const;

  const Expression& x_;
  Emitter& e_;
  std::vector<Dims> source_dims_, step_dims_;
  size_t rank_ = 0;              // of the largest shape
  std::map<int, Operand> made_;  // steps in memory
  std::set<int> kept_;           // steps that are to be in memory
  std::map<Key, std::vector<int>> stages_;
};

void Stages::emit() {
  infer();
  choose();
  for (const auto& [key, wanted] : stages_) emit_stage(wanted);
}

Dims Stages::source_dims(const Source& source) const {
  const Dims& dims = e_.look(size_t(source.in)).dims;
  if (source.form == Source::Form::broadcast) return dims;
  if (elements_in(dims) == 1) return {};
  if (source.form == Source::Form::scalar)
    e_.fail(text("input ", source.in, " has shape ", shape_text(dims), "; it must have one element"));
  const Dims& like = dims_of(source.like);
  const int64_t rank = int64_t(like.size()), axis = source.axis < 0 ? source.axis + rank : source.axis;
  if (dims.size() != 1 || axis < 0 || axis >= rank || dims[0] != like[size_t(axis)])
    e_.fail(text("input ", source.in, " has shape ", shape_text(dims),
                 "; it must have one element, or one per index of axis ", source.axis, " of ", shape_text(like)));
  Dims placed(size_t(rank), 1);
  placed[size_t(axis)] = dims[0];
  return placed;
}

void Stages::infer() {
  for (const Source& source : x_.sources)
    source_dims_.push_back(source.form == Source::Form::on_axis ? Dims() : source_dims(source));
  const auto place = [&](Term term) {  // its `like` is known by now
    if (term < 0 && x_.sources[size_t(~term)].form == Source::Form::on_axis)
      source_dims_[size_t(~term)] = source_dims(x_.sources[size_t(~term)]);
  };
  for (const Step& step : x_.steps) {
    Dims dims;
    for (const Term a : step.arguments) {
      place(a);
      const auto both = broadcast_dims(dims, dims_of(a));
      if (!both) e_.fail(text("shapes ", shape_text(dims), " and ", shape_text(dims_of(a)), " do not broadcast"));
      dims = *both;
    }
    rank_ = std::max(rank_, dims.size());
    step_dims_.push_back(dims);
  }
}

// Which steps are kept in memory, by shape.
void Stages::choose() {
  kept_.insert(x_.results.begin(), x_.results.end());
  std::vector<int> cost(x_.steps.size());
  for (size_t s = 0; s < x_.steps.size(); ++s) {
    cost[s] = x_.steps[s].cost;
    for (const Term a : x_.steps[s].arguments) {
      if (a < 0 || kept_.count(a)) continue;
      const size_t count = elements_in(step_dims_[size_t(a)]);
      const bool anew = count * 2 <= elements_in(step_dims_[s]);
      if (anew && cost[size_t(a)] > (count == 1 ? kCheapScalar : kCheap))
        kept_.insert(a);
      else
        cost[s] += cost[size_t(a)];
    }
  }
  for (const int step : kept_) {
    const Dims shape = padded(step_dims_[size_t(step)], rank_);
    const auto wide = size_t(std::count_if(shape.begin(), shape.end(), [](int64_t d) { return d != 1; }));
    stages_[{wide, shape}].push_back(step);
  }
}

void Stages::add_operand(Term term, Loop& loop) {
  loop.operands.push_back({.term = term, .type = type_of(term), .access = Access::flat});
}

// The steps that a kernel over `shape` computes for this one, and what it reads.
void Stages::collect(int step, const Dims& shape, Loop& loop, std::set<Term>& seen) {
  if (!seen.insert(step).second) return;
  const bool elsewhere = kept_.count(step) && padded(step_dims_[size_t(step)], rank_) != shape;
  if (elsewhere) return add_operand(step, loop);
  for (const Term a : x_.steps[size_t(step)].arguments) {
    if (a >= 0)
      collect(a, shape, loop, seen);
    else if (seen.insert(a).second)
      add_operand(a, loop);
  }
  loop.steps.push_back(step);
}

void Stages::emit_stage(const std::vector<int>& wanted) {
  Loop loop;
  std::set<Term> seen;
  size_t rank = 0;
  for (const int step : wanted) {
    collect(step, padded(step_dims_[size_t(step)], rank_), loop, seen);
    rank = std::max(rank, step_dims_[size_t(step)].size());
  }
  loop.results = wanted;
  const Layout layout = choose_layout(wanted, loop);
  const std::vector<Operand> results = make_results(wanted, layout);
  const Dims shape = padded(step_dims_[size_t(wanted[0])], rank);
  if (elements_in(shape) > 0) read(loop, shape, layout, results);
}

// With the channels last if most of what is as large as the results is stored so.
Layout Stages::choose_layout(const std::vector<int>& wanted, const Loop& loop) const {
  const Dims& dims = step_dims_[size_t(wanted[0])];
  for (const int step : wanted)
    if (step_dims_[size_t(step)] != dims) return Layout::rows;
  if (dims.size() <= 2) return Layout::rows;
  int64_t gain = 0;
  for (const Loop::Operand& o : loop.operands) {
    if (dims_of(o.term) != dims) continue;
    const Operand& operand = o.term < 0 ? e_.look(size_t(x_.sources[size_t(~o.term)].in)) : made_.at(o.term);
    const auto bytes = int64_t(size_of(operand.type));
    gain += operand.layout == Layout::channels_last ? bytes : -bytes;
  }
  return gain > 0 ? Layout::channels_last : Layout::rows;
}

std::vector<Operand> Stages::make_results(const std::vector<int>& wanted, Layout layout) {
  std::vector<Operand> results;
  for (const int step : wanted) {
    const Dims& dims = step_dims_[size_t(step)];
    const auto at = std::find(x_.results.begin(), x_.results.end(), step);
    Operand made;
    if (at != x_.results.end()) {
      made = e_.out(size_t(at - x_.results.begin()), type_of(step), dims, layout);
    } else {
      made = e_.scratch(elements_in(dims) * size_of(type_of(step)));
      made.type = type_of(step);
      made.dims = dims;
      made.layout = layout;
    }
    results.push_back(made);
    made_[step] = made;
  }
  return results;
}

// The value of a source of one element that the host knows.
std::optional<Argument> Stages::parameter(Term term) const {
  if (term >= 0) return std::nullopt;
  const Operand& operand = e_.look(size_t(x_.sources[size_t(~term)].in));
  if (!operand.known || operand.count() != 1) return std::nullopt;
  if (!is_real_type(operand.type)) {
    if (operand.known->integers.empty()) return std::nullopt;
    return Argument(operand.known->integers[0]);
  }
  if (operand.known->reals.empty()) return std::nullopt;
  const double value = operand.known->reals[0];
  if (operand.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE) return Argument::of(value);
  return Argument(float(value));
}

// An operand in memory, with the dims that it has in the loop.
Operand Stages::bring(Term term, const Dims& shape, Layout layout) {
  if (term >= 0) return made_.at(term);
  const auto in = size_t(x_.sources[size_t(~term)].in);
  const Dims& dims = dims_of(term);
  if (layout == Layout::channels_last && dims == shape) return e_.in_channels_last(in);
  Operand operand =
      dims == e_.look(in).dims && elements_in(dims) != elements_in(shape) ? e_.in_any_layout(in) : e_.in(in);
  if (operand.dims == dims) return operand;
  operand.dims = dims;  // placed on an axis
  return operand;
}

// Elements of a vector: 16 bytes of the smallest type and at most 32 bytes of the largest, fewer if a thread would have
// too many values or too much text.
int elements_of(const Loop& loop, const std::vector<Operand>& results, int cost) {
  size_t smallest = 8, largest = 1, vectors = results.size();
  const auto see = [&](Type type) {
    smallest = std::min(smallest, size_of(type));
    largest = std::max(largest, size_of(type));
  };
  for (const Operand& r : results) see(r.type);
  for (const Loop::Operand& o : loop.operands) {
    if (o.access == Access::parameter || o.access == Access::uniform) continue;
    see(o.type);
    ++vectors;
  }
  size_t elements = std::min(16 / smallest, 32 / largest);
  const auto heavy = [&] { return size_t(cost) * elements > 400 || vectors * elements * largest > 384; };
  while (heavy() && elements * smallest > 4 && elements > 1) elements /= 2;
  return int(elements);
}

// Makes vectors whole along the last axis, if its extent and all operands allow it.
bool divide(Loop& loop, LoopAxes& axes) {
  const int64_t n = loop.elements;
  if (axes.extents.back() % n) return false;
  for (size_t o = 0; o < loop.operands.size(); ++o) {
    if (loop.operands[o].access != Access::each) continue;
    const Dims& s = axes.strides[o];
    const bool aligned = std::all_of(s.begin(), s.end() - 1, [&](int64_t v) { return v % n == 0; });
    if (s.back() != 0 && !(s.back() == 1 && aligned)) return false;
  }
  for (size_t o = 0; o < loop.operands.size(); ++o) {
    if (loop.operands[o].access != Access::each) continue;
    loop.operands[o].access = axes.strides[o].back() ? Access::row : Access::shared;
    axes.strides[o].back() *= n;
  }
  axes.extents.back() /= n;
  return true;
}

void Stages::read(Loop& loop, const Dims& shape, Layout layout, const std::vector<Operand>& results) {
  std::vector<Operand> operands;
  std::vector<Argument> arguments;
  for (Loop::Operand& o : loop.operands) {
    const auto known = parameter(o.term);
    if (known) o.access = Access::parameter;
    operands.push_back(known ? Operand() : bring(o.term, shape, layout));
    arguments.push_back(known ? *known : Argument(operands.back()));
  }
  LoopAxes axes = loop_axes(shape, layout, operands);
  for (size_t i = 0; i < operands.size(); ++i) {
    Access& access = loop.operands[i].access;
    if (access != Access::parameter) access = access_of(axes, i);
    if (access == Access::each) loop.rank = int(axes.extents.size());
  }
  const bool long_axis =
      std::any_of(axes.extents.begin(), axes.extents.end(), [](int64_t d) { return d > UINT32_MAX; });
  if (loop.rank > int(kMostAxes) || (loop.rank && long_axis))
    e_.fail(text("the loop over ", shape_text(axes.extents), " has too many axes or too long ones"));
  launch(loop, axes, results, arguments);
}

void Stages::find_exponents(Loop& loop) const {
  for (const int step : loop.steps) {
    if (!x_.steps[size_t(step)].power) continue;
    const Term exponent = x_.steps[size_t(step)].arguments[1];
    if (!parameter(exponent)) continue;
    const Operand& operand = e_.look(size_t(x_.sources[size_t(~exponent)].in));
    loop.exponents[step] = is_real_type(operand.type) ? operand.known->reals[0] : double(operand.known->integers[0]);
  }
}

void Stages::launch(Loop& loop, LoopAxes& axes, const std::vector<Operand>& results, std::vector<Argument>& arguments) {
  const size_t count = results[0].count();
  int cost = 0;
  for (const int step : loop.steps) cost += x_.steps[size_t(step)].cost;
  loop.large = count >= size_t(1) << 31;
  loop.elements = elements_of(loop, results, cost);
  if (loop.rank) loop.divided = divide(loop, axes);
  find_exponents(loop);
  const size_t vectors = (count + size_t(loop.elements) - 1) / size_t(loop.elements);
  const size_t full = size_t(e_.device().multiprocessors()) * 2048;  // the threads that the device runs at once
  const bool light = cost * loop.elements <= 150 && loop.operands.size() + results.size() <= 6;
  loop.vectors = light && vectors >= 2 * full ? 2 : 1;

  for (const Operand& r : results) arguments.emplace_back(r);
  arguments.emplace_back(int64_t(count));
  if (loop.rank) arguments.push_back(Argument::of(kernel_axes(axes.extents)));
  for (size_t o = 0; loop.rank && o < loop.operands.size(); ++o) {
    const Access a = loop.operands[o].access;
    if (a == Access::row || a == Access::shared || a == Access::each)
      arguments.push_back(Argument::of(kernel_strides(axes.strides[o])));
  }
  const size_t threads = vectors * 4 >= full ? kThreads : kThreads / 2, each = threads * size_t(loop.vectors);
  Grid grid;
  grid.blocks.x = unsigned((vectors + each - 1) / each);
  grid.threads.x = unsigned(threads);
  e_.launch(e_.device().kernels().compile(loop_text(x_, loop), "elementwise"), grid, arguments);
}

}  // namespace

void ElementwiseOp::emit(Emitter& e) const { Stages(expression_, e).emit(); }

std::unique_ptr<Op> make_elementwise(Expression expression) {
  return std::make_unique<ElementwiseOp>(std::move(expression));
}

}  // namespace providers::cuda
