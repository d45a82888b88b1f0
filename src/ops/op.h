// The definition of an operator: one struct and one OpDef per file under ops/. The struct holds the attributes with
// their defaults and these member functions, of which only infer() is required. run() replaces reference() and fast():
//
//   void infer(InferContext&) const;                          types and shapes of outputs, content of small integers
//   template <typename T> void reference(RunContext&) const;  one plain loop; T is float, double, int64_t or uint64_t
//   void fast(RunContext&, std::type_identity<T>) const;      the production kernel of one element type
//   void run(RunContext&) const;                              for ops that do not compute on one element type
//   std::unique_ptr<State> prepare(PrepareContext&) const;    packs weights; run finds them in RunContext::state()
//   size_t scratch(const RunContext&) const;                  bytes of scratch for the current shapes
//   bool reads_rows(const RunContext&, size_t i) const;       rows of input i may have gaps between them
//   bool writes_rows(const RunContext&) const;                the same of output 0; both depend only on shapes
//   std::optional<Piece> piece(const RunContext&, size_t i) const;
//                                                             the place of input i in output 0 (trait kJoins) or of
//                                                             output i in input 0; run skips what is in place
//   Cost cost(const CostContext&) const;                      arithmetic for the shapes (ops/cost.h); the default is
//                                                             1 per element of output 0 for kElementwise, else 0
//   void check() const;                                       throws invalid_argument if attributes are invalid
//
// The file exports one constant-initialised OpDef named op_<file name>, which the build finds by that name.
#pragma once
#include <array>
#include <concepts>
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
/// All types whose elements are whole bytes and can be copied by memcpy.
inline constexpr TypeSet kFixedSize = kNumeric | kBool |
                                      types({DType::complex64, DType::complex128, DType::f8e4m3fn, DType::f8e4m3fnuz,
                                             DType::f8e5m2, DType::f8e5m2fnuz, DType::f8e8m0});
inline constexpr TypeSet kAll = ~TypeSet(0);

enum Traits : uint32_t {
  kNone = 0,
  kElementwise = 1,     ///< output i depends only on the inputs' elements at i (after broadcasting)
  kMayAliasInput0 = 2,  ///< output 0 may lie in the memory of input 0 if both have the same size
  kView = 4,            ///< output 0 is input 0 with another shape, so no step runs
  kDynamicOutput = 8,   ///< output sizes depend on the data, and the kernel allocates the outputs
  kBoxed = 16,          ///< has inputs or outputs that are not dense tensors
  kRandom = 32,         ///< never folded or merged
  kInternal = 64,       ///< made only by passes, never read from a model
  kImagewise = 128,     ///< image b of output 0 depends only on image b of the non-constant inputs, and on constants
  kJoins = 256,         ///< output 0 is the concatenation of the inputs
  kExternal = 512,      ///< not one of the engine's own; checks its inputs itself
  kAlongAxis = 1024,    ///< attribute `axis` names the only axis whose position matters to it
  kReduces = 2048,      ///< input 1 names the axes of input 0 that it reduces
  kConverts = 4096,     ///< its element types are part of its meaning: another type must not replace them
  kCountsOutputs =
      8192,             ///< which optional outputs a node has decides what it accepts or computes, so unused ones stay
  kAnyAddress = 16384,  ///< input 0 may have any address: the kernel copies its bytes
  kDividesIntegers = 32768,  ///< by input 1, which has no 0 if it is of integers
};

/// The place of a tensor in a larger dense one, in elements. If `row_stride` is 0, the tensor is contiguous.
struct Piece {
  size_t offset = 0, row_stride = 0;
  bool operator==(const Piece&) const = default;
};

/// Output `output` may lie at the address of input `input` of the same size, whose memory no other input may share: an
/// addend, or a cache that the operator appends to.
struct InPlace {
  int output = -1, input = -1;
  /// Whether the result has the same bits as with separate memory, so the workspace may share it. Otherwise only a
  /// caller can request it, by binding both at one address; the kernel compares the pointers.
  bool same_bits = true;
};

/// Output `output` is input `input`, [B, H, rows, D], with new rows after the old ones of every head. Both may lie in
/// blocks with spare rows (Slot::room). If they are in the same block, the old rows are already in place.
struct Appends {
  int output = -1, input = -1;
};

/// A formal parameter: "name: T", "name: T?" (optional) or "name: T..." (variadic). The table of all operators holds
/// pointers, because it would be a fifth of a megabyte larger with string_views.
class Formal {
 public:
  constexpr Formal() = default;
  constexpr Formal(const char* text) : text_(text) {}  // NOLINT(google-explicit-constructor): OpInfo lists texts
  constexpr bool empty() const { return !text_; }
  constexpr std::string_view text() const { return text_ ? std::string_view(text_) : std::string_view(); }

 private:
  const char* text_ = nullptr;
};
/// The parameters that `list` has: an OpInfo has room for more.
constexpr std::span<const Formal> given(std::span<const Formal> list) {
  size_t n = 0;
  while (n < list.size() && !list[n].empty()) ++n;
  return list.first(n);
}

/// The static description of an operator. Parameters of constraint T have the same type; `types` restricts it, and it
/// chooses reference() and fast().
struct OpInfo {
  std::string_view name;
  std::string_view domain = "";
  std::array<uint16_t, 12> since{};  ///< every ONNX revision that this definition covers (older forms are lifted)
  std::array<Formal, 24> inputs{};
  std::array<Formal, 8> outputs{};
  TypeSet types = kAll;
  uint32_t traits = kNone;
  std::array<InPlace, 2> in_place{};
  std::array<Appends, 2> appends{};  ///< only in the kernel for float32
};

