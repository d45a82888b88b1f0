// Checks every operator of the table against its own reference, its examples and its inference; see op_test.h.
#include <gtest/gtest.h>

#include <cstring>

#include "base/cpu.h"
#include "base/thread_pool.h"
#include "kernels/elementwise/cast.h"
#include "ops/generic_testing.h"

namespace retort::ops {
std::vector<const OpTest*> tests_of(const OpDef& op) {
  std::vector<const OpTest*> tests;
  for (const OpTest* t : OpTest::all()) {
    if (t->name() == op.info.name && t->options().domain == op.info.domain) tests.push_back(t);
  }
  return tests;
}

std::string test_name(const testing::TestParamInfo<const OpDef*>& info) {
  std::string name;
  for (char ch : std::string(info.param->info.domain) + "_" + std::string(info.param->info.name))
    name += std::isalnum(static_cast<unsigned char>(ch)) ? ch : '_';
  return name;
}

namespace {

std::string_view constraint_of(std::span<const Formal> formals, size_t i) {
  const auto all = given(formals);
  if (all.empty()) return {};
  std::string_view f = all[std::min(i, all.size() - 1)].text();
  f.remove_prefix(f.find(": ") + 2);
  return f.substr(0, f.find_first_of("?."));
}

// Types that T may have besides that of the example.
std::vector<DType> types_of(const OpDef& op) {
  std::vector<DType> list;
  for (int t = 1; t < kDTypeCount; ++t) {
    if (contains(op.info.types, DType(t)) && kernels::can_cast(DType(t))) list.push_back(DType(t));
  }
  return list;
}

bool is_t(std::span<const Formal> formals, size_t i) { return constraint_of(formals, i) == "T"; }

// The tensors, with those of constraint T converted. `exact` is cleared if a value changed in the conversion.
std::vector<Tensor> converted(std::span<const Formal> formals, const std::vector<Tensor>& tensors, DType from, DType to,
                              bool& exact) {
  std::vector<Tensor> list = tensors;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i] || !is_t(formals, i) || list[i].dtype() != from || from == to) continue;
    list[i] = cast_to(tensors[i], to);
    exact = exact && difference(cast_to(list[i], from), tensors[i], 0).empty();
  }
  return list;
}

size_t formal_outputs(const OpDef& op) { return given(op.info.outputs).size(); }

}  // namespace

DType example_type(const OpDef& op, const OpCase& example) {
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    if (example.inputs[i] && is_t(op.info.inputs, i)) return example.inputs[i].dtype();
  }
  return DType::undefined;
}

Trial::Trial(const OpDef& o, const OpTest& t, const OpCase& e, DType type) : op(o), test(t), example(e) {
  const DType from = example_type(op, e);
  inputs = converted(op.info.inputs, e.inputs, from, type, exact);
  expected = converted(op.info.outputs, e.outputs, from, type, exact);
}

OpRun Trial::make() const {
  size_t outputs = example.output_count ? example.output_count : expected.size();
  if (outputs == 0) outputs = formal_outputs(op);
  return OpRun(op.info.domain, op.info.name, example.attributes, inputs, outputs);
}

namespace {

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == DType::string) return difference(a, b, 0).empty();
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

void expect_equal(const std::vector<Tensor>& got, const std::vector<Tensor>& want, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (!want[i]) continue;
    // Examples are written as floats, so they have no more digits for doubles.
    const DType written = want[i].dtype() == DType::f64 ? DType::f32 : want[i].dtype();
    EXPECT_EQ(difference(got[i], want[i], tolerance * allowed_difference(written)), "") << what << ", output " << i;
  }
}

void expect_same_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const std::string& what) {
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << what << ", output " << i;
}

ThreadPool& pool(int threads) {
  static ThreadPool two({.threads = 2, .linger = std::chrono::microseconds(0)});
  static ThreadPool three({.threads = 3, .linger = std::chrono::microseconds(0)});
  return threads == 2 ? two : three;
}

// Whether output 0 may use the memory of this input.
bool can_run_in_place(const Trial& t, size_t input, const std::vector<Tensor>& outputs) {
  const bool may = (input == 0 && t.op.has(kMayAliasInput0)) || std::ranges::any_of(t.op.info.in_place, [&](auto& p) {
                     return p.output == 0 && p.input == int(input) && p.same_bits;
                   });
  return may && t.inputs[input] && !outputs.empty() && t.inputs[input].dtype() == outputs[0].dtype() &&
         t.inputs[input].count() == outputs[0].count();
}

}  // namespace

