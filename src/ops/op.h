// The definition of an operator: one struct and one OpDef per file under ops/. The struct holds the attributes with
// their defaults and these member functions, of which only infer() is always there. run() takes the place of
// reference() and fast():
//
//   void infer(InferContext&) const;                          types and shapes of outputs, content of small integers
//   template <typename T> void reference(RunContext&) const;  the meaning, one plain loop; T: float, double, [u]int64_t
//   void fast(RunContext&, std::type_identity<T>) const;      the production kernel of one element type
//   void run(RunContext&) const;                              for ops that do not compute on one element type
//   std::unique_ptr<State> prepare(PrepareContext&) const;    packs weights; run finds them in RunContext::state()
//   size_t scratch(const RunContext&) const;                  bytes of scratch for the shapes at hand
//   bool reads_rows(const RunContext&, size_t i) const;       input i may have rows of its last axis that lie apart
//   bool writes_rows(const RunContext&) const;                so may output 0; both by the shapes at hand alone
//   std::optional<Piece> piece(const RunContext&, size_t i) const;  where input i lies in output 0 (trait kJoins), or else
//                                                             output i in input 0; run leaves alone what does lie there
//   Cost cost(const CostContext&) const;                      arithmetic by the shapes (ops/cost.h); without it 1 for each
//                                                             element of output 0 for kElementwise, else 0
//   void check() const;                                       throws invalid_argument when attributes make no sense
//
// The file exports one constant-initialised OpDef named op_<file name>, which the build finds by that name.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "ir/attributes.h"
#include "ops/cost.h"
#include "ops/infer.h"
#include "ops/run_context.h"

