// Ensembles of decision trees as their operators declare them, and as kernels/trees.cu reads them.
#pragma once
#include <string>
#include <vector>

#include "cuda/core/operators.h"

namespace providers::cuda {

/// In the order of the kernel's enum.
enum class Branch : int { leq, lt, gte, gt, eq, neq, member, leaf };

struct TreeLists {
  /// A split leads to `yes` and `no`: indices of splits, or ~i for leaf i.
  struct Split {
    Branch mode = Branch::leq;
    int64_t feature = 0;
    double value = 0;
    bool missing_is_true = false;
    int64_t yes = 0, no = 0;
    std::vector<double> members;
  };
  struct Weight {
    int64_t target;
    double value;
  };
  std::vector<Split> splits;
  std::vector<std::vector<Weight>> leaves;
  std::vector<int64_t> roots;  ///< like `yes`
  int64_t targets = 1;
};
/// Of TreeEnsembleRegressor ("target") and TreeEnsembleClassifier ("class"), whose lists of weights have these names.
TreeLists old_trees(const Node& node, const std::string& of, int64_t targets);
/// Of TreeEnsemble.
TreeLists new_trees(const Node& node);

/// The kernel's tables, as bytes.
struct TreeTables {
  std::vector<char> nodes, weights, members, roots;
  int64_t trees = 0, features = 0;
  bool plain = true;  ///< PLAIN
};
/// T is float or double. Throws Error if nodes do not form trees, or if a target does not exist.
template <typename T>
TreeTables tree_tables(const Node& node, const TreeLists& lists);

/// A list of floats, or the tensor that may replace it.
std::vector<double> reals_of(const Node& node, const std::string& list, const std::string& tensor);

}  // namespace providers::cuda
