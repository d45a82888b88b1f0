// Operators whose results follow from shapes, or that change the shape alone.
#include <algorithm>
#include <numeric>

#include "known_call.h"
#include "known_dims.h"

namespace providers::cuda {
namespace {

bool shape(KnownCall& c) {
  const Dims& dims = c.dims(0);
  const auto rank = int64_t(dims.size());
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t begin = place(c.op.integer("start", 0)), end = place(c.op.integer("end", rank));
  Dims part;
  if (begin < end) part.assign(dims.begin() + begin, dims.begin() + end);
  c.add_integers({int64_t(part.size())}, part);
  return true;
}

bool size(KnownCall& c) {
  c.add_integers({}, {int64_t(known_count(c.dims(0)))});
  return true;
}

// The same elements in another shape.
bool same(KnownCall& c, const Dims& dims) {
  if (known_count(dims) != known_count(c.dims(0))) c.fail(text("shape ", shape_text(dims), " has other elements"));
  KnownResult& result = c.add(c.type(0), dims);
  result.values = c.values(0);
  return true;
}

bool identity(KnownCall& c) { return same(c, c.dims(0)); }
bool reshape(KnownCall& c) {
  const auto* wanted = c.list(1, "shape");
  return wanted && same(c, reshaped(c.dims(0), *wanted, c.op.integer("allowzero", 0) != 0, c.op.who));
}
bool squeeze(KnownCall& c) { return same(c, squeezed(c.dims(0), c.list(1, "axes"), c.op.who)); }
bool unsqueeze(KnownCall& c) {
  const auto* axes = c.list(1, "axes");
  return axes && same(c, unsqueezed(c.dims(0), *axes, c.op.who));
}
bool flatten(KnownCall& c) { return same(c, flattened(c.dims(0), c.op.integer("axis", 1), c.op.who)); }

bool constant_of_shape(KnownCall& c) {
  const Dims dims = c.values(0).integers;
  if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; }))
    c.fail(text("the shape is ", shape_text(dims), "; extents must not be negative"));
  const size_t count = known_count(dims);
  if (count > kMostKnown) return false;
  const bool given = c.op.value.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  KnownResult& result = c.add(given ? c.op.value.type : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, dims);
  const Known& value = c.op.value.values;
  if (is_known_real(result.type))
    result.values.reals.assign(count, value.reals.empty() ? 0 : value.reals[0]);
  else
    result.values.integers.assign(count, value.integers.empty() ? 0 : value.integers[0]);
  return true;
}

bool constant(KnownCall& c) {
  if (c.op.value.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
    c.out.push_back(c.op.value);
    return true;
  }
  for (const char* name : {"value_int", "value_ints"}) {
    if (!c.op.has(name)) continue;
    const auto& list = c.op.integers.at(name);
    c.add_integers(name == std::string("value_int") ? Dims() : Dims{int64_t(list.size())}, list);
    return true;
  }
  const auto number = c.op.reals.find("value_float");
  if (number == c.op.reals.end()) return false;
  c.add(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {}).values.reals = {number->second};
  return true;
}

bool range(KnownCall& c) {
  const bool real = c.real(0);
  const auto value = [&](size_t i) { return real ? c.values(i).reals.at(0) : double(c.values(i).integers.at(0)); };
  if (value(2) == 0) c.fail("the step is 0");
  const size_t count = range_count(value(0), value(1), value(2));
  if (count > kMostKnown) return false;
  KnownResult& result = c.add(c.type(0), {int64_t(count)});
  for (size_t i = 0; i < count; ++i) {
    if (real)
      result.values.reals.push_back(value(0) + double(i) * value(2));
    else
      result.values.integers.push_back(c.values(0).integers[0] + int64_t(i) * c.values(2).integers[0]);
  }
  return true;
}

}  // namespace

void add_known_shapes(KnownFunctions& f) {
  f["Shape"] = shape;
  f["Size"] = size;
  f["Identity"] = identity;
  f["Reshape"] = reshape;
  f["Squeeze"] = squeeze;
  f["Unsqueeze"] = unsqueeze;
  f["Flatten"] = flatten;
  f["ConstantOfShape"] = constant_of_shape;
  f["Constant"] = constant;
  f["Range"] = range;
}

}  // namespace providers::cuda
