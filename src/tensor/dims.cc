#include "tensor/dims.h"

#include <algorithm>

#include "base/checked.h"

namespace retort {
namespace {

Dim checked_negative(Dim d) {
  Dim r;
  if (__builtin_sub_overflow(Dim(0), d, &r)) fail(ErrorCode::invalid_argument, "extent overflows: -({})", d);
  return r;
}

}  // namespace

Dim DimTable::intern(Op op, Dim a, Dim b, const std::string& name) {
  const auto key = std::make_tuple(op, a, b, name);
  if (const auto found = index_.find(key); found != index_.end()) return found->second;
  nodes_.push_back({op, a, b, name});
  const Dim d = kSymbolBase - Dim(nodes_.size() - 1);
  index_.emplace(key, d);
  return d;
}

Dim DimTable::symbol(const std::string& name) { return intern(Op::symbol, 0, 0, name); }

Dim DimTable::fresh() { return intern(Op::fresh, Dim(nodes_.size()), 0); }

Dim DimTable::fresh_extent() { return intern(Op::extent, Dim(nodes_.size()), 0); }

// Stores sums as (expression) + constant, so that a+1-1 and (a+1)+1 are folded. Negative constants occur only in `b` of
// Op::add, which text() and this function read as a plain number.
Dim DimTable::add_constant(Dim a, Dim known) {
  if (known == 0) return a;
  if (node(a).op == Op::add && is_known(node(a).b)) {
    const Dim sum = node(a).b + known;
    return sum == 0 ? node(a).a : intern(Op::add, node(a).a, sum);
  }
  return intern(Op::add, a, known);
}

Dim DimTable::add(Dim a, Dim b) {
  if (is_known(a) && is_known(b)) return checked_add(a, b, "extent");
  if (is_known(a)) std::swap(a, b);
  if (is_known(b)) return add_constant(a, b);
  if (a < b) std::swap(a, b);
  return intern(Op::add, a, b);
}

Dim DimTable::sub(Dim a, Dim b) {
  if (a == b) return 0;
  if (is_known(b)) return add(a, checked_negative(b));
  // Recognises (x + c) - (x + d) and (x + y) - y; any other difference is a new symbol.
  const auto split = [&](Dim d) {
    const bool sum = !is_known(d) && node(d).op == Op::add && is_known(node(d).b);
    return sum ? std::pair(node(d).a, node(d).b) : std::pair(d, Dim(0));
  };
  const auto [x, c] = split(a);
  const auto [y, d] = split(b);
  if (is_known(x)) return fresh();
  const Dim rest = checked_add(c, checked_negative(d), "extent");
  if (x == y) return rest;
  if (node(x).op == Op::add && node(x).b == y) return add(node(x).a, rest);
  if (node(x).op == Op::add && node(x).a == y) return add(node(x).b, rest);
  return fresh();
}

Dim DimTable::mul(Dim a, Dim b) {
  if (is_known(a) && is_known(b)) return checked_mul(a, b, "extent");
  if (is_known(a)) std::swap(a, b);
  if (b == 0 || b == 1) return b == 0 ? 0 : a;
  if (is_known(b) && node(a).op == Op::mul && is_known(node(a).b)) return mul(node(a).a, mul(node(a).b, b));
  if (!is_known(b) && a < b) std::swap(a, b);
  return intern(Op::mul, a, b);
}

Dim DimTable::div(Dim a, Dim b) {
  if (b == 0) return is_known(a) ? 0 : fresh();
  if (b == -1) return sub(0, a);
  if (is_known(a) && is_known(b)) return a / b - (a % b != 0 && (a < 0) != (b < 0));
  if (a == b || b == 1) return a == b ? 1 : a;
  if (!is_known(a) && node(a).op == Op::mul) {  // (x * y) / y
    const auto [op, x, y, name] = node(a);
    if (y == b) return x;
    if (x == b) return y;
    if (is_known(y) && is_known(b) && y % b == 0) return mul(x, y / b);
    if (!is_known(x) && node(x).op == Op::mul && !is_known(b)) {
      if (node(x).a == b) return mul(node(x).b, y);
      if (node(x).b == b) return mul(node(x).a, y);
    }
  }
  return intern(Op::div, a, b);
}

Dim DimTable::min(Dim a, Dim b) {
  if (is_known(a) && is_known(b)) return std::min(a, b);
  return a == b ? a : intern(Op::min, std::max(a, b), std::min(a, b));
}

Dim DimTable::max(Dim a, Dim b) {
  if (is_known(a) && is_known(b)) return std::max(a, b);
  return a == b ? a : intern(Op::max, std::max(a, b), std::min(a, b));
}

bool DimTable::absorbs(Dim a, Dim b) const {
  const Node &of_a = node(a), &of_b = node(b);
  if (of_a.op == Op::broadcast && (of_a.a == b || of_a.b == b)) return true;
  // If a minimum of `a` and the other operand is not `a`, it is the other operand; if that is more than 1, it does not
  // broadcast with `a`.
  const auto capped = [a](Dim x, Dim cap) { return x == a && is_known(cap) && cap > 1; };
  return of_b.op == Op::min && (capped(of_b.a, of_b.b) || capped(of_b.b, of_b.a));
}

Dim DimTable::broadcast(Dim a, Dim b) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  if (is_known(a) && is_known(b)) fail(ErrorCode::invalid_argument, "extents {} and {} do not broadcast", a, b);
  // One is known and not 1, so the other must be 1 or equal to it.
  if (is_known(a) || is_known(b)) return is_known(a) ? a : b;
  if (absorbs(a, b)) return a;
  if (absorbs(b, a)) return b;
  return intern(Op::broadcast, std::max(a, b), std::min(a, b));
}

