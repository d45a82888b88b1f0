// Einsum, where it is one product of matrices for each index of a batch.
#include <algorithm>
#include <map>

#include "products.h"

namespace providers::cuda {
namespace {

// The letters of both operands and of the result. Letters of a kind are neighbours and in one order wherever they occur,
// so that they count as one axis.
struct Equation {
  std::string a, b, out;
  std::string batch, rows, columns, inner;  // in A, B and out; in A and out; in B and out; in A and B
  bool swapped = false;                     // A and B have changed places: the result's last letters are those of A
};

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

// "" if the equation can be read.
std::string split(const std::string& text, Equation& equation) {
  std::string all;
  for (const char c : text)
    if (c != ' ') all += c;
  const size_t comma = all.find(','), arrow = all.find("->");
  if (comma == std::string::npos || all.find(',', comma + 1) != std::string::npos) return "not two operands";
  if (has(all, '.')) return "an ellipsis";
  equation.a = all.substr(0, comma);
  equation.b = all.substr(comma + 1, arrow == std::string::npos ? arrow : arrow - comma - 1);
  if (arrow != std::string::npos) {
    equation.out = all.substr(arrow + 2);
  } else {  // the letters that occur once, in the order of the alphabet
    const std::string both = equation.a + equation.b;
    for (const char c : both)
      if (std::count(both.begin(), both.end(), c) == 1) equation.out += c;
    std::sort(equation.out.begin(), equation.out.end());
  }
  for (const std::string* side : {&equation.a, &equation.b, &equation.out})
    for (const char c : *side)
      if (std::count(side->begin(), side->end(), c) != 1) return "a letter twice in one operand";
  return "";
}

std::string sort_letters(Equation& e) {
  for (const char c : e.out) {
    const bool in_a = has(e.a, c), in_b = has(e.b, c);
    if (!in_a && !in_b) return "a letter that no operand has";
    (in_a && in_b ? e.batch : in_a ? e.rows : e.columns) += c;
  }
  for (const char c : e.a) {
    if (has(e.out, c)) continue;
    if (!has(e.b, c)) return "a sum over an axis of one operand";
    e.inner += c;
  }
  for (const char c : e.b)
    if (!has(e.out, c) && !has(e.a, c)) return "a sum over an axis of one operand";
  return "";
}

// "" if the equation is a product.
std::string read(const std::string& text, Equation& equation) {
  std::string why = split(text, equation);
  if (why.empty()) why = sort_letters(equation);
  if (!why.empty()) return why;
  if (!equation.out.empty() && has(equation.rows, equation.out.back())) {
    std::swap(equation.a, equation.b);
    std::swap(equation.rows, equation.columns);
    equation.swapped = true;
  }
  const auto whole = [](const std::string& group, const std::string& side) {
    return group.empty() || side.find(group) != std::string::npos;
  };
  if (!whole(equation.rows, equation.a) || !whole(equation.rows, equation.out) ||
      !whole(equation.columns, equation.b) || !whole(equation.columns, equation.out) ||
      !whole(equation.inner, equation.a) || !whole(equation.inner, equation.b))
    return "axes in an order that no matrix has";
  if (!equation.columns.empty() && equation.out.back() != equation.columns.back())
    return "a result whose last axis is one of the batch";
  if (equation.columns.empty() && !equation.out.empty() && !equation.batch.empty() && equation.rows.empty())
    return "";  // a scalar product for each index
  if (equation.columns.empty() && !equation.batch.empty() && equation.out.back() == equation.batch.back())
    return "a result whose last axis is one of the batch";
  // cuBLASLt needs adjacent elements along one axis of a matrix.
  for (const auto& [side, across] : {std::pair{&equation.a, &equation.rows}, std::pair{&equation.b, &equation.columns}})
    if (!side->empty() && !has(*across, side->back()) && !has(equation.inner, side->back()))
      return "an operand whose last axis is one of the batch";
  return "";
}

struct Sizes {
  std::map<char, int64_t> extents;
  int64_t of(const std::string& letters) const {
    int64_t count = 1;
    for (const char c : letters) count *= extents.at(c);
    return count;
  }
};

// Elements from an index of a letter's axis to the next.
int64_t step_of(const std::string& side, char letter, const Sizes& sizes) {
  return sizes.of(side.substr(side.find(letter) + 1));
}
int64_t step_of(const std::string& side, const std::string& group, const Sizes& sizes) {
  return group.empty() ? sizes.of(side) : step_of(side, group.back(), sizes);
}

Side side_of_letters(const std::string& letters, const Equation& equation, const Sizes& sizes,
                     const std::pair<std::string, std::string>& groups) {
  Side side;
  for (const char c : equation.batch) {
    side.batch.push_back(sizes.extents.at(c));
    side.strides.push_back(step_of(letters, c, sizes));
  }
  side.rows = sizes.of(groups.first);
  side.columns = sizes.of(groups.second);
  side.row_step = step_of(letters, groups.first, sizes);
  side.column_step = groups.second.empty() ? 1 : step_of(letters, groups.second, sizes);
  return side;
}

struct EinsumOp : public Op {
  Equation equation;
  bool tf32 = false;

  void emit(Emitter& e) const override {
    const size_t first = equation.swapped ? 1 : 0;
    Sizes sizes;
    for (const auto& [i, letters] : {std::pair{first, &equation.a}, std::pair{1 - first, &equation.b}}) {
      const Dims& dims = e.look(i).dims;
      if (dims.size() != letters->size())
        e.fail(text("operand ", i, " has shape ", shape_text(dims), ", the equation names ", letters->size(), " axes"));
      for (size_t d = 0; d < dims.size(); ++d) {
        const auto [at, is_new] = sizes.extents.emplace((*letters)[d], dims[d]);
        if (!is_new && at->second != dims[d])
          e.fail(text("axis '", std::string(1, (*letters)[d]), "' has ", at->second, " and ", dims[d], " elements"));
      }
    }
    Dims dims, batch;
    for (const char c : equation.out) dims.push_back(sizes.extents.at(c));
    for (const char c : equation.batch) batch.push_back(sizes.extents.at(c));
    const Side a = side_of_letters(equation.a, equation, sizes, {equation.rows, equation.inner});
    const Side b = side_of_letters(equation.b, equation, sizes, {equation.inner, equation.columns});
    const Side d = side_of_letters(equation.out, equation, sizes, {equation.rows, equation.columns});
    auto set = product_set(a, b, batch, &d);
    if (!set) e.fail("the order of an operand's elements is not that of a matrix");
    set->product.tf32 = tf32;
    const Operand left = e.in(first), right = e.in(1 - first);
    emit_products(e, *set, left, right, e.out(0, left.type, dims), {});
  }
};

std::string refuses_einsum(const Node& node, const Claiming&) {
  if (node.in.size() != 2) return "not two operands";
  const std::string why = refuses_product_type(node.input(0));
  Equation equation;
  return why.empty() ? read(node.string("equation", ""), equation) : why;
}

std::unique_ptr<Op> make_einsum(const Node& node, Builder& builder) {
  auto op = std::make_unique<EinsumOp>();
  bind(*op, node, builder);
  read(node.string("equation", ""), op->equation);
  op->tf32 = builder.setting("use_tf32");
  return op;
}

}  // namespace

void add_einsum(Kinds& kinds) { kinds[{"", "Einsum"}] = {refuses_einsum, make_einsum}; }

}  // namespace providers::cuda
