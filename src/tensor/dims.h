// Symbolic extents: a table of hash-consed integer expressions over named symbols. Equal expressions have equal
// handles, so one comparison decides whether two extents are equal. Known extents are not in the table.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tensor/type.h"

namespace retort {

/// One per model. Not thread-safe.
class DimTable {
 public:
  /// The symbol of that name, for example a dim_param of the model.
  Dim symbol(const std::string& name);
  /// A new symbol, equal to nothing else, for a number that depends on data and may be negative.
  Dim fresh();
  /// The same for an extent, which is never negative.
  Dim fresh_extent();

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim mul(Dim a, Dim b);
  /// a / b rounded towards minus infinity; if b is the number 0, a new symbol.
  Dim div(Dim a, Dim b);
  Dim min(Dim a, Dim b);
  Dim max(Dim a, Dim b);
  /// The numpy rule for two extents: equal, or one of them 1. This is not the maximum: 0 and 1 give 0. Throws if both
  /// are known and do not match.
  Dim broadcast(Dim a, Dim b);
  Dim product(std::span<const Dim> dims);
  /// Whether its form proves that `d` is >= 0 for all values of the symbols.
  bool nonnegative(Dim d) const;
  /// The value of `d` if symbols have these values; nullopt if it depends on other symbols or on data.
  std::optional<int64_t> evaluate(Dim d, std::span<const std::pair<Dim, int64_t>> symbols) const;

  /// "batch", "2*seq+1", "?3"
  std::string text(Dim d) const;
  /// "[batch,3,224,224]"
  std::string text(std::span<const Dim> dims) const;
  /// The name if `d` is a plain named symbol, otherwise "".
  std::string symbol_name(Dim d) const;

 private:
  enum class Op : uint8_t { symbol, fresh, extent, add, mul, div, min, max, broadcast };
  struct Node {
    Op op;
    Dim a, b;
    std::string name;
  };
  Dim intern(Op op, Dim a, Dim b, const std::string& name = {});
  const Node& node(Dim d) const { return nodes_.at(size_t(kSymbolBase - d)); }
  Dim add_constant(Dim a, Dim known);
  /// Whether broadcast(a, b) is `a` wherever it is defined.
  bool absorbs(Dim a, Dim b) const;

  std::vector<Node> nodes_;
  std::map<std::tuple<Op, Dim, Dim, std::string>, Dim> index_;
};

}  // namespace retort
