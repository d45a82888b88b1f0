// Runs every example of every operator with extents of 0 and 1 in place of its own. If the reference accepts such
// shapes, the kernels must return the same; otherwise nothing may crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/cpu.h"
#include "ops/generic_testing.h"

namespace retort::ops {
namespace {

constexpr size_t kMostElements = 20000;  // of an example's inputs: larger ones are slow and show nothing new

using Shapes = std::vector<Shape>;

/// Calls `change(shapes, extent)` for extents of 0 and 1, and collects the resulting shapes.
template <typename F>
void add(std::vector<Shapes>& list, const Shapes& from, const F& change) {
  for (int64_t extent : {0, 1}) {
    Shapes shapes = from;
    change(shapes, extent);
    if (shapes != from && std::find(list.begin(), list.end(), shapes) == list.end()) list.push_back(shapes);
  }
}

/// Changes one extent, the same axis of all inputs, all extents of one size, or all extents.
std::vector<Shapes> variants(const Shapes& from) {
  std::vector<Shapes> list;
  std::set<int64_t> sizes;
  size_t most_axes = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    most_axes = std::max(most_axes, from[i].rank());
    for (size_t d = 0; d < from[i].rank(); ++d) {
      sizes.insert(from[i][d]);
      add(list, from, [&](Shapes& s, int64_t extent) { s[i][d] = extent; });
    }
  }
  for (size_t d = 0; d < most_axes; ++d) {
    add(list, from, [&](Shapes& all, int64_t extent) {
      for (Shape& s : all) {
        if (d < s.rank()) s[d] = extent;
      }
    });
  }
  for (int64_t size : sizes) {
    add(list, from, [&](Shapes& all, int64_t extent) {
      for (Shape& s : all) std::replace(s.begin(), s.end(), size, extent);
    });
  }
  add(list, from, [](Shapes& all, int64_t extent) {
    for (Shape& s : all) std::fill(s.begin(), s.end(), extent);
  });
  return list;
}

/// The first elements of `t` along each axis; zeros beyond its end.
Tensor cut(const Tensor& t, const Shape& shape) {
  Tensor to(t.dtype(), shape);
  const size_t element = dtype_bits(t.dtype()) / 8;
  if (t.dtype() != DType::string && to.bytes()) std::memset(to.mutable_data(), 0, to.bytes());
  if (t.count() == 0) return to;
  for (size_t i = 0; i < to.count(); ++i) {
    size_t rest = i, from = 0, stride = 1;
    for (size_t d = shape.rank(); d-- > 0;) {
      from += rest % size_t(shape[d]) * stride;
      rest /= size_t(shape[d]);
      stride *= size_t(t.shape()[d]);
    }
    if (t.dtype() == DType::string)
      to.mutable_data<std::string>()[i] = t.data<std::string>()[from];
    else
      std::memcpy(to.mutable_data<char>() + i * element, t.data<char>() + from * element, element);
  }
  return to;
}

bool accepts(OpRun& run, const RunMode& mode) {
  try {
    run.run(mode);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void check(const OpDef& op, const OpTest& test, const OpCase& example) {
  const Trial trial(op, test, example, example_type(op, example));
  OpRun run = trial.make();
  if (!accepts(run, {.reference = true})) {
    for (int level = 0; level <= int(best_isa()); ++level) {
      const ScopedIsa isa{Isa(level)};
      accepts(run, {});
      accepts(run, {.constants = false});
    }
    return;
  }
  try {
    check_kernels(trial);
    check_inference(trial);
  } catch (const Error& e) {
    ADD_FAILURE() << e.message();
  }
}

void check_extents(const OpDef& op, const OpTest& test, const OpCase& example) {
  Shapes from;
  size_t elements = 0;
  bool whole_bytes = true;
  for (const Tensor& t : example.inputs) {
    from.push_back(t.shape());
    elements += t.count();
    whole_bytes = whole_bytes && (!t || dtype_bits(t.dtype()) >= 8 || t.dtype() == DType::string);
  }
  if (elements > kMostElements || !whole_bytes) return;
  for (const Shapes& shapes : variants(from)) {
    OpCase changed = example;
    changed.output_count = example.output_count ? example.output_count : example.outputs.size();
    changed.outputs.clear();
    std::string text = example.about + ":";
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (!example.inputs[i]) continue;
      changed.inputs[i] = cut(example.inputs[i], shapes[i]);
      text += " " + to_string(shapes[i]);
    }
    SCOPED_TRACE(text);
    check(op, test, changed);
  }
}

class Extents : public testing::TestWithParam<const OpDef*> {};

TEST_P(Extents, OfZeroAndOne) {
  for (const OpTest* test : tests_of(*GetParam())) {
    if (!test->options().own_test.empty()) return;
    for (const OpCase& example : test->cases()) check_extents(*GetParam(), *test, example);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Extents, testing::ValuesIn(op_table().begin(), op_table().end()), test_name);

}  // namespace
}  // namespace retort::ops
