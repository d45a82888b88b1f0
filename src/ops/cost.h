// What an operator costs: how much arithmetic it is, and how its kernel goes about it, by the shapes of its inputs and
// outputs alone. One function per operator serves both users: what is told of a model before it runs, where extents may be
// unknown, and the choice between ways to run a step, when all is a number.
#pragma once
#include <limits>

#include "tensor/type.h"

namespace retort {

/// A number that is not known. It is NaN: what is computed from one is unknown, too.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// What a kernel reads.
enum class Access : uint8_t {
  whole,  ///< each input, from its beginning to its end
  part,   ///< as many elements of input 0 as it writes, in their order
  rows,   ///< as many elements of input 0 as it writes, rows from anywhere in it
};

/// Formulas are those of the plain definition: a kernel that needs less (Winograd) still does this much work. Moves are no
/// arithmetic, nor are searches, trees and text; bodies are not counted, since only the data tells how often they run.
struct Cost {
  double multiply_adds = 0;
  double operations = 0;  ///< other arithmetic: 1 for an element of any function
  bool tiles = false;     ///< the multiply-adds are products of matrices, which the kernel cuts into tiles
  double rounds = 1;      ///< that the kernel goes through one after the other, such as the steps of a sequence
  Access access = Access::whole;
  /// A multiplication with an addition counts 2.
  double arithmetic() const { return 2 * multiply_adds + operations; }
};

/// What an operator's cost() sees.
class CostContext {
 public:
  bool has(size_t i) const { return input(i); }
  /// 0 also where it is not known.
  size_t rank(size_t i) const;
  /// Elements; 0 for an omitted input, kUnknown where an extent is not known.
  double count(size_t i) const { return count_of(input(i)); }
  double out_count(size_t i = 0) const { return count_of(output(i)); }
  /// The same of one extent, counted from the end where `axis` is negative; kUnknown also where there is no such axis.
  double extent(size_t i, int axis) const { return extent_of(input(i), axis); }
  double out_extent(size_t i, int axis) const { return extent_of(output(i), axis); }

 protected:
  ~CostContext() = default;

 private:
  /// Null: omitted.
  virtual const ValueType* input(size_t i) const = 0;
  virtual const ValueType* output(size_t i) const = 0;
  virtual double number(Dim extent) const = 0;

  double count_of(const ValueType* type) const;
  double extent_of(const ValueType* type, int axis) const;
};

/// a / b; kUnknown where b is 0.
inline double per(double a, double b) { return b != 0 ? a / b : kUnknown; }

}  // namespace retort
