#include "expansion.h"

#include <algorithm>

namespace providers::cuda {

const Value* Expansion::value(Type type, const Value* like) {
  const auto named = std::find_if(of_.out.begin(), of_.out.end(), [](const Value* v) { return v != nullptr; });
  Value& v = values_.emplace_back();
  v.name = text(named == of_.out.end() ? of_.name : (*named)->name, "\n", values_.size());
  v.type = type;
  if (like) {
    v.has_rank = like->has_rank;
    v.dims = like->dims;
  }
  return &v;
}

const Value* Expansion::add(const Form& form, std::vector<const Value*> in, Type type, const Value* like,
                            const Given& given) {
  const Value* const made = value(type, like);
  make(form, std::move(in), {made}, given);
  return made;
}

void Expansion::make(const Form& form, std::vector<const Value*> in, std::vector<const Value*> out,
                     const Given& given) {
  Node& node = nodes_.emplace_back();
  node.name = of_.name;
  node.type = form.type;
  node.domain = form.domain;
  node.since = form.since;
  while (!in.empty() && !in.back()) in.pop_back();
  node.in = std::move(in);
  node.out = std::move(out);
  for (const auto& [name, attribute] : given) node.given[name] = attribute;
  for (Value& v : values_)
    if (std::count(node.out.begin(), node.out.end(), &v)) v.maker = &node;
}

bool Expansion::has(const Value* value) const {
  return std::any_of(values_.begin(), values_.end(), [&](const Value& v) { return &v == value; });
}

std::string Expansion::refuses(const Claiming& claiming) const {
  struct Inside : Claiming {
    const Expansion& all;
    const Claiming& outside;
    Inside(const Expansion& a, const Claiming& o) : all(a), outside(o) {}
    bool known(const Value* v) const override { return v && all.has(v) ? v->constant != nullptr : outside.known(v); }
  };
  const Inside inside(*this, claiming);
  for (const Node& node : nodes_) {
    const auto kind = kinds().find({node.domain, node.type});
    if (kind == kinds().end()) return "it needs " + node.type + ", which the provider has no kernel for";
    std::string why = kind->second.refuses ? kind->second.refuses(node, inside) : "";
    if (why.empty() && kind->second.missing) why = kind->second.missing();
    if (!why.empty()) return "as " + node.type + ": " + why;
  }
  return "";
}

Kind expanded(std::function<std::string(const Node&)> refuses, void (*expand)(Expansion&)) {
  Kind kind;
  kind.refuses = [refuses = std::move(refuses), expand](const Node& node, const Claiming& claiming) -> std::string {
    std::string why = refuses ? refuses(node) : "";
    if (!why.empty()) return why;
    Expansion expansion(node);
    expand(expansion);
    return expansion.refuses(claiming);
  };
  kind.expand = expand;
  return kind;
}

}  // namespace providers::cuda