Dim DimTable::product(std::span<const Dim> dims) {
  Dim p = 1;
  for (Dim d : dims) p = mul(p, d);
  return p;
}

bool DimTable::nonnegative(Dim d) const {
  if (is_known(d)) return d >= 0;
  const Node& n = node(d);
  switch (n.op) {
    case Op::symbol:
    case Op::extent:
      return true;
    case Op::fresh:
      return false;  // may be a difference
    case Op::max:
      return nonnegative(n.a) || nonnegative(n.b);
    case Op::add:
    case Op::mul:
    case Op::div:
    case Op::min:
    case Op::broadcast:
      return nonnegative(n.a) && nonnegative(n.b);
  }
  return false;
}

std::optional<int64_t> DimTable::evaluate(Dim d, std::span<const std::pair<Dim, int64_t>> symbols) const {
  if (is_known(d)) return d;
  for (const auto& [symbol, number] : symbols) {
    if (symbol == d) return number;
  }
  const Node& n = node(d);
  if (n.op == Op::symbol || n.op == Op::fresh || n.op == Op::extent) return std::nullopt;
  const auto a = evaluate(n.a, symbols), b = evaluate(n.b, symbols);
  if (!a || !b) return std::nullopt;
  switch (n.op) {
    case Op::add:
      return checked_add(*a, *b, "extent");
    case Op::mul:
      return checked_mul(*a, *b, "extent");
    case Op::div:
      if (*b == 0 || *b == -1) return std::nullopt;
      return *a / *b - (*a % *b != 0 && (*a < 0) != (*b < 0));
    case Op::min:
      return std::min(*a, *b);
    case Op::max:
      return std::max(*a, *b);
    default:
      return *a == 1 ? *b : *a;  // broadcast
  }
}

std::string DimTable::symbol_name(Dim d) const {
  return !is_known(d) && node(d).op == Op::symbol ? node(d).name : std::string();
}

std::string DimTable::text(Dim d) const {
  if (is_known(d)) return std::to_string(d);
  const Node& n = node(d);
  switch (n.op) {
    case Op::symbol:
      return n.name;
    case Op::fresh:
    case Op::extent:
      return fmt::format("?{}", kSymbolBase - d);
    case Op::add:
      return text(n.a) + (is_known(n.b) && n.b < 0 ? "" : "+") + text(n.b);
    case Op::mul:
      return fmt::format("({})*{}", text(n.a), text(n.b));
    case Op::div:
      return fmt::format("({})/{}", text(n.a), text(n.b));
    case Op::min:
      return fmt::format("min({},{})", text(n.a), text(n.b));
    case Op::max:
      return fmt::format("max({},{})", text(n.a), text(n.b));
    case Op::broadcast:
      return fmt::format("broadcast({},{})", text(n.a), text(n.b));
  }
  return "?";
}

std::string DimTable::text(std::span<const Dim> dims) const {
  std::string all;
  for (size_t i = 0; i < dims.size(); ++i) all += fmt::format("{}{}", i ? "," : "[", text(dims[i]));
  return dims.empty() ? "[]" : all + "]";
}

}  // namespace retort