namespace retort {

/// A set of element types, one bit per DType.
using TypeSet = uint64_t;
constexpr TypeSet types(std::initializer_list<DType> list) {
  TypeSet set = 0;
  for (DType t : list) set |= TypeSet(1) << int(t);
  return set;
}
constexpr bool contains(TypeSet set, DType t) { return set >> int(t) & 1; }
inline constexpr TypeSet kFloats = types({DType::f32, DType::f64, DType::f16, DType::bf16});
inline constexpr TypeSet kSigned = types({DType::i8, DType::i16, DType::i32, DType::i64});
inline constexpr TypeSet kUnsigned = types({DType::u8, DType::u16, DType::u32, DType::u64});
inline constexpr TypeSet kIntegers = kSigned | kUnsigned;
inline constexpr TypeSet kNumeric = kFloats | kIntegers;
inline constexpr TypeSet kBool = types({DType::boolean});
inline constexpr TypeSet kString = types({DType::string});
/// All whose elements are whole bytes and can be moved by memcpy.
inline constexpr TypeSet kFixedSize = kNumeric | kBool |
                                      types({DType::complex64, DType::complex128, DType::f8e4m3fn, DType::f8e4m3fnuz,
                                             DType::f8e5m2, DType::f8e5m2fnuz, DType::f8e8m0});
inline constexpr TypeSet kAll = ~TypeSet(0);

enum Traits : uint32_t {
  kNone = 0,
  kElementwise = 1,     ///< output i depends on the inputs' elements at i (after broadcasting) only
  kMayAliasInput0 = 2,  ///< output 0 may lie in the memory of input 0 when both have the same size
  kView = 4,            ///< output 0 is input 0 under another shape: no step runs
  kDynamicOutput = 8,   ///< output sizes follow from the data: the kernel allocates them
  kBoxed = 16,          ///< has inputs or outputs that are not dense tensors
  kRandom = 32,         ///< never folded nor merged
  kInternal = 64,       ///< made by passes only; never read from a model
  kImagewise = 128,   ///< image b of output 0 depends on image b of the inputs that are not constant, and on constants
  kJoins = 256,       ///< output 0 is the inputs side by side
  kExternal = 512,    ///< somebody else's: checks its inputs itself
  kAlongAxis = 1024,  ///< attribute `axis` names the one axis whose place matters to it
  kReduces = 2048,    ///< input 1 names the axes of input 0 that it takes together
  kConverts = 4096,   ///< its element types are what it means: another one may not stand in for them
};

/// Where a tensor lies in a larger one that is dense, in elements. 0 as `row_stride`: all of it lies together.
struct Piece {
  size_t offset = 0, row_stride = 0;
  bool operator==(const Piece&) const = default;
};

/// Output `output` may lie exactly over input `input` of the same size, which no other input may share: an addend, or a cache
/// that the operator adds to.
struct InPlace {
  int output = -1, input = -1;
  /// Gives the bits that memory of its own would have, so the workspace may share it. Else only a caller can ask for it, by
  /// binding both to one place; the kernel finds out by the pointers.
  bool same_bits = true;
};

/// Output `output` is input `input`, [B, H, rows, D], with new rows behind the old ones of every head. Both may lie in blocks
/// with room for more rows (Slot::room), also in the same one: then the old rows are in place.
struct Appends {
  int output = -1, input = -1;
};

/// What is said of an operator before any code. Formal parameters read "name: T", "name: T?" (optional) or "name: T..."
/// (variadic); parameters of constraint T have the type that `types` restricts and that reference() and fast() are
/// chosen by.
struct OpInfo {
  std::string_view name;
  std::string_view domain = "";
  std::array<uint16_t, 12> since{};  ///< every ONNX revision that this definition covers (older forms through the lift)
  std::array<std::string_view, 16> inputs{}, outputs{};
  TypeSet types = kAll;
  uint32_t traits = kNone;
  std::array<InPlace, 2> in_place{};
  std::array<Appends, 2> appends{};  ///< by the kernel for float32 only
};

using KernelFn = void (*)(const void* params, RunContext& context);
inline constexpr int kCarriers = 4;  // float, double, int64_t, uint64_t

struct OpDef {
  OpInfo info;
  std::shared_ptr<const void> (*parse)(const Attributes&);
  void (*infer)(const void* params, InferContext&);
  KernelFn run;                               ///< for ops of any type; else null
  std::array<KernelFn, kCarriers> reference;  ///< by carrier; null where the op has no meaning
  std::array<KernelFn, kDTypeCount> fast;     ///< by element type; null: use the reference
  std::unique_ptr<State> (*prepare)(const void* params, PrepareContext&);
  size_t (*scratch)(const void* params, const RunContext&);
  bool (*reads_rows)(const void* params, const RunContext&, size_t input);  ///< this and the next two: null: never
  bool (*writes_rows)(const void* params, const RunContext&);
  std::optional<Piece> (*piece)(const void* params, const RunContext&, size_t i);
  Cost (*cost)(const void* params, const CostContext&);  ///< null: the default of cost_of()
  bool has(Traits t) const { return info.traits & t; }
};

/// The kernel for elements of `dtype`: run, else fast, else the reference through a carrier; null when there is none.
struct Kernel {
  KernelFn fn = nullptr;
  const OpDef* carried = nullptr;  ///< set: call run_reference(*carried, …) instead of fn
};
Kernel find_kernel(const OpDef& op, DType dtype);
/// Runs the reference for T = dtype, converting parameters of constraint T to the carrier and back where they differ.
/// Allocates.
void run_reference(const OpDef& op, const void* params, RunContext& context, DType dtype);
/// What the operator costs for these shapes. Without a cost() of its own, an elementwise operator is one operation per
/// element of its output, and any other none.
Cost cost_of(const OpDef& op, const void* params, const CostContext& context);
/// The type that constraint T has for these inputs: that of the first present input (or else output) of constraint T.
DType dispatch_type(const OpDef& op, std::span<Slot* const> inputs, std::span<Slot* const> outputs);

/// All operators, and one by name (null: unknown).
std::span<const OpDef* const> op_table();
const OpDef* find_op(std::string_view domain, std::string_view name);
/// Sets node.op and node.params from its domain, type and attributes. Throws on an unknown operator (invalid_graph in
/// the domain ai.onnx, else not_implemented), invalid_graph on unknown, missing or ill-typed attributes.
void resolve(Node& node);
/// Infers the types of a resolved node's outputs into the graph; errors name the node.
void infer_node(Graph& graph, Node& node);

// Attributes
// ---------------------------------------------------------------------------------------------------------------------

template <typename Op, typename Member>
struct AttributeBinding {
  std::string_view name;
  Member Op::*member;
  bool required;
};
template <typename Op, typename Member>
constexpr AttributeBinding<Op, Member> attr(std::string_view name, Member Op::*member) {
  return {name, member, false};
}
template <typename Op, typename Member>
constexpr AttributeBinding<Op, Member> required(std::string_view name, Member Op::*member) {
  return {name, member, true};
}

namespace detail {

[[noreturn]] void fail_attribute(std::string_view name, const Attribute* given, std::string_view wanted);
void check_names(const Attributes& given, std::span<const std::string_view> allowed);

// Members may be of the attribute kinds themselves, bool or int (from INT), DType (from INT) or std::optional of one.
bool read(const Attribute& a, int64_t& to);
bool read(const Attribute& a, int& to);
bool read(const Attribute& a, bool& to);
bool read(const Attribute& a, DType& to);
bool read(const Attribute& a, float& to);
bool read(const Attribute& a, std::string& to);
bool read(const Attribute& a, std::vector<int64_t>& to);
bool read(const Attribute& a, std::vector<float>& to);
bool read(const Attribute& a, std::vector<std::string>& to);
bool read(const Attribute& a, Tensor& to);
bool read(const Attribute& a, ValueType& to);
template <typename T>
bool read(const Attribute& a, std::optional<T>& to) {
  return read(a, to.emplace());
}

/// The kind that read() takes for a member of type T, for messages.
template <typename T>
struct Wanted {
  static constexpr std::string_view kind = std::is_same_v<T, DType>                      ? "the INT of a data type"
                                           : std::is_integral_v<T>                       ? "INT"
                                           : std::is_same_v<T, float>                    ? "FLOAT"
                                           : std::is_same_v<T, std::string>              ? "STRING"
                                           : std::is_same_v<T, std::vector<int64_t>>     ? "INTS"
                                           : std::is_same_v<T, std::vector<float>>       ? "FLOATS"
                                           : std::is_same_v<T, std::vector<std::string>> ? "STRINGS"
                                           : std::is_same_v<T, Tensor>                   ? "TENSOR"
                                                                                         : "TYPE_PROTO";
};
template <typename T>
struct Wanted<std::optional<T>> : Wanted<T> {};

template <typename Op>
std::shared_ptr<const void> parse(const Attributes& given) {
  auto op = std::make_shared<Op>();
  if constexpr (requires { Op::attributes; }) {
    std::apply(
        [&](const auto&... b) {
          const std::array<std::string_view, sizeof...(b)> allowed{b.name...};
          check_names(given, allowed);
          const auto one = [&](const auto& binding) {
            const Attribute* a = given.find(binding.name);
            if (a ? !read(*a, (*op).*(binding.member)) : binding.required)
              fail_attribute(binding.name, a, Wanted<std::decay_t<decltype((*op).*(binding.member))>>::kind);
          };
          (one(b), ...);
        },
        Op::attributes);
  } else {
    check_names(given, {});
  }
  if constexpr (requires(const Op& o) { o.check(); }) op->check();
  return op;
}

template <typename Op, typename T>
constexpr KernelFn reference() {
  if constexpr (requires(const Op& o, RunContext& c) { o.template reference<T>(c); })
    return [](const void* op, RunContext& c) { static_cast<const Op*>(op)->template reference<T>(c); };
  else
    return nullptr;
}

template <typename Op, typename T>
constexpr void add_fast(std::array<KernelFn, kDTypeCount>& table) {
  if constexpr (requires(const Op& o, RunContext& c) { o.fast(c, std::type_identity<T>{}); })
    table[size_t(dtype_of<T>)] = [](const void* op, RunContext& c) {
      static_cast<const Op*>(op)->fast(c, std::type_identity<T>{});
    };
}

template <typename Op>
constexpr std::array<KernelFn, kDTypeCount> fast_table() {
  std::array<KernelFn, kDTypeCount> table{};
  add_fast<Op, float>(table);
  add_fast<Op, double>(table);
  add_fast<Op, float16>(table);
  add_fast<Op, bfloat16>(table);
  add_fast<Op, bool>(table);
  add_fast<Op, int8_t>(table);
  add_fast<Op, uint8_t>(table);
  add_fast<Op, int16_t>(table);
  add_fast<Op, uint16_t>(table);
  add_fast<Op, int32_t>(table);
  add_fast<Op, uint32_t>(table);
  add_fast<Op, int64_t>(table);
  add_fast<Op, uint64_t>(table);
  add_fast<Op, std::string>(table);
  return table;
}

}  // namespace detail

template <typename Op>
constexpr OpDef define(OpInfo info) {
  OpDef def{};
  def.info = info;
  def.parse = &detail::parse<Op>;
  def.infer = [](const void* op, InferContext& c) { static_cast<const Op*>(op)->infer(c); };
  if constexpr (requires(const Op& o, RunContext& c) { o.run(c); }) {
    def.run = [](const void* op, RunContext& c) { static_cast<const Op*>(op)->run(c); };
  } else {
    def.reference = {detail::reference<Op, float>(), detail::reference<Op, double>(), detail::reference<Op, int64_t>(),
                     detail::reference<Op, uint64_t>()};
    def.fast = detail::fast_table<Op>();
  }
  if constexpr (requires(const Op& o, PrepareContext& c) { o.prepare(c); })
    def.prepare = [](const void* op, PrepareContext& c) -> std::unique_ptr<State> {
      return static_cast<const Op*>(op)->prepare(c);
    };
  if constexpr (requires(const Op& o, const RunContext& c) { o.scratch(c); })
    def.scratch = [](const void* op, const RunContext& c) { return static_cast<const Op*>(op)->scratch(c); };
  if constexpr (requires(const Op& o, const RunContext& c) { o.reads_rows(c, size_t()); })
    def.reads_rows = [](const void* op, const RunContext& c, size_t i) {
      return static_cast<const Op*>(op)->reads_rows(c, i);
    };
  if constexpr (requires(const Op& o, const RunContext& c) { o.writes_rows(c); })
    def.writes_rows = [](const void* op, const RunContext& c) { return static_cast<const Op*>(op)->writes_rows(c); };
  if constexpr (requires(const Op& o, const RunContext& c) { o.piece(c, size_t()); })
    def.piece = [](const void* op, const RunContext& c, size_t i) { return static_cast<const Op*>(op)->piece(c, i); };
  if constexpr (requires(const Op& o, const CostContext& c) { o.cost(c); })
    def.cost = [](const void* op, const CostContext& c) { return static_cast<const Op*>(op)->cost(c); };
  return def;
}

}  // namespace retort
