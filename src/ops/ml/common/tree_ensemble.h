// An ensemble of decision trees, compiled from the attributes of an operator into arrays that are fast to walk.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ops/run_context.h"

namespace retort::ops {

enum class Branch : uint8_t { leq, lt, gte, gt, eq, neq, member };

/// The trees as an operator declares them, not checked yet.
struct TreeTables {
  /// A node index, or ~i for leaf i.
  using Child = int64_t;
  struct Split {
    Branch mode = Branch::leq;
    int64_t feature = 0;
    double value = 0;
    bool missing_is_true = false;
    Child yes = 0, no = 0;
    uint32_t first = 0, last = 0;  ///< for Branch::member: a range of `members`
  };
  struct Weight {
    int64_t target;
    double value;
  };
  std::vector<Split> splits;
  std::vector<double> members;
  std::vector<Weight> weights;      ///< the weights of leaf 0, of leaf 1, …
  std::vector<uint32_t> leaf_ends;  ///< per leaf: the end of its weights
  std::vector<Child> roots;
  int64_t targets = 0;
};

enum class Aggregate : uint8_t { average, sum, min, max };

/// Immutable; shared by concurrent runs. T is float or double, the type in which features are compared and scores
/// added.
template <typename T>
class TreeEnsemble {
 public:
  /// Nodes may share a child, as converters of LightGBM write sets of categories; a chain of such nodes becomes one
  /// node. Throws invalid_graph if a child, target or leaf does not exist, or if nodes form a cycle.
  explicit TreeEnsemble(const TreeTables& tables);

  size_t targets() const { return targets_; }
  size_t trees() const { return roots_.size(); }
  /// The minimal number of columns of X.
  size_t features() const { return features_; }

  /// Computes the scores of `rows` rows of X [rows, columns]: for each target the aggregate of the trees' weights, and
  /// whether any tree has a weight for it. `scores` and `spoken` are [rows, targets()]. Serial; no allocation. A score
  /// without weights is 0.
  void evaluate(const T* x, size_t rows, size_t columns, Aggregate aggregate, T* scores, bool* spoken) const noexcept;

 private:
  struct Node {
    T value;            ///< of a leaf: its first weight
    uint32_t feature;   ///< and kMissing if the comparison holds for NaN
    uint32_t child[2];  ///< where to go if the comparison is true or false; a leaf leads to itself
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
  /// A set of small integers: bit i of the words from `first` on says whether i is a member, up to `limit`, which is not.
  struct Mask {
    T limit = 0;
    uint32_t first = 0;
  };
  /// How many levels there are at least and at most above the leaves of a tree. round() makes them equal if the average
  /// leaf is nearly as deep as the deepest: to go on from a leaf costs less than to ask which lanes have arrived.
  struct Levels {
    uint32_t least = UINT32_MAX, most = 0;
    uint64_t leaves = 0, sum = 0;
    void add(const Levels& other);
    void round();
  };
  struct Root {
    uint32_t at;
    Levels levels;
  };
  /// A row that goes down a tree, and where it is.
  struct Lane {
    const T* row;
    uint32_t at;
  };
  static constexpr size_t kLanes = 8;
  static constexpr uint32_t kMissing = 1u << 31;
  /// Nodes are named by where they lie in memory, in this unit, which the processor can multiply by when it reads.
  static constexpr size_t kUnit = 8, kStep = sizeof(Node) / kUnit;
  static_assert(sizeof(Node) % kUnit == 0);

  uint32_t next_node() const { return uint32_t(nodes_.size() * kStep); }
  const Node& node(uint32_t at) const {
    return *reinterpret_cast<const Node*>(reinterpret_cast<const char*>(nodes_.data()) + at * kUnit);
  }
  const Detail& detail(uint32_t at) const { return details_[at / kStep]; }

  /// While the ensemble is built: what is known of each split of the tables.
  struct Progress {
    std::vector<uint32_t> parents;  ///< how many nodes lead to it
    std::vector<uint32_t> places;   ///< its node, or kNowhere
  };
  static constexpr uint32_t kNowhere = UINT32_MAX;

  Root add_tree(const TreeTables& tables, TreeTables::Child root, Progress& progress);
  void add_leaf(const TreeTables& tables, size_t leaf);
  void add_split(const TreeTables::Split& split, std::span<const double> members, bool swapped);
  void make_masks();
  bool add_mask(size_t node, std::span<const T> members);
  template <class Holds>
  void walk(Lane* lanes, const Levels& levels, const Holds& holds) const noexcept;
  void walk(Lane* lanes, const Levels& levels, bool missing) const noexcept;
  bool holds(const Detail& detail, T x, T value) const noexcept;
  bool masked(const Mask& mask, T x) const noexcept;
  void add(uint32_t leaf, Aggregate aggregate, T* scores, bool* spoken) const noexcept;
  void add_all(const Lane* lanes, size_t count, Aggregate aggregate, T* scores, bool* spoken,
               size_t stride) const noexcept;

  std::vector<Node> nodes_;
  std::vector<Detail> details_;  ///< per node
  std::vector<Weight> weights_;
  std::vector<T> members_;   ///< sorted within each node
  std::vector<Mask> masks_;  ///< per node, if all sets have one and the other splits are x <= value; else empty
  std::vector<uint32_t> bits_;
  std::vector<Root> roots_;
  Levels levels_;  ///< of all trees
  size_t targets_ = 0, features_ = 0;
  bool less_ = true, less_or_equal_ = true;  ///< whether every split is x < value; x <= value
  bool sets_ = false, sets_or_leq_ = true;   ///< whether some split is a set; every split is a set or x <= value
  bool missing_ = false;                     ///< whether some comparison holds for NaN
  bool plain_ = true;                        ///< whether there is one target, and each leaf has one weight
};

}  // namespace retort::ops