void check_kernels(const Trial& t) {
  OpRun run = t.make();
  const std::vector<Tensor> reference = run.run({.reference = true});
  if (!t.expected.empty() && t.exact) expect_equal(reference, t.expected, t.example.tolerance, "reference");
  for (int level = 0; level <= int(best_isa()); ++level) {
    SCOPED_TRACE(isa_name(Isa(level)));
    const ScopedIsa isa{Isa(level)};
    const std::vector<Tensor> one = run.run();
    expect_equal(one, reference, t.test.options().tolerance, "kernel against reference");
    for (int threads : {2, 3})
      expect_same_bits(run.run({.parallel = Parallel(&pool(threads), nullptr)}), one, cat("{} threads", threads));
    if (t.op.prepare && t.test.options().weights.empty())
      expect_equal(run.run({.constants = false}), reference, t.test.options().tolerance, "unpacked");
    for (size_t i = 0; i < t.inputs.size(); ++i) {
      if (can_run_in_place(t, i, one)) expect_same_bits(run.run({.in_place = int(i)}), one, cat("over input {}", i));
    }
  }
}

namespace {

using Symbols = std::vector<std::pair<Dim, int64_t>>;

// The type with a symbol for each extent; equal extents have the same symbol if `shared`.
ValueType symbolic(DimTable& dims, const ValueType& type, size_t input, bool shared, Symbols& symbols) {
  ValueType t = type;
  for (size_t d = 0; d < t.shape.rank(); ++d) {
    const int64_t extent = t.shape[d];
    t.shape[d] = dims.symbol(shared ? cat("n{}", extent) : cat("i{}d{}", input, d));
    symbols.emplace_back(t.shape[d], extent);
  }
  return t;
}

// Symbolic extents may stay unknown, but if they are numbers they must be the right ones.
void expect_consistent(DimTable& dims, const Slot& got, const Slot& want, const Symbols& symbols) {
  if (got.type.dtype != DType::undefined) {
    EXPECT_EQ(got.type.dtype, want.type.dtype);
  }
  if (!got.type.ranked || !want.type.ranked) return;
  ASSERT_EQ(got.type.rank(), want.type.rank());
  for (size_t d = 0; d < got.type.rank(); ++d) {
    const auto extent = dims.evaluate(got.type.shape[d], symbols);
    if (extent) {
      EXPECT_EQ(*extent, want.type.shape[d]) << "axis " << d << ": " << dims.text(got.type.shape[d]);
    }
  }
  for (size_t i = 0; got.has_known && want.has_known && i < got.known.size(); ++i) {
    const auto element = dims.evaluate(got.known[i], symbols);
    if (element) {
      EXPECT_EQ(*element, want.known[i]) << "element " << i << ": " << dims.text(got.known[i]);
    }
  }
}

bool steers(const ValueType& t) { return t.dtype == DType::i64 || t.dtype == DType::i32 || t.dtype == DType::boolean; }

// Checks inference with symbols in place of numbers: `content` keeps the integer inputs as they are, `shared` gives
// equal extents the same symbol, and if `ranked` is false, shapes are hidden.
void check_symbolic(const OpRun& run, const OpTest& test, const std::vector<Slot>& numeric, bool content, bool shared,
                    bool ranked) {
  SCOPED_TRACE(cat("content {}, shared {}, ranked {}", content, shared, ranked));
  DimTable dims;
  Symbols symbols;
  std::vector<Slot> in = run.input_slots();
  const std::vector<size_t>& weights = test.options().weights;
  for (size_t i = 0; i < in.size(); ++i) {
    const bool fixed = std::find(weights.begin(), weights.end(), i) != weights.end();
    if (!in[i].present || fixed || (content && steers(in[i].type))) continue;
    in[i].data = nullptr;
    if (ranked)
      in[i].type = symbolic(dims, in[i].type, i, shared, symbols);
    else
      in[i].type = ValueType::tensor(in[i].type.dtype);
  }
  std::vector<Slot> out;
  try {
    out = run.infer(dims, in);
  } catch (const Error& e) {
    ADD_FAILURE() << e.message();
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) expect_consistent(dims, out[i], numeric[i], symbols);
}

// A tensor's content in the form that inference returns.
std::vector<Dim> content_of(const Tensor& t) {
  std::vector<Dim> list;
  const Tensor wide = cast_to(t, DType::i64);
  for (size_t i = 0; i < t.count(); ++i) list.push_back(wide.data<int64_t>()[i]);
  return list;
}

}  // namespace

