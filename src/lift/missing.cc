#include "lift/missing.h"

#include <algorithm>

namespace retort {
namespace {

constexpr size_t kMostLines = 20;

}  // namespace

void MissingOperators::add(const Node& node, const std::string& name, const Error& told) {
  const std::string reason = told.message().substr(std::min(name.size(), told.message().size()));
  const auto [at, added] = index_.try_emplace({node.domain, node.type, node.version, reason}, kinds_.size());
  if (added)
    kinds_.push_back({.first = told});
  else
    ++kinds_[at->second].nodes;
}

void MissingOperators::add_mistake(const Error& told) {
  if (!mistake_) mistake_ = told;
}

void MissingOperators::wrap(size_t first, FunctionRef<Error(const Error&)> change) {
  for (size_t i = first; i < kinds_.size(); ++i) kinds_[i].first = change(kinds_[i].first);
}

void MissingOperators::check() const {
  if (kinds_.empty() && mistake_) throw *mistake_;
  if (kinds_.empty()) return;
  if (kinds_.size() == 1 && kinds_[0].nodes == 1) throw kinds_[0].first;
  size_t nodes = 0;
  for (const Kind& kind : kinds_) nodes += kind.nodes;
  std::string lines;
  for (size_t i = 0; i < std::min(kinds_.size(), kMostLines); ++i) {
    const size_t more = kinds_[i].nodes - 1;
    lines += cat("\n  {}", kinds_[i].first.message());
    if (more > 0) lines += cat(" ({} more such {})", more, more == 1 ? "node" : "nodes");
  }
  if (kinds_.size() > kMostLines) lines += cat("\n  and {} more", kinds_.size() - kMostLines);
  fail(kinds_[0].first.code(), "{} nodes cannot run here:{}", nodes, lines);
}

}  // namespace retort
