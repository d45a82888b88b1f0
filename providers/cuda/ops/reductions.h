// What reductions and normalisations share: axes, types, and the places of elements for kernels.
#pragma once
#include <string>

#include "cuda/core/operators.h"

namespace providers::cuda {
namespace over_axes {  // names that other operators use in another sense

/// The kernels' struct of this name: the places of elements along merged axes, innermost first.
struct Walk {
  static constexpr int kMost = 6;
  int32_t rank = 0, unused = 0;
  int64_t size[kMost] = {}, stride[kMost] = {};
};

/// Axes in the order of memory, merged for a reduction.
struct Merged {
  Walk kept, reduced;
  int64_t outs = 1, count = 1;  ///< results, elements of each
  int64_t columns = 0;  ///< neighbouring results of the innermost kept axis, which `kept` lacks; 0: it is reduced
  bool plain = true;    ///< the elements of a result are evenly spaced
  bool fits = true;     ///< false: more than Walk::kMost axes are left
};
Merged merge_axes(const Dims& dims, const std::vector<bool>& reduced);

/// A tensor around one axis: `outer` blocks of `length` rows of `inner` elements.
struct AroundAxis {
  size_t axis = 0;
  int64_t outer = 1, length = 1, inner = 1;
};
/// Throws Error (by e.fail) if the rank has no such axis. Negative ones count from the end.
size_t axis_of(const Emitter& e, int64_t axis, size_t rank);
AroundAxis around_axis(const Emitter& e, int64_t axis, const Dims& dims);
int64_t product(const Dims& dims, size_t begin, size_t end);

bool is_real(Type type);  ///< float32, float16, bfloat16
/// "" or why the node is refused: the type of input `i` is not among `types` ("f": float32, float16, bfloat16;
/// "d": float64; "i": int32, int64; "u": uint32, uint64; "b": int8, uint8, bool).
std::string refuses_type(const Node& node, size_t i, const std::string& types);
/// "" or why the node is refused: input `i` is there, but its values are not known while plans are made.
std::string refuses_unknown(const Node& node, const Claiming& claiming, size_t i, const char* what);

/// The kernel's name of the type that stores an element; bool as bytes.
std::string stored_type(Type type);
/// The type in which sums are computed: float, double or i64.
std::string summed_type(Type type);
size_t summed_bytes(Type type);
/// Limits of a type as text for a kernel: -infinity and infinity for floating-point types.
std::string least_of(Type type);
std::string greatest_of(Type type);

inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace over_axes
using namespace over_axes;  // NOLINT: for the files of these operators

// Parts of add_reductions and add_norms.
void add_softmax(Kinds& kinds);
void add_extremes(Kinds& kinds);  // ArgMax, ArgMin, Hardmax
void add_scans(Kinds& kinds);     // CumSum, CumProd
void add_topk(Kinds& kinds);
void add_recurrent(Kinds& kinds);  // LSTM, GRU, RNN

}  // namespace providers::cuda