void check_inference(const Trial& t) {
  OpRun run = t.make();
  DimTable dims;
  std::vector<Slot> numeric = run.infer(dims, run.input_slots());
  const std::vector<Tensor> made = run.run();
  for (size_t i = 0; i < made.size(); ++i) {
    const Slot& s = numeric[i];
    if (!s.type.is_tensor()) continue;
    EXPECT_EQ(s.type.dtype, made[i].dtype()) << "output " << i;
    if (s.type.is_static()) {
      EXPECT_EQ(s.type.shape, made[i].shape()) << "output " << i;
    }
    if (s.has_known && all_known(s.known)) {
      EXPECT_EQ(s.known, content_of(made[i])) << "content of output " << i;
    }
    numeric[i].type = ValueType::tensor(made[i].dtype(), made[i].shape());  // for outputs whose sizes depend on data
  }
  for (const Tensor& in : t.inputs) {
    if (in && element_count(in.shape()) == 0) return;  // a symbol never stands for zero
  }
  check_symbolic(run, t.test, numeric, true, false, true);
  check_symbolic(run, t.test, numeric, true, true, true);
  check_symbolic(run, t.test, numeric, false, false, true);
  check_symbolic(run, t.test, numeric, false, false, false);
}

namespace {

void check_example(const OpDef& op, const OpTest& test, const OpCase& example) {
  SCOPED_TRACE(example.about);
  const DType from = example_type(op, example);
  std::vector<DType> types = types_of(op);
  if (example.fixed_types || from == DType::undefined || !kernels::can_cast(from)) types = {from};
  for (DType type : types) {
    SCOPED_TRACE(dtype_name(type));
    const Trial trial(op, test, example, type);
    // Some values are out of the range of this type.
    if (!trial.exact && !trial.expected.empty() && !is_float(type)) continue;
    try {
      check_kernels(trial);
      check_inference(trial);
    } catch (const Error& e) {
      ADD_FAILURE() << e.message();
    }
  }
}

// Shapes for an elementwise operator of n inputs: all equal, and with broadcasting if there are several.
std::vector<std::vector<Shape>> elementwise_shapes(size_t n) {
  std::vector<std::vector<Shape>> list;
  for (const Shape& s : {Shape{0}, Shape{}, Shape{1}, Shape{7}, Shape{3, 5, 7}, Shape{40001}}) list.emplace_back(n, s);
  if (n < 2) return list;
  const Shape pairs[][2] = {{{3, 67}, {67}},  {{3, 67}, {3, 1}},     {{67}, {}},
                            {{}, {67}},       {{2, 1, 5}, {3, 1}},   {{1, 4, 1, 3}, {2, 1, 5, 1}},
                            {{0, 3}, {1, 3}}, {{130, 257}, {1, 257}}};
  for (const auto& pair : pairs) {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < n; ++i) shapes.push_back(pair[i % 2]);
    list.push_back(shapes);
  }
  return list;
}

// Random inputs with the shapes of the example's inputs; scalars and omitted inputs are unchanged.
std::vector<Tensor> generated(const OpTest& test, const OpCase& example, const std::vector<Shape>& shapes) {
  std::vector<Tensor> inputs = example.inputs;
  uint32_t next = 0;
  for (Tensor& t : inputs) {
    if (!t || (t.shape().empty() && inputs.size() > 2)) continue;
    const Tensor values = random(shapes[next], next + 1, test.options().low, test.options().high);
    ++next;
    t = t.dtype() == DType::boolean ? cast_to(cast_to(values, DType::i32), DType::boolean) : cast_to(values, t.dtype());
  }
  return inputs;
}

void check_generated(const OpDef& op, const OpTest& test) {
  OpCase example = test.cases()[0];
  const std::vector<Tensor> pattern = example.inputs;
  for (const Tensor& t : pattern) {
    if (t && !kernels::can_cast(t.dtype())) return;
  }
  for (const auto& shapes : elementwise_shapes(pattern.size())) {
    example.inputs = pattern;
    example.inputs = generated(test, example, shapes);
    example.outputs.clear();
    example.output_count = 1;
    example.about = "generated";
    for (size_t i = 0; i < shapes.size(); ++i) example.about += fmt::format(" {}", to_string(shapes[i]));
    check_example(op, test, example);
  }
}

class EveryOp : public testing::TestWithParam<const OpDef*> {};

TEST_P(EveryOp, HoldsItsContract) {
  const OpDef& op = *GetParam();
  const std::vector<const OpTest*> tests = tests_of(op);
  ASSERT_FALSE(tests.empty()) << op.info.name << " has no example; see ops/op_test.h";
  for (const OpTest* test : tests) {
    if (!test->options().own_test.empty()) return;
    ASSERT_FALSE(test->cases().empty()) << op.info.name << " has no example";
    for (const OpCase& example : test->cases()) check_example(op, *test, example);
  }
  if (op.has(kElementwise)) check_generated(op, *tests[0]);
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(op_table().begin(), op_table().end()), test_name);

TEST(OpTests, NameOperatorsThatExist) {
  for (const OpTest* t : OpTest::all()) EXPECT_TRUE(find_op(t->options().domain, t->name())) << t->name();
}

}  // namespace
}  // namespace retort::ops
