// The operators of a model that cannot run here: unknown ones, and known ones with inputs of other types than they
// take.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "ir/graph.h"

namespace retort {

/// Collects them, so that one error tells all.
class MissingOperators {
 public:
  /// `node` has the domain, type and version of the operator; `name` describes the node, and `told` begins with it.
  void add(const Node& node, const std::string& name, const Error& told);
  /// An error of another kind; the first one counts.
  void add_mistake(const Error& told);
  size_t size() const { return kinds_.size(); }
  /// Replaces the errors from the `first` one on: adds the node in whose body they are.
  void wrap(size_t first, FunctionRef<Error(const Error&)> change);
  /// Throws if there are any: the error of the one that is missing, or a list of them; else the first mistake, if any.
  void check() const;

 private:
  struct Kind {
    Error first;  ///< of the first node
    size_t nodes = 1;
  };
  std::map<std::tuple<std::string, std::string, int, std::string>, size_t> index_;  ///< operator and reason
  std::vector<Kind> kinds_;
  std::optional<Error> mistake_;
};

}  // namespace retort
