// Values of test cases, independent of an engine: contents of .pb files and results of runs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace retort::conformance {

/// Numbers of TensorProto.DataType in onnx.
// clang-format off
enum class Elem : int {
  undefined, f32, u8, i8, u16, i16, i32, i64, string, boolean, f16, f64, u32, u64, c64, c128, bf16,
  f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, u4, i4, f4e2m1, f8e8m0, u2, i2,
};
// clang-format on

struct Value {
  enum class Kind { tensor, sequence, none };  // none: an optional without a value
  Kind kind = Kind::tensor;
  Elem elem = Elem::undefined;
  std::string name;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;      // elements as the ABI lays them out; sub-byte types packed, low bits first
  std::vector<std::string> strings;  // the elements of a string tensor
  std::vector<Value> items;          // of a sequence

  size_t count() const {
    size_t n = 1;
    for (const int64_t d : dims) n *= static_cast<size_t>(d);
    return n;
  }
};

/// Bits of one element; 0 for strings and unknown types.
int bits_of(Elem elem);

/// Bytes of `count` packed elements.
inline size_t bytes_of(Elem elem, size_t count) { return (count * static_cast<size_t>(bits_of(elem)) + 7) / 8; }

/// Element `index` as a number. Complex elements count as two (real, imaginary), so their index goes up to 2 * count().
double number_at(const Value& tensor, size_t index);

/// The content of a file; follows from the type that the engine reports for the input or output.
enum class FileKind { tensor, sequence, optional };

/// Reads a TensorProto, SequenceProto or OptionalProto. Throws std::exception if the file is missing or malformed.
Value read_value(const std::string& path, FileKind kind);

}  // namespace retort::conformance
