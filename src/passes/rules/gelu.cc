// Recognises GELU as a sequence of operators: x · (erf(x / √2) + 1) · ½ in any order of the factors, and the tanh form
// ½ · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))). Speeds up BERT, MiniLM, ViT, Whisper (erf) and GPT-2 (tanh).
#include <cmath>
#include <numbers>

#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

/// A product, separated into the product of its scalar constants and the other factors.
struct Factors {
  double constant = 1;
  std::vector<ValueId> others;
  std::vector<NodeId> nodes;
};

// Follows Mul, and Div by a constant, as long as the partial products have no other consumers.
void collect(const Graph& g, ValueId v, Factors& f, int depth) {
  if (const auto c = scalar_constant(g, v)) {
    f.constant *= *c;
    return;
  }
  const Node* mul = depth > 0 ? sole_producer_of(g, v, "Mul") : nullptr;
  const Node* div = depth > 0 && !mul ? sole_producer_of(g, v, "Div") : nullptr;
  if (mul) {
    f.nodes.push_back(mul->id);
    collect(g, mul->inputs[0], f, depth - 1);
    collect(g, mul->inputs[1], f, depth - 1);
  } else if (const auto c = div ? scalar_constant(g, div->inputs[1]) : std::nullopt) {
    f.nodes.push_back(div->id);
    f.constant /= *c;
    collect(g, div->inputs[0], f, depth - 1);
  } else {
    f.others.push_back(v);
  }
}

Factors factors_of(const Graph& g, const Node& mul) {
  Factors f;
  collect(g, mul.inputs[0], f, 3);
  collect(g, mul.inputs[1], f, 3);
  return f;
}

// Matches 1 + type(argument) and returns the argument.
ValueId one_plus(const Graph& g, ValueId v, std::string_view type) {
  const Node* add = sole_producer_of(g, v, "Add");
  const auto s = add ? with_scalar(g, *add) : std::nullopt;
  if (!s || !is_rounded(s->c, 1)) return ValueId::none;
  const Node* f = sole_producer_of(g, s->x, type);
  return f ? f->inputs[0] : ValueId::none;
}

bool is_scaled(const Graph& g, ValueId v, ValueId x, double factor) {
  Factors f;
  collect(g, v, f, 2);
  return f.others.size() == 1 && f.others[0] == x &&
         (is_rounded(f.constant, factor) || is_rounded(1 / f.constant, 1 / factor));
}

// Matches x³ · c as Pow(x, 3) · c or x · x · x · c.
bool is_cube(const Graph& g, ValueId v, ValueId x, double factor) {
  Factors f;
  collect(g, v, f, 3);
  if (!is_rounded(f.constant, factor)) return false;
  if (f.others.size() == 1) {
    const Node* pow = producer_of(g, f.others[0], "Pow");
    return pow && pow->inputs[0] == x && is_scalar(g, pow->inputs[1], 3);
  }
  return f.others.size() == 3 && std::all_of(f.others.begin(), f.others.end(), [x](ValueId o) { return o == x; });
}

// Matches √(2/π) · (x + 0.044715 · x³), the sum in either order, or √(2/π) · x · (1 + 0.044715 · x²).
bool is_tanh_argument(const Graph& g, ValueId v, ValueId x) {
  Factors f;
  collect(g, v, f, 2);
  if (!is_rounded(f.constant, std::sqrt(2 / std::numbers::pi)) || f.others.size() != 1) return false;
  const Node* add = sole_producer_of(g, f.others[0], "Add");
  const ValueId cube = add ? other_input(*add, [&](ValueId in) { return in == x; }) : ValueId::none;
  return cube != ValueId::none && is_cube(g, cube, x, 0.044715);
}

std::optional<Patch> match_written_gelu(const Graph& g, const Node& n) {
  const Factors f = factors_of(g, n);
  if (f.others.size() != 2 || !is_rounded(f.constant, 0.5)) return std::nullopt;
  for (size_t side = 0; side < 2; ++side) {
    const ValueId x = f.others[side], sum = f.others[1 - side];
    const ValueId erf = one_plus(g, sum, "Erf"), tanh = one_plus(g, sum, "Tanh");
    Attributes attributes;
    if (tanh != ValueId::none && is_tanh_argument(g, tanh, x)) {
      attributes.set("approximate", std::string("tanh"));
    } else if (erf == ValueId::none || !is_scaled(g, erf, x, 1 / std::numbers::sqrt2)) {
      continue;
    }
    Patch p(g);
    p.replace(n.outputs[0], p.add({.type = "Gelu", .inputs = {x}, .attributes = attributes}));
    for (NodeId covered : f.nodes) p.covers(covered);
    p.covers(n.id);
    return p;
  }
  return std::nullopt;
}

constexpr Rule kGeluRules[] = {
    {"gelu", "Mul", match_written_gelu, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_gelu;
constinit const Rules rules_gelu{kGeluRules};

}  // namespace retort
