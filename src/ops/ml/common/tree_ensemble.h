// An ensemble of decision trees, compiled from the attributes of an operator into arrays that are quick to walk.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ops/run_context.h"

namespace retort::ops {

enum class Branch : uint8_t { leq, lt, gte, gt, eq, neq, member };

/// The trees as an operator states them; nothing is checked yet.
struct TreeTables {
  /// A node index, or ~i for leaf i.
  using Child = int64_t;
  struct Split {
    Branch mode = Branch::leq;
    int64_t feature = 0;
    double value = 0;
    bool missing_is_true = false;
    Child yes = 0, no = 0;
    uint32_t first = 0, last = 0;  ///< of Branch::member: a range of `members`
  };
  struct Weight {
    int64_t target;
    double value;
  };
  std::vector<Split> splits;
  std::vector<double> members;
  std::vector<Weight> weights;      ///< those of leaf 0, of leaf 1, …
  std::vector<uint32_t> leaf_ends;  ///< by leaf: where its weights end
  std::vector<Child> roots;
  int64_t targets = 0;
};

enum class Aggregate : uint8_t { average, sum, min, max };

/// Immutable: shared by concurrent runs. T: float or double, in which features are compared and
/// scores added.
template <typename T>
class TreeEnsemble {
 public:
  /// Throws invalid_graph when a child, target or leaf is not there, or when nodes do not form trees.
  explicit TreeEnsemble(const TreeTables& tables);

  size_t targets() const { return targets_; }
  size_t trees() const { return roots_.size(); }
  /// Columns that X must have at least.
  size_t features() const { return features_; }

  /// Scores of `rows` rows of X [rows, columns]: for each target the aggregate of what the trees say, and whether any
  /// tree spoke of it. `scores` and `spoken`: [rows, targets()]. Serial; no allocation. A score that no tree spoke of
  /// is 0.
  void evaluate(const T* x, size_t rows, size_t columns, Aggregate aggregate, T* scores, bool* spoken) const noexcept;

 private:
  struct Node {
    T value;
    uint32_t feature;
    uint32_t child[2];  ///< where the comparison holds, where it does not; of a leaf: itself
  };
  struct Detail {
    Branch mode = Branch::leq;
    bool missing_is_true = false;
    uint32_t first = 0, last = 0;  ///< of a leaf: its weights; of Branch::member: its members
  };
  struct Weight {
    uint32_t target;
    T value;
  };
  struct Lane {
    const T* row;
    uint32_t at;
  };
  static constexpr size_t kLanes = 8;

  uint32_t add_tree(const TreeTables& tables, TreeTables::Child root, std::vector<bool>& seen);
  uint32_t add_leaf(const TreeTables& tables, size_t leaf);
  template <class Lanes, class Holds>
  void walk(Lanes lanes, const Holds& holds) const noexcept;
  void walk(std::span<Lane> lanes) const noexcept;
  bool holds(const Detail& detail, T x, T value) const noexcept;
  void add(uint32_t leaf, Aggregate aggregate, T* scores, bool* spoken) const noexcept;

  std::vector<Node> nodes_;
  std::vector<Detail> details_;  ///< by node
  std::vector<Weight> weights_;
  std::vector<T> members_;  ///< sorted within each node
  std::vector<uint32_t> roots_;
  size_t targets_ = 0, features_ = 0;
  bool plain_ = true;  ///< every split is x <= value and NaN goes the other way
};

}  // namespace retort::ops
