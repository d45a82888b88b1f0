// Examples of operators, and the code that runs them. Each operator has a file <family>/<name>_test.cc (or one for
// a family) that says what the operator means in a few values:
//
//   static const OpTest add("Add", {
//       {.about = "broadcasts", .inputs = {f32({2, 1}, {1, 2}), f32({2}, {10, 20})},
//        .outputs = {f32({2, 2}, {11, 21, 12, 22})}},
//       {.about = "large", .inputs = {random({63, 1025}), random({1025})}},
//   });
//
// generic_test.cc then runs every operator of the table. For each example and each element type that T may have (inputs
// of constraint T are converted where that keeps their values):
//   - outputs are the ones given, if any are;
//   - the production kernel equals reference(), at every instruction level, for any number of threads, in place where
//     kMayAliasInput0 allows it, with and without constant inputs for prepare();
//   - infer() returns the shapes and content that the kernel produces, also when extents are replaced by symbols.
// Elementwise operators are also run on generated inputs of sizes 0, 1, odd and large, drawn from [low, high].
// extents_test.cc runs every example again with extents of 0 and 1 in place of its own.
// An operator without any example fails; one that cannot be run alone (bodies, random numbers) names its own test.
#pragma once
#include <limits>
#include <string>
#include <vector>

#include "ops/op.h"

namespace retort::ops {

struct OpCase {
  std::string about;
  Attributes attributes = {};
  std::vector<Tensor> inputs = {};  ///< an empty tensor stands for an omitted input
  /// Expected outputs; none: kernels are only compared; an empty tensor is not checked.
  std::vector<Tensor> outputs = {};
  size_t output_count = 0;   ///< number of requested outputs; 0: outputs.size(), or all formal ones
  bool fixed_types = false;  ///< do not convert T to other types
  double tolerance = 1;      ///< multiplies the allowed difference from `outputs`
};

struct OpTestOptions {
  std::string_view domain = "";
  double low = -4, high = 4;  ///< range of generated inputs of elementwise operators
  double tolerance = 1;       ///< multiplies the allowed difference between kernels; see allowed_difference()
  std::vector<size_t> weights =
      {};                          ///< inputs that must be constants for this operator: known to prepare() and infer()
  std::string_view own_test = {};  ///< if the generic test cannot run it: the name of the test that does
};

/// Registers examples of one operator; to be used as a static object.
class OpTest {
 public:
  OpTest(std::string_view name, std::vector<OpCase> cases, OpTestOptions options = {});
  const std::string& name() const { return name_; }
  const std::vector<OpCase>& cases() const { return cases_; }
  const OpTestOptions& options() const { return options_; }

  static const std::vector<const OpTest*>& all();

 private:
  std::string name_;
  std::vector<OpCase> cases_;
  OpTestOptions options_;
};

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline const Tensor kNone;  ///< stands for an omitted input
inline Tensor f32(Shape shape, const std::vector<float>& values) { return Tensor::of(std::move(shape), values); }
inline Tensor f64(Shape shape, const std::vector<double>& values) { return Tensor::of(std::move(shape), values); }
inline Tensor i64(Shape shape, const std::vector<int64_t>& values) { return Tensor::of(std::move(shape), values); }
inline Tensor i32(Shape shape, const std::vector<int32_t>& values) { return Tensor::of(std::move(shape), values); }
inline Tensor u8(Shape shape, const std::vector<uint8_t>& values) { return Tensor::of(std::move(shape), values); }
inline Tensor strings(Shape shape, const std::vector<std::string>& values) {
  return Tensor::of(std::move(shape), values);
}
inline Tensor booleans(Shape shape, const std::vector<bool>& values) { return Tensor::of(std::move(shape), values); }
/// float32 multiples of 1/8 in [low, high], the same for equal arguments; every float type represents them exactly.
Tensor random(Shape shape, uint32_t seed = 1, double low = -4, double high = 4);
/// Converts any numeric or bool tensor to another type, by Cast.
Tensor cast_to(const Tensor& tensor, DType type);

/// Largest |a - b| / (1 + |b|) that rounding explains: f32 2e-5, f64 1e-11, f16 4e-3, bf16 3e-2, others 0.
double allowed_difference(DType type);
/// "" if equal, otherwise the first difference. Types and shapes must be equal; NaN equals NaN.
std::string difference(const Tensor& got, const Tensor& expected, double tolerance);

struct RunMode {
  bool reference = false;  ///< runs reference() instead of the production kernel, if the op has one
  bool constants = true;   ///< prepare() sees the inputs
  int in_place = -1;       ///< output 0 shares the memory of (a copy of) this input
  Parallel parallel = {};
};

/// Runs an operator outside of any plan.
struct OpRun {
  OpRun(std::string_view domain, std::string_view name, const Attributes& attributes, std::vector<Tensor> inputs,
        size_t outputs);
  /// Infers, allocates and runs. Throws what the operator throws.
  std::vector<Tensor> run(const RunMode& mode = {});
  /// The slots of the outputs after inference, with content; type.kind is unknown if inference does not determine it.
  std::vector<Slot> infer(DimTable& dims, const std::vector<Slot>& inputs) const;
  std::vector<Slot> input_slots() const;

  Node node;
  std::vector<Tensor> inputs;
};

}  // namespace retort::ops
