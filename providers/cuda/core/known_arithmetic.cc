// Arithmetic on elements. Reals are computed as doubles and rounded to their type afterwards, which gives the result of
// float arithmetic; integers are 64 bits wide and wrap around in their type.
#include <algorithm>
#include <cmath>
#include <limits>

#include "known_call.h"

namespace providers::cuda {
namespace {

constexpr Type kBool = ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;

struct Binary {
  int64_t (*integers)(const KnownCall& c, int64_t a, int64_t b);
  double (*reals)(const KnownCall& c, double a, double b);
};

int64_t wrapped(uint64_t v) { return int64_t(v); }

int64_t quotient(const KnownCall& c, int64_t a, int64_t b) {
  if (b == 0) c.fail("an integer is divided by 0");
  return b == -1 ? wrapped(0 - uint64_t(a)) : a / b;
}
int64_t remainder(const KnownCall& c, int64_t a, int64_t b) {
  if (b == 0) c.fail("an integer is divided by 0");
  const int64_t rest = b == -1 ? 0 : a % b;
  return !c.op.integer("fmod", 0) && rest && (rest < 0) != (b < 0) ? rest + b : rest;
}
double remainder(const KnownCall& c, double a, double b) {
  const double rest = std::fmod(a, b);
  return !c.op.integer("fmod", 0) && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
int64_t power(const KnownCall& c, int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  uint64_t result = 1, base = uint64_t(a);
  for (auto e = uint64_t(b); e; e >>= 1, base *= base)
    if (e & 1) result *= base;
  (void)c;
  return wrapped(result);
}
double larger(const KnownCall&, double a, double b) { return a > b || a != a ? a : b; }
double smaller(const KnownCall&, double a, double b) { return a < b || a != a ? a : b; }

const std::map<std::string, Binary, std::less<>>& binaries() {
  using C = const KnownCall&;
  static const auto& all = *new std::map<std::string, Binary, std::less<>>{
      {"Add",
       {[](C, int64_t a, int64_t b) { return wrapped(uint64_t(a) + uint64_t(b)); },
        [](C, double a, double b) { return a + b; }}},
      {"Sub",
       {[](C, int64_t a, int64_t b) { return wrapped(uint64_t(a) - uint64_t(b)); },
        [](C, double a, double b) { return a - b; }}},
      {"Mul",
       {[](C, int64_t a, int64_t b) { return wrapped(uint64_t(a) * uint64_t(b)); },
        [](C, double a, double b) { return a * b; }}},
      {"Div", {quotient, [](C, double a, double b) { return a / b; }}},
      {"Mod", {remainder, remainder}},
      {"Pow", {power, [](C, double a, double b) { return std::pow(a, b); }}},
      {"Max", {[](C, int64_t a, int64_t b) { return std::max(a, b); }, larger}},
      {"Min", {[](C, int64_t a, int64_t b) { return std::min(a, b); }, smaller}},
  };
  return all;
}

// One value of each operand that is broadcast.
struct Operands {
  Dims dims;
  std::vector<std::vector<size_t>> indices;  // by operand
};
bool broadcast_of(const KnownCall& c, Operands& out) {
  out.dims = known_broadcast(c, c.in.size());
  if (known_count(out.dims) > kMostKnown) return false;
  for (size_t i = 0; i < c.in.size(); ++i) out.indices.push_back(known_indices(out.dims, c.dims(i)));
  return true;
}

// Two or more operands, from the left.
bool binary(KnownCall& c) {
  Operands o;
  for (size_t i = 1; i < c.in.size(); ++i)
    if (c.type(i) != c.type(0)) return false;
  if (c.type(0) == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 || !broadcast_of(c, o)) return false;
  const Binary& function = binaries().at(c.op.type == "Sum" ? "Add" : c.op.type);
  KnownResult& result = c.add(c.type(0), o.dims);
  for (size_t k = 0; k < o.indices[0].size(); ++k) {
    if (c.real(0)) {
      double all = c.values(0).reals[o.indices[0][k]];
      for (size_t i = 1; i < c.in.size(); ++i) all = function.reals(c, all, c.values(i).reals[o.indices[i][k]]);
      result.values.reals.push_back(all);
      continue;
    }
    int64_t all = c.values(0).integers[o.indices[0][k]];
    for (size_t i = 1; i < c.in.size(); ++i) all = function.integers(c, all, c.values(i).integers[o.indices[i][k]]);
    result.values.integers.push_back(all);
  }
  return true;
}

template <typename T>
bool relation(const std::string& type, T a, T b) {
  if (type == "Equal") return a == b;
  if (type == "Less") return a < b;
  if (type == "Greater") return a > b;
  if (type == "LessOrEqual") return a <= b;
  if (type == "GreaterOrEqual") return a >= b;
  if (type == "And") return a != 0 && b != 0;
  if (type == "Or") return a != 0 || b != 0;
  return (a != 0) != (b != 0);  // Xor
}

bool compare(KnownCall& c) {
  Operands o;
  if (c.type(0) != c.type(1) || c.type(0) == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 || !broadcast_of(c, o)) return false;
  KnownResult& result = c.add(kBool, o.dims);
  for (size_t k = 0; k < o.indices[0].size(); ++k) {
    const size_t a = o.indices[0][k], b = o.indices[1][k];
    const bool holds = c.real(0) ? relation(c.op.type, c.values(0).reals[a], c.values(1).reals[b])
                                 : relation(c.op.type, c.values(0).integers[a], c.values(1).integers[b]);
    result.values.integers.push_back(holds);
  }
  return true;
}

bool where(KnownCall& c) {
  Operands o;
  if (c.type(1) != c.type(2) || !broadcast_of(c, o)) return false;
  KnownResult& result = c.add(c.type(1), o.dims);
  for (size_t k = 0; k < o.indices[0].size(); ++k) {
    const size_t from = c.values(0).integers[o.indices[0][k]] ? 1 : 2, at = o.indices[from][k];
    if (c.real(1))
      result.values.reals.push_back(c.values(from).reals[at]);
    else
      result.values.integers.push_back(c.values(from).integers[at]);
  }
  return true;
}

int64_t unary_of(const std::string& type, int64_t v) {
  if (type == "Neg") return wrapped(0 - uint64_t(v));
  if (type == "Abs") return v < 0 ? wrapped(0 - uint64_t(v)) : v;
  if (type == "Sign") return (v > 0) - (v < 0);
  return v == 0;  // Not
}
double unary_of(const std::string& type, double v) {
  if (type == "Neg") return -v;
  if (type == "Abs") return std::abs(v);
  if (type == "Sign") return v > 0 ? 1 : v < 0 ? -1 : v;
  if (type == "Floor") return std::floor(v);
  if (type == "Ceil") return std::ceil(v);
  if (type == "Round") return std::nearbyint(v);
  if (type == "Sqrt") return std::sqrt(v);
  if (type == "Reciprocal") return 1 / v;
  if (type == "Exp") return std::exp(v);
  return std::log(v);
}
bool unary(KnownCall& c) {
  KnownResult& result = c.add(c.type(0), c.dims(0));
  for (const double v : c.values(0).reals) result.values.reals.push_back(unary_of(c.op.type, v));
  for (const int64_t v : c.values(0).integers) result.values.integers.push_back(unary_of(c.op.type, v));
  return true;
}

// Numbers out of range have the result of x86 hardware, like on the CPU.
int64_t truncated(double v) {
  return v >= -9223372036854775808.0 && v < 9223372036854775808.0 ? int64_t(v) : std::numeric_limits<int64_t>::min();
}

bool cast(KnownCall& c) {
  const auto to = Type(c.op.integer("to", 0));
  if (c.type(0) == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 || to == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64) return false;
  KnownResult& result = c.add(to, c.dims(0));
  const Known& from = c.values(0);
  Known& made = result.values;
  if (is_known_real(to)) {
    made.reals = from.reals;
    for (const int64_t v : from.integers) made.reals.push_back(double(v));
    return true;
  }
  made.integers = from.integers;
  for (const double v : from.reals) made.integers.push_back(to == kBool ? v != 0 : truncated(v));
  if (to == kBool)
    for (int64_t& v : made.integers) v = v != 0;
  return true;
}

template <typename T>
T joined(const std::string& type, T all, T v) {
  if (type == "ReduceSum" || type == "ReduceMean") return T(all + v);
  if (type == "ReduceProd") return T(all * v);
  const bool better = type == "ReduceMax" ? v > all : v < all;
  return better || v != v ? v : all;
}

// The axes that a reduction removes.
std::vector<bool> reduced_axes(const KnownCall& c) {
  const auto* axes = c.list(1, "axes");
  const bool none = !axes || axes->empty();
  std::vector<bool> reduced(c.dims(0).size(), none && !c.op.integer("noop_with_empty_axes", 0));
  if (axes)
    for (const int64_t axis : *axes) reduced[c.axis(axis, reduced.size())] = true;
  return reduced;
}

template <typename T>
std::vector<T> reduce(const KnownCall& c, const std::vector<T>& from, const Dims& kept, size_t count) {
  std::vector<T> out(known_count(kept));
  std::vector<bool> begun(out.size(), false);
  const auto strides = known_strides(kept);
  size_t next = 0;
  for_each_known(c.dims(0), [&](const Dims& at) {
    size_t index = 0;
    for (size_t i = 0; i < at.size(); ++i)
      if (kept[i] != 1) index += size_t(at[i]) * strides[i];
    const T v = from[next++];
    out[index] = begun[index] ? joined(c.op.type, out[index], v) : v;
    begun[index] = true;
  });
  if (c.op.type == "ReduceMean")
    for (T& v : out) v = T(v / T(count));
  return out;
}

bool reduction(KnownCall& c) {
  const Dims& data = c.dims(0);
  if (known_count(data) == 0 || (c.op.type == "ReduceMean" && !c.real(0))) return false;
  const auto reduced = reduced_axes(c);
  Dims kept = data, dims;
  size_t count = 1;
  for (size_t i = 0; i < data.size(); ++i) {
    if (reduced[i]) {
      count *= size_t(data[i]);
      kept[i] = 1;
    }
    if (!reduced[i] || c.op.integer("keepdims", 1)) dims.push_back(kept[i]);
  }
  KnownResult& result = c.add(c.type(0), dims);
  if (c.real(0))
    result.values.reals = reduce(c, c.values(0).reals, kept, count);
  else
    result.values.integers = reduce(c, c.values(0).integers, kept, count);
  return true;
}

}  // namespace

void add_known_arithmetic(KnownFunctions& f) {
  for (const auto& entry : binaries()) f[entry.first] = binary;
  f["Sum"] = binary;
  for (const char* name : {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor"})
    f[name] = compare;
  f["Where"] = where;
  for (const char* name : {"Neg", "Abs", "Sign", "Not", "Floor", "Ceil", "Round", "Sqrt", "Reciprocal", "Exp", "Log"})
    f[name] = unary;
  f["Cast"] = f["CastLike"] = cast;
  for (const char* name : {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean"}) f[name] = reduction;
}

}  // namespace providers::cuda
