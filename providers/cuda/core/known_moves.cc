// Operators that choose and rearrange elements.
#include <algorithm>
#include <numeric>

#include "common/sizes.h"
#include "known_call.h"

namespace providers::cuda {
namespace {

size_t index_of(const Dims& at, const std::vector<size_t>& strides) {
  size_t index = 0;
  for (size_t i = 0; i < at.size(); ++i) index += size_t(at[i]) * strides[i];
  return index;
}

bool gather(KnownCall& c) {
  const Dims &data = c.dims(0), &chosen = c.dims(1);
  const size_t axis = c.axis(c.op.integer("axis", 0), data.size());
  Dims dims(data.begin(), data.begin() + int64_t(axis));
  dims.insert(dims.end(), chosen.begin(), chosen.end());
  dims.insert(dims.end(), data.begin() + int64_t(axis) + 1, data.end());
  if (known_count(dims) > kMostKnown) return false;
  const auto strides = known_strides(data), steps = known_strides(chosen);
  std::vector<size_t> indices;
  for_each_known(dims, [&](const Dims& at) {
    const auto middle = at.begin() + int64_t(axis), behind = middle + int64_t(chosen.size());
    int64_t index = c.values(1).integers.at(index_of(Dims(middle, behind), steps));
    if (index < 0) index += data[axis];
    if (index < 0 || index >= data[axis]) c.fail(text("index ", index, " of axis ", axis));
    Dims from(at.begin(), middle);
    from.push_back(index);
    from.insert(from.end(), behind, at.end());
    indices.push_back(index_of(from, strides));
  });
  c.take(0, dims, indices);
  return true;
}

bool concat(KnownCall& c) {
  if (!c.op.has("axis")) return false;
  Dims dims = c.dims(0);
  const size_t axis = c.axis(c.op.integer("axis", 0), dims.size());
  for (size_t i = 1; i < c.in.size(); ++i) {
    Dims other = c.dims(i);
    if (other.size() != dims.size() || c.type(i) != c.type(0)) c.fail("inputs of different ranks or types");
    dims[axis] += other[axis];
    other[axis] = dims[axis];
    if (other != dims) c.fail("the extents differ on other axes");
  }
  if (known_count(dims) > kMostKnown) return false;
  KnownResult& result = c.add(c.type(0), dims);
  for_each_known(dims, [&](Dims at) {
    size_t i = 0;
    while (at[axis] >= c.dims(i)[axis]) at[axis] -= c.dims(i++)[axis];
    const size_t index = index_of(at, known_strides(c.dims(i)));
    if (c.real(0))
      result.values.reals.push_back(c.values(i).reals.at(index));
    else
      result.values.integers.push_back(c.values(i).integers.at(index));
  });
  return true;
}

struct Cut {
  int64_t begin = 0, step = 1, count = 0;
};

// By the rules of Slice for one axis.
Cut cut(int64_t start, int64_t end, int64_t step, int64_t extent) {
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? extent : extent - 1;
  // An end below -extent is before the first element; so is a start.
  const auto place = [&](int64_t at) { return std::clamp(at < 0 ? at + extent : at, lowest, highest); };
  const int64_t begin = step < 0 ? std::max<int64_t>(place(start), 0) : place(start), stop = place(end);
  const int64_t way = step > 0 ? stop - begin : begin - stop;
  return {begin, step, way <= 0 || extent == 0 ? 0 : ceil_div(way, std::abs(step))};
}

bool slice(KnownCall& c) {
  const auto *starts = c.list(1, "starts"), *ends = c.list(2, "ends"), *axes = c.list(3, "axes");
  const auto* steps = c.list(4, "steps");
  if (!starts || !ends) return false;
  const Dims& data = c.dims(0);
  std::vector<Cut> cuts;
  for (const int64_t d : data) cuts.push_back({0, 1, d});
  for (size_t i = 0; i < starts->size(); ++i) {
    const size_t axis = c.axis(axes ? axes->at(i) : int64_t(i), data.size());
    const int64_t step = steps ? steps->at(i) : 1;
    if (step == 0) c.fail("a step is 0");
    cuts[axis] = cut((*starts)[i], ends->at(i), step, data[axis]);
  }
  Dims dims;
  for (const Cut& k : cuts) dims.push_back(k.count);
  const auto strides = known_strides(data);
  std::vector<size_t> indices;
  for_each_known(dims, [&](const Dims& at) {
    size_t index = 0;
    for (size_t i = 0; i < at.size(); ++i) index += size_t(cuts[i].begin + at[i] * cuts[i].step) * strides[i];
    indices.push_back(index);
  });
  c.take(0, dims, indices);
  return true;
}

// Extents of the parts along the axis.
std::vector<int64_t> parts_of(const KnownCall& c, int64_t extent) {
  if (const auto* given = c.list(1, "split")) {
    if (std::accumulate(given->begin(), given->end(), int64_t{0}) != extent || given->size() < c.op.outputs)
      c.fail(text("the parts ", shape_text(*given), " do not add up to ", extent));
    return *given;
  }
  const auto parts = c.op.integer("num_outputs", int64_t(c.op.outputs)), each = ceil_div(extent, parts);
  std::vector<int64_t> list;
  for (int64_t left = extent; int64_t(list.size()) < parts; left -= list.back()) list.push_back(std::min(each, left));
  return list;
}

bool split(KnownCall& c) {
  const Dims& data = c.dims(0);
  const size_t axis = c.axis(c.op.integer("axis", 0), data.size());
  const auto parts = parts_of(c, data[axis]);
  const auto strides = known_strides(data);
  int64_t begin = 0;
  for (size_t o = 0; o < c.op.outputs; ++o) {
    Dims dims = data;
    dims[axis] = parts[o];
    std::vector<size_t> indices;
    for_each_known(dims, [&](Dims at) {
      at[axis] += begin;
      indices.push_back(index_of(at, strides));
    });
    c.take(0, dims, indices);
    begin += parts[o];
  }
  return true;
}

bool transpose(KnownCall& c) {
  const Dims& data = c.dims(0);
  const auto* perm = c.list(c.in.size(), "perm");
  const auto strides = known_strides(data);
  Dims dims;
  std::vector<size_t> steps;
  for (size_t i = 0; i < data.size(); ++i) {
    const size_t from = perm ? c.axis(perm->at(i), data.size()) : data.size() - 1 - i;
    dims.push_back(data[from]);
    steps.push_back(strides[from]);
  }
  std::vector<size_t> indices;
  for_each_known(dims, [&](const Dims& at) { indices.push_back(index_of(at, steps)); });
  c.take(0, dims, indices);
  return true;
}

bool expand(KnownCall& c) {
  Operand wanted;
  wanted.dims = c.values(1).integers;
  const std::vector<const Operand*> both{c.in[0], &wanted};
  const Dims dims = known_broadcast(KnownCall{c.op, both, c.out}, 2);
  if (known_count(dims) > kMostKnown) return false;
  c.take(0, dims, known_indices(dims, c.dims(0)));
  return true;
}

bool tile(KnownCall& c) {
  const Dims& data = c.dims(0);
  const auto& repeats = c.values(1).integers;
  if (repeats.size() != data.size()) c.fail(text(repeats.size(), " repeats"));
  Dims dims = data;
  for (size_t i = 0; i < dims.size(); ++i) dims[i] *= repeats[i];
  if (known_count(dims) > kMostKnown) return false;
  const auto strides = known_strides(data);
  std::vector<size_t> indices;
  for_each_known(dims, [&](Dims at) {
    for (size_t i = 0; i < at.size(); ++i) at[i] %= data[i];
    indices.push_back(index_of(at, strides));
  });
  c.take(0, dims, indices);
  return true;
}

}  // namespace

void add_known_moves(KnownFunctions& f) {
  f["Gather"] = gather;
  f["Concat"] = concat;
  f["Slice"] = slice;
  f["Split"] = split;
  f["Transpose"] = transpose;
  f["Expand"] = expand;
  f["Tile"] = tile;
}

}  // namespace providers::cuda
