// What an operator costs: its arithmetic and how its kernel reads memory, computed from the shapes of inputs and
// outputs. One function per operator serves two users. `explain` describes a model before any run, when extents may be
// unknown. `run` estimates the time of a step whose shapes are numbers.
#pragma once
#include <limits>

#include "tensor/type.h"

namespace retort {

/// An unknown number. It is NaN, so everything that is computed from it is unknown as well.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Which elements a kernel reads.
enum class Access : uint8_t {
  whole,  ///< all elements of all inputs
  part,   ///< as many elements of input 0 as it writes, one after the other
  rows,   ///< as many elements of input 0 as it writes, in rows at any positions
};

/// The arithmetic of the operator's definition; a kernel may need less (Winograd). Copies, searches, decision trees and
/// text count 0. Bodies are not counted, because the number of iterations follows from the data.
struct Cost {
  double multiply_adds = 0;
  double operations = 0;  ///< other arithmetic: each element of a function such as Add or Exp is 1
  bool tiles = false;     ///< a matrix product, which the kernel divides among threads in tiles
  double rounds = 1;      ///< parts that depend on one another, such as the time steps of a recurrent network
  Access access = Access::whole;
  /// A multiply-add counts as 2 operations.
  double arithmetic() const { return 2 * multiply_adds + operations; }
};

/// The shapes that an operator's cost() sees.
class CostContext {
 public:
  bool has(size_t i) const;
  /// Rank of input i; 0 where it is unknown or the input is omitted.
  size_t rank(size_t i) const;
  /// Number of elements: 0 for an omitted input, kUnknown where an extent is unknown.
  double count(size_t i) const;
  double out_count(size_t i = 0) const;
  /// One extent; a negative axis counts from the end. 0 for an omitted input, kUnknown where the extent is unknown or
  /// the axis does not exist.
  double extent(size_t i, int axis) const;
  double out_extent(size_t i, int axis) const;

 protected:
  ~CostContext() = default;

 private:
  /// The type of a value, or null for an omitted one.
  virtual const ValueType* input(size_t i) const = 0;
  virtual const ValueType* output(size_t i) const = 0;
  /// The number that an extent stands for, or kUnknown.
  virtual double number(Dim extent) const = 0;

  double count_of(const ValueType* type) const;
  double extent_of(const ValueType* type, int axis) const;
};

/// a / b; kUnknown where b is 0.
inline double per(double a, double b) { return b != 0 ? a / b : kUnknown; }

}  // namespace retort
