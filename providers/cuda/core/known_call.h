// One evaluation of an operator by the host: what the functions of known*.cc share.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "known.h"

namespace providers::cuda {

/// An operator with its inputs, and the results so far.
struct KnownCall {
  const KnownOp& op;
  const std::vector<const Operand*>& in;
  std::vector<KnownResult>& out;

  bool has(size_t i) const { return i < in.size() && in[i]; }
  const Dims& dims(size_t i) const { return in[i]->dims; }
  Type type(size_t i) const { return in[i]->type; }
  const Known& values(size_t i) const { return *in[i]->known; }
  bool real(size_t i) const;
  /// An axis of a tensor with `rank` axes, counted from 0; throws Error if there is none.
  size_t axis(int64_t axis, size_t rank) const;
  /// The integers of an input, or of an attribute where older versions have them; null if neither is there.
  const std::vector<int64_t>* list(size_t input, const char* attribute) const;

  /// Adds a result; its values are then filled in.
  KnownResult& add(Type type, const Dims& dims);
  void add_integers(const Dims& dims, std::vector<int64_t> values);
  /// Adds a result with the elements of input `i` that have these indices.
  void take(size_t i, const Dims& dims, const std::vector<size_t>& indices);
  [[noreturn]] void fail(const std::string& why) const;
};

/// Evaluates one type; false if it cannot.
using KnownFunction = bool (*)(KnownCall& call);
using KnownFunctions = std::map<std::string, KnownFunction, std::less<>>;
void add_known_shapes(KnownFunctions& functions);      // known_shapes.cc: Shape, Reshape, Squeeze…
void add_known_moves(KnownFunctions& functions);       // known_moves.cc: Gather, Concat, Slice…
void add_known_arithmetic(KnownFunctions& functions);  // known_arithmetic.cc: Add, Equal, Cast, ReduceProd…

/// Elements of a tensor; more than kMostKnown ends an evaluation.
size_t known_count(const Dims& dims);
/// The steps between neighbours along each axis.
std::vector<size_t> known_strides(const Dims& dims);
/// Calls `visit` with the coordinates of each element, in the order of `rows`.
void for_each_known(const Dims& dims, const std::function<void(const Dims& at)>& visit);
/// The common shape of operands by the broadcasting of ONNX; throws Error of the call.
Dims known_broadcast(const KnownCall& call, size_t inputs);
/// For each element of `dims`, the index of the element of a tensor that is broadcast to it.
std::vector<size_t> known_indices(const Dims& dims, const Dims& tensor);
/// Whether a type's elements are Known::reals.
bool is_known_real(Type type);

}  // namespace providers::cuda
