// Replaces chains of Slice, Concat, Transpose and Reshape that only move whole rows of each batch item by one Gather of
// rows: the shifts and windows of Swin, which are torch.roll and a partition, and the merging of neighbouring patches.
#include <algorithm>
#include <map>
#include <numeric>

#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

constexpr size_t kMaxRows = 1 << 16;  ///< rows of one item; the indices are a constant of this length
constexpr size_t kMinRowBytes = 64;   ///< shorter rows are moved faster by transposes
constexpr size_t kMinCopies = 2, kMaxNodes = 32;

bool moves(const Node& n) {
  return n.op && n.domain.empty() &&
         (n.type == "Slice" || n.type == "Concat" || n.type == "Transpose" || n.type == "Reshape");
}

// Reshape, Slice and Transpose move their first input only.
std::span<const ValueId> moved(const Node& n) { return {n.inputs.data(), n.type == "Concat" ? n.inputs.size() : 1}; }

/// A value per batch item: rows of the base, in the order of an array with these extents.
struct Rows {
  std::vector<int64_t> extents;  ///< [items merged into axis 0, …, rows along the last axis]
  std::vector<int64_t> row;      ///< the number of the base's row
};

/// The chain that ends in a node, back to the one value that it reads.
class Chain {
 public:
  Chain(const Graph& g, const Node& end) : g_(g), nodes_{&end} {
    while (grow()) {
    }
  }

  std::optional<Patch> patch() {
    const size_t copies = size_t(std::ranges::count_if(nodes_, [](const Node* n) { return n->type != "Reshape"; }));
    if (!base_ || copies < kMinCopies || !find_item() || !start()) return std::nullopt;
    for (size_t i = nodes_.size(); i-- > 0;) {
      if (!add(*nodes_[i])) return std::nullopt;
    }
    return replacement();
  }

 private:
  bool contains(NodeId id) const {
    return std::ranges::any_of(nodes_, [id](const Node* n) { return n->id == id; });
  }
  bool used_inside(ValueId v) const {
    return !g_.is_output(v) && std::ranges::all_of(g_.value(v).uses, [this](const Use& u) { return contains(u.node); });
  }
  // Adds a node whose result only the chain uses, so that nodes_ has consumers before producers; otherwise finds the
  // base.
  bool grow() {
    if (nodes_.size() == kMaxNodes) return false;
    std::optional<ValueId> leaf;
    bool several = false;
    for (const Node* n : nodes_) {
      for (const ValueId v : moved(*n)) {
        const Node* from = g_.producer(v);
        if (from && contains(from->id)) continue;
        if (from && moves(*from) && from->outputs.size() == 1 && used_inside(v)) {
          nodes_.push_back(from);
          return true;
        }
        several |= leaf && *leaf != v;
        leaf = v;
      }
    }
    if (!several) base_ = leaf;
    return false;
  }

  const Shape* shape(ValueId v) const { return shape_of(g_, v); }

  // Finds the number of batch items: the first extent of one of the values, of which all others are multiples.
  bool find_item() {
    std::vector<Dim> first;
    for (const Node* n : nodes_) {
      const Shape* s = shape(n->outputs[0]);
      if (!s || s->rank() < 2) return false;
      first.push_back((*s)[0]);
    }
    const Shape* s = shape(*base_);
    if (!s || s->rank() < 2) return false;
    first.push_back((*s)[0]);
    for (const Dim d : first) {
      items_ = d;
      if (std::ranges::all_of(first, [this](Dim other) { return times(other).has_value(); })) return true;
    }
    return false;
  }
  // How many times the number of items an extent is.
  std::optional<int64_t> times(Dim d) const {
    if (d == items_) return 1;
    if (items_ == 0 || d == 0) return std::nullopt;
    const Dim q = g_.dims().div(d, items_);
    if (!is_known(q) || q < 1 || g_.dims().mul(q, items_) != d) return std::nullopt;
    return q;
  }