using KernelFn = void (*)(const void* params, RunContext& context);
inline constexpr int kCarriers = 4;  // float, double, int64_t, uint64_t
using FastTable = std::array<KernelFn, kDTypeCount>;

struct OpDef {
  OpInfo info;
  std::shared_ptr<const void> (*parse)(const Attributes&);
  void (*infer)(const void* params, InferContext&);
  KernelFn run;                               ///< for ops that do not depend on one type; otherwise null
  std::array<KernelFn, kCarriers> reference;  ///< per carrier; null if the op is not defined for it
  const FastTable* fast;                      ///< per element type; null, or null in it: the reference is used
  std::unique_ptr<State> (*prepare)(const void* params, PrepareContext&);
  size_t (*scratch)(const void* params, const RunContext&);
  /// For this and the next two: null means never.
  bool (*reads_rows)(const void* params, const RunContext&, size_t input);
  bool (*writes_rows)(const void* params, const RunContext&);
  std::optional<Piece> (*piece)(const void* params, const RunContext&, size_t i);
  Cost (*cost)(const void* params, const CostContext&);  ///< null: the default of cost_of()
  bool has(Traits t) const { return info.traits & t; }
  KernelFn fast_for(DType type) const { return fast && size_t(type) < fast->size() ? (*fast)[size_t(type)] : nullptr; }
};

/// The kernel for elements of `dtype`: run, otherwise fast, otherwise the reference through a carrier; null if there is
/// none.
struct Kernel {
  KernelFn fn = nullptr;
  const OpDef* carried = nullptr;  ///< if set: call run_carried(*carried, …) (ops/carried.h) instead of fn
};
Kernel find_kernel(const OpDef& op, DType dtype);
/// Whether parameter i has constraint T; a variadic last formal stands for all later parameters.
bool has_constraint_t(std::span<const Formal> formals, size_t i);
/// Runs the reference for T = dtype, converting parameters of constraint T to the carrier and back if they differ.
/// Allocates.
void run_reference(const OpDef& op, const void* params, RunContext& context, DType dtype);
/// The cost of the operator for these shapes. Without a cost() of its own, an elementwise operator has one operation
/// per element of its output, and any other operator none.
Cost cost_of(const OpDef& op, const void* params, const CostContext& context);
/// The type of constraint T for these inputs: that of the first present input (or otherwise output) of constraint T.
DType dispatch_type(const OpDef& op, std::span<Slot* const> inputs, std::span<Slot* const> outputs);

/// All operators; one by name (null: unknown).
std::span<const OpDef* const> op_table();
const OpDef* find_op(std::string_view domain, std::string_view name);
/// Sets node.op and node.params from its domain, type and attributes. Throws on an unknown operator (invalid_graph in
/// the domain ai.onnx, otherwise not_implemented), and invalid_graph on unknown, missing or ill-typed attributes.
void resolve(Node& node);
/// Infers the types of a resolved node's outputs into the graph. Errors name the node.
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

// Members may have the types of the attribute kinds, bool or int (from INT), DType (from INT), or std::optional of one
// of these.
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

/// The kind that read() accepts for a member of type T, for messages.
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
void destroy(const void* op) {
  delete static_cast<const Op*>(op);
}

// What runs once per session is compiled for size (cold), as the rooms that load a model are. The deleter is a function,
// because a control block for each type of operator is half a kilobyte of tables and code.
template <typename Op>
[[gnu::cold]] std::shared_ptr<const void> parse(const Attributes& given) {
  auto op = std::make_unique<Op>();
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
  return {static_cast<const void*>(op.release()), &destroy<Op>};
}

template <typename Op>
[[gnu::cold]] void infer(const void* op, InferContext& c) {
  static_cast<const Op*>(op)->infer(c);
}
template <typename Op>
[[gnu::cold]] Cost cost(const void* op, const CostContext& c) {
  return static_cast<const Op*>(op)->cost(c);
}

template <typename Op, typename T>
constexpr KernelFn reference() {
  if constexpr (requires(const Op& o, RunContext& c) { o.template reference<T>(c); })
    return [](const void* op, RunContext& c) { static_cast<const Op*>(op)->template reference<T>(c); };
  else
    return nullptr;
}

template <typename Op, typename T>
constexpr void add_fast(FastTable& table) {
  if constexpr (requires(const Op& o, RunContext& c) { o.fast(c, std::type_identity<T>{}); })
    table[size_t(dtype_of<T>)] = [](const void* op, RunContext& c) {
      static_cast<const Op*>(op)->fast(c, std::type_identity<T>{});
    };
}

template <typename Op>
constexpr FastTable fast_table() {
  FastTable table{};
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
template <typename Op>
inline constexpr FastTable kFastTable = fast_table<Op>();

}  // namespace detail

template <typename Op>
constexpr OpDef define(OpInfo info) {
  OpDef def{};
  def.info = info;
  def.parse = &detail::parse<Op>;
  def.infer = &detail::infer<Op>;
  if constexpr (requires(const Op& o, RunContext& c) { o.run(c); }) {
    def.run = [](const void* op, RunContext& c) { static_cast<const Op*>(op)->run(c); };
  } else {
    def.reference = {detail::reference<Op, float>(), detail::reference<Op, double>(), detail::reference<Op, int64_t>(),
                     detail::reference<Op, uint64_t>()};
    if constexpr (detail::kFastTable<Op> != FastTable{}) def.fast = &detail::kFastTable<Op>;
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
  if constexpr (requires(const Op& o, const CostContext& c) { o.cost(c); }) def.cost = &detail::cost<Op>;
  return def;
}

}  // namespace retort
