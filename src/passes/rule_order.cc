#include <algorithm>
#include <set>

#include "base/error.h"
#include "passes/pass.h"

namespace retort {
namespace {

bool is_in(const Rule& rule, RuleStage stage) {
  return std::find(rule.stages.begin(), rule.stages.end(), stage) != rule.stages.end();
}

/// Sorts rules so that each comes after the rules that it names.
class Order {
 public:
  explicit Order(std::span<const Rule* const> rules) : rules_(rules) {}

  std::vector<const Rule*> all() {
    for (const Rule* rule : rules_) place(*rule);
    return std::move(placed_);
  }

 private:
  void place(const Rule& rule) {
    if (std::find(placed_.begin(), placed_.end(), &rule) != placed_.end()) return;
    require(waiting_.insert(&rule).second, ErrorCode::fail,
            "optimizer rules: '{}' comes after itself; break the cycle of `after`", rule.name);
    for (const std::string_view name : rule.after) {
      for (const Rule* other : rules_) {
        if (other->name == name) place(*other);
      }
    }
    waiting_.erase(&rule);
    placed_.push_back(&rule);
  }

  std::span<const Rule* const> rules_;
  std::vector<const Rule*> placed_;
  std::set<const Rule*> waiting_;
};

}  // namespace

std::vector<const Rule*> in_order(std::span<const Rule* const> rules) { return Order(rules).all(); }

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> all;
  for (const Rules* file : rule_files()) {
    for (const Rule& rule : file->list) all.push_back(&rule);
  }
  return all;
}

std::span<const Rule* const> rules_of(RuleStage stage) {
  static const auto* stages = [] {
    auto* lists = new std::array<std::vector<const Rule*>, size_t(RuleStage::skip_norms) + 1>;
    const std::vector<const Rule*> all = all_rules();
    for (size_t s = 1; s < lists->size(); ++s) {
      std::vector<const Rule*> of;
      std::copy_if(all.begin(), all.end(), std::back_inserter(of),
                   [&](const Rule* r) { return is_in(*r, RuleStage(s)); });
      (*lists)[s] = in_order(of);
    }
    return lists;
  }();
  return (*stages)[size_t(stage)];
}

}  // namespace retort