  // The extents of a value in rows; nullopt if its last axis does not consist of whole rows.
  std::optional<std::vector<int64_t>> extents(ValueId v) const {
    const Shape& s = *shape(v);
    std::vector<int64_t> e(s.begin(), s.end());
    const auto merged = times(s[0]);
    if (!merged || !std::all_of(e.begin() + 1, e.end(), [](int64_t d) { return is_known(d) && d > 0; }) ||
        e.back() % width_ != 0)
      return std::nullopt;
    e[0] = *merged;
    e.back() /= width_;
    return e;
  }
  static size_t count(const std::vector<int64_t>& extents) {
    size_t n = 1;
    for (const int64_t e : extents) n = n > kMaxRows || e > int64_t(kMaxRows) ? kMaxRows + 1 : n * size_t(e);
    return n;
  }

  bool start() {
    const Shape& s = *shape(*base_);
    const GraphValue& base = g_.value(*base_);
    if (!is_known(s.back()) || s.back() <= 0 || !is_float(base.type.dtype)) return false;
    width_ = s.back();
    if (dtype_bytes(base.type.dtype, size_t(width_)) < kMinRowBytes) return false;
    const auto e = extents(*base_);
    if (!e || count(*e) > kMaxRows) return false;
    rows_ = count(*e);
    Rows all{*e, std::vector<int64_t>(rows_)};
    std::iota(all.row.begin(), all.row.end(), 0);
    values_[*base_] = std::move(all);
    return true;
  }

  bool add(const Node& n) {
    const auto e = extents(n.outputs[0]);
    if (!e || count(*e) > kMaxRows) return false;
    Rows y{*e, {}};
    const bool ok = n.type == "Reshape"     ? reshape(n, y)
                    : n.type == "Transpose" ? transpose(n, y)
                    : n.type == "Slice"     ? slice(n, y)
                                            : concat(n, y);
    if (ok) values_[n.outputs[0]] = std::move(y);
    return ok;
  }

  bool reshape(const Node& n, Rows& y) const {
    if (!has_content(g_, n.input(1))) return false;  // only a declaration says its shape, which may be wrong
    y.row = values_.at(n.inputs[0]).row;
    return count(y.extents) == y.row.size();
  }

  // Fills y from x: element `at` of y is the one of x at start + sum of at[d] · step[d].
  static void take(const Rows& x, const std::vector<int64_t>& step, int64_t start, Rows& y) {
    std::vector<int64_t> at(y.extents.size(), 0);
    y.row.resize(count(y.extents));
    int64_t from = start;
    for (int64_t& row : y.row) {
      row = x.row[size_t(from)];
      for (size_t d = at.size(); d-- > 0;) {
        from += step[d];
        if (++at[d] < y.extents[d]) break;
        from -= at[d] * step[d];
        at[d] = 0;
      }
    }
  }
  static std::vector<int64_t> strides(const std::vector<int64_t>& extents) {
    std::vector<int64_t> s(extents.size(), 1);
    for (size_t d = extents.size() - 1; d-- > 0;) s[d] = s[d + 1] * extents[d + 1];
    return s;
  }

  // The items must stay in their order, and the elements of a row together.
  bool transpose(const Node& n, Rows& y) const {
    const Rows& x = values_.at(n.inputs[0]);
    const auto perm = ints_attribute(n, "perm");
    const size_t rank = x.extents.size();
    if (perm.size() != rank || perm[0] != 0 || perm[rank - 1] != int64_t(rank) - 1) return false;
    const auto from = strides(x.extents);
    std::vector<int64_t> step;
    for (const int64_t axis : perm) step.push_back(from[size_t(axis)]);
    take(x, step, 0, y);
    return true;
  }

