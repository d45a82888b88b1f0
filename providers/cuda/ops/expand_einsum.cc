// Einsum in forms that are no product of matrices as they are: operands are summed over letters that nothing else has,
// and their axes are brought into the order batch, rows, inner (columns).
#include <algorithm>

#include "expand.h"

namespace providers::cuda {
namespace {

struct Terms {
  std::vector<std::string> in;
  std::string out, why;
};

bool has(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }

Terms terms_of(const Node& node) {
  Terms t;
  std::string all;
  for (const char c : node.string("equation", ""))
    if (c != ' ') all += c;
  const size_t arrow = all.find("->");
  const std::string left = all.substr(0, arrow);
  t.in.emplace_back();
  for (const char c : left) {
    if (c == ',')
      t.in.emplace_back();
    else
      t.in.back() += c;
  }
  if (arrow != std::string::npos) {
    t.out = all.substr(arrow + 2);
  } else {
    for (const char c : left)
      if (c != ',' && std::count(left.begin(), left.end(), c) == 1) t.out += c;
    std::sort(t.out.begin(), t.out.end());
  }
  if (has(all, '.')) t.why = "its equation has an ellipsis";
  if (t.in.size() != node.in.size() || t.in.size() > 2) t.why = text("it has ", node.in.size(), " operands");
  for (const std::string& term : t.in)
    for (const char c : term)
      if (std::count(term.begin(), term.end(), c) != 1) t.why = "an operand has a letter twice";
  for (const char c : t.out)
    if (!has(left, c) || std::count(t.out.begin(), t.out.end(), c) != 1) t.why = "its result has other letters";
  return t;
}

/// An operand with its letters.
struct Lettered {
  const Value* value;
  std::string letters;
};

// Sums over the letters that are not in `kept`.
Lettered summed(Expansion& e, const Lettered& x, const std::string& kept) {
  Lettered y{x.value, ""};
  Value shape;
  Dims axes;
  shape.has_rank = x.value->has_rank && x.value->rank() == x.letters.size();
  for (size_t i = 0; i < x.letters.size(); ++i) {
    if (!has(kept, x.letters[i])) {
      axes.push_back(int64_t(i));
      continue;
    }
    y.letters += x.letters[i];
    if (shape.has_rank) shape.dims.push_back(x.value->dims[i]);
  }
  if (axes.empty()) return x;
  y.value = e.add({"ReduceSum", 11}, {x.value}, x.value->type, &shape, {{"axes", axes}, {"keepdims", int64_t(0)}});
  return y;
}

Dims order_between(const std::string& from, const std::string& to) {
  Dims order;
  for (const char c : to) order.push_back(int64_t(from.find(c)));
  return order;
}

const Value* turned(Expansion& e, const Lettered& x, const std::string& to) {
  if (x.letters == to) return x.value;
  const Dims order = order_between(x.letters, to);
  Value shape;
  shape.has_rank = x.value->has_rank && x.value->rank() == order.size();
  for (const int64_t axis : order)
    if (shape.has_rank) shape.dims.push_back(x.value->dims[size_t(axis)]);
  return e.add({"Transpose"}, {x.value}, x.value->type, &shape, {{"perm", order}});
}

void store(Expansion& e, const Lettered& x, const std::string& to) {
  if (x.letters == to) return e.make({"Identity"}, {x.value}, {e.of().out[0]});
  e.make({"Transpose"}, {x.value}, {e.of().out[0]}, {{"perm", order_between(x.letters, to)}});
}

std::string letters_of(const std::string& all, const std::function<bool(char)>& wanted) {
  std::string made;
  for (const char c : all)
    if (wanted(c)) made += c;
  return made;
}

// The operator for equations that are products already.
Kind& plain() {
  static Kind& kind = *new Kind;
  return kind;
}

struct NothingKnown : Claiming {
  bool known(const Value*) const override { return false; }
};

void einsum(Expansion& e) {
  const Node& n = e.of();
  if (plain().refuses(n, NothingKnown()).empty()) return;
  const Terms t = terms_of(n);
  if (n.in.size() == 1) return store(e, summed(e, {n.in[0], t.in[0]}, t.out), t.out);
  const Lettered a = summed(e, {n.in[0], t.in[0]}, t.in[1] + t.out), b = summed(e, {n.in[1], t.in[1]}, t.in[0] + t.out);
  const auto in_a = [&](char c) { return has(a.letters, c); };
  const auto in_b = [&](char c) { return has(b.letters, c); };
  const std::string batch = letters_of(t.out, [&](char c) { return in_a(c) && in_b(c); });
  const std::string rows = letters_of(t.out, [&](char c) { return in_a(c) && !in_b(c); });
  const std::string columns = letters_of(t.out, [&](char c) { return !in_a(c) && in_b(c); });
  const std::string inner = letters_of(a.letters, [&](char c) { return in_b(c) && !has(t.out, c); });
  const std::string left = batch + rows + inner, right = batch + inner + columns, made = batch + rows + columns;
  const Value *const x = turned(e, a, left), *const y = turned(e, b, right);
  const Value* const product =
      e.add({"Einsum", 12}, {x, y}, n.out[0]->type, nullptr, {{"equation", text(left, ",", right, "->", made)}});
  store(e, {product, made}, t.out);
}

}  // namespace

void expand_einsum(Kinds& kinds) {
  Kind& kind = kinds[{"", "Einsum"}];
  plain() = kind;
  kind = expanded(
      [](const Node& node) { return plain().refuses(node, NothingKnown()).empty() ? "" : terms_of(node).why; }, einsum);
  kind.make = plain().make;
}

}  // namespace providers::cuda