  bool slice(const Node& n, Rows& y) const {
    const Rows& x = values_.at(n.inputs[0]);
    const size_t rank = x.extents.size();
    const auto starts = known_integers(g_, n.input(1)), axes = known_integers(g_, n.input(3));
    const auto given = known_integers(g_, n.input(4));
    if (!starts || !axes || axes->size() != starts->size() || (n.input(4) != ValueId::none && !given)) return false;
    std::vector<int64_t> step = strides(x.extents);
    int64_t start = 0;
    for (size_t i = 0; i < axes->size(); ++i) {
      const size_t axis = normalize_axis((*axes)[i], rank);
      const int64_t by = given ? given->at(i) : 1, unit = axis == rank - 1 ? width_ : 1;
      const int64_t extent = x.extents[axis] * unit, wanted = (*starts)[i];
      const int64_t first = std::clamp<int64_t>(wanted < 0 ? wanted + extent : wanted, 0, extent);
      if (axis == 0 || by < 1 || first % unit != 0 || (unit > 1 && by != 1)) return false;
      start += first / unit * step[axis];
      step[axis] *= by;
    }
    take(x, step, start, y);
    return true;
  }

  bool concat(const Node& n, Rows& y) const {
    const size_t rank = y.extents.size(), axis = normalize_axis(n.attributes.get_or<int64_t>("axis", 0), rank);
    if (axis == 0) return false;
    const auto to = strides(y.extents);
    y.row.resize(count(y.extents));
    int64_t begin = 0;
    for (const ValueId v : n.inputs) {
      const Rows& x = values_.at(v);
      const int64_t run = x.extents[axis] * to[axis], outer = int64_t(x.row.size()) / run;
      for (int64_t o = 0; o < outer; ++o)
        std::copy_n(x.row.begin() + o * run, run, y.row.begin() + o * y.extents[axis] * to[axis] + begin);
      begin += run;
    }
    return true;
  }

  Patch replacement() const {
    const Node& end = *nodes_[0];
    Patch p(g_);
    const int64_t items = is_known(items_) ? items_ : -1;
    const auto reshaped = [&](ValueId x, std::vector<int64_t> to) {
      return p.add({.type = "Reshape", .inputs = {x, p.constant(int64_tensor(to), "shape")}});
    };
    const ValueId rows = reshaped(*base_, {items, int64_t(rows_), width_});
    const ValueId order = p.constant(int64_tensor(values_.at(end.outputs[0]).row), "rows");
    const ValueId gathered = p.add({.type = "Gather", .inputs = {rows, order}, .attributes = {{"axis", int64_t(1)}}});
    const Shape& s = *shape(end.outputs[0]);
    std::vector<int64_t> to(s.begin(), s.end());
    if (!is_known(to[0])) to[0] = -1;
    p.replace(end.outputs[0], reshaped(gathered, std::move(to)));
    for (size_t i = nodes_.size(); i-- > 0;) p.covers(nodes_[i]->id);
    return p;
  }

  const Graph& g_;
  std::vector<const Node*> nodes_;  ///< the end first, consumers before producers
  std::optional<ValueId> base_;
  Dim items_ = 1;
  int64_t width_ = 1;  ///< elements of a row
  size_t rows_ = 0;    ///< of one item of the base
  std::map<ValueId, Rows> values_;
};

std::optional<Patch> match_row_moves(const Graph& g, const Node& n) {
  const ValueId y = n.outputs[0];
  const auto goes_on = [&g](const Use& u) { return moves(g.node(u.node)); };
  // The chain is replaced from its end.
  if (!g.is_output(y) && std::ranges::all_of(g.value(y).uses, goes_on)) return std::nullopt;
  return Chain(g, n).patch();
}

constexpr Rule kRowMovesRules[] = {
    {"row_moves_concat", "Concat", match_row_moves, {RuleStage::idioms}},
    {"row_moves_reshape", "Reshape", match_row_moves, {RuleStage::idioms}},
    {"row_moves_transpose", "Transpose", match_row_moves, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_row_moves;
constinit const Rules rules_row_moves{kRowMovesRules};

}  // namespace retort
