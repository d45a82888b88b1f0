// LabelEncoder: replaces each element that is among the keys by the matching value, and any other by the default. Of
// equal keys the first counts; NaN equals NaN.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/checked.h"
#include "ops/ml/common/key_table.h"
#include "ops/op.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

struct Labels : State {
  KeyTable keys;  // numbers are made by number_key()
  Tensor values;  // with the default as one more value at the end
};

// Equal for equal numbers, whatever their type.
uint64_t number_key(double v) { return std::isnan(v) ? ~uint64_t(0) : std::bit_cast<uint64_t>(v == 0 ? 0.0 : v); }
uint64_t number_key(int64_t v) { return uint64_t(v); }

// Calls f with the elements of a numeric tensor, integers as int64_t, floats as double.
template <class F>
void each_number(DType type, const void* data, size_t n, const F& f) {
  const auto all = [&]<typename From, typename To>(const From* from, std::type_identity<To>) {
    for (size_t i = 0; i < n; ++i) f(i, number_key(To(from[i])));
  };
  switch (type) {
    case DType::i64:
      return all(static_cast<const int64_t*>(data), std::type_identity<int64_t>{});
    case DType::i32:
      return all(static_cast<const int32_t*>(data), std::type_identity<int64_t>{});
    case DType::i16:
      return all(static_cast<const int16_t*>(data), std::type_identity<int64_t>{});
    case DType::f32:
      return all(static_cast<const float*>(data), std::type_identity<double>{});
    default:
      return all(static_cast<const double*>(data), std::type_identity<double>{});
  }
}

constexpr TypeSet kLabelTypes = types({DType::string, DType::i64, DType::i32, DType::i16, DType::f32, DType::f64});

struct LabelEncoder {
  std::vector<int64_t> key_ints, value_ints;
  std::vector<float> key_floats, value_floats;
  std::vector<std::string> key_strings, value_strings;
  std::optional<Tensor> key_tensor, value_tensor, default_tensor;
  int64_t default_int = -1;
  float default_float = -0.0f;
  std::string default_string = "_Unused";
  static constexpr std::tuple attributes{
      attr("keys_int64s", &LabelEncoder::key_ints),          attr("keys_floats", &LabelEncoder::key_floats),
      attr("keys_strings", &LabelEncoder::key_strings),      attr("keys_tensor", &LabelEncoder::key_tensor),
      attr("values_int64s", &LabelEncoder::value_ints),      attr("values_floats", &LabelEncoder::value_floats),
      attr("values_strings", &LabelEncoder::value_strings),  attr("values_tensor", &LabelEncoder::value_tensor),
      attr("default_int64", &LabelEncoder::default_int),     attr("default_float", &LabelEncoder::default_float),
      attr("default_string", &LabelEncoder::default_string), attr("default_tensor", &LabelEncoder::default_tensor)};

  static Tensor list(std::string_view what, const std::vector<int64_t>& ints, const std::vector<float>& floats,
                     const std::vector<std::string>& strings, const std::optional<Tensor>& tensor) {
    require(int(!ints.empty()) + int(!floats.empty()) + int(!strings.empty()) + int(tensor.has_value()) == 1,
            ErrorCode::invalid_graph, "exactly one list of {} is needed", what);
    if (tensor) return *tensor;
    if (!ints.empty()) return Tensor::of<int64_t>({int64_t(ints.size())}, ints);
    if (!floats.empty()) return Tensor::of<float>({int64_t(floats.size())}, floats);
    return Tensor::of<std::string>({int64_t(strings.size())}, strings);
  }
  Tensor keys() const { return list("keys", key_ints, key_floats, key_strings, key_tensor); }
  Tensor values() const { return list("values", value_ints, value_floats, value_strings, value_tensor); }

  Tensor otherwise(DType type) const {
    if (default_tensor) return *default_tensor;
    if (type == DType::string) return Tensor::of<std::string>({}, {default_string});
    if (type == DType::f32) return Tensor::of<float>({}, {default_float});
    // Values of these types come as a tensor only, to which default_tensor belongs and no other default does.
    if (type == DType::f64) return Tensor::of<double>({}, {-0.0});
    if (type == DType::i32) return Tensor::of<int32_t>({}, {-1});
    if (type == DType::i16) return Tensor::of<int16_t>({}, {int16_t(-1)});
    return Tensor::of<int64_t>({}, {default_int});
  }

  void check() const {
    const Tensor k = keys(), v = values(), d = otherwise(v.dtype());
    require(k.count() == v.count(), ErrorCode::invalid_graph, "there are {} keys and {} values", k.count(), v.count());
    require(contains(kLabelTypes, k.dtype()) && contains(kLabelTypes, v.dtype()), ErrorCode::invalid_graph,
            "keys of {} or values of {} are not allowed", dtype_name(k.dtype()), dtype_name(v.dtype()));
    require(d.dtype() == v.dtype() && d.count() == 1, ErrorCode::invalid_graph,
            "the default is {} with shape {}, expected one {}", dtype_name(d.dtype()), to_string(d.shape()),
            dtype_name(v.dtype()));
  }

  void infer(InferContext& c) const {
    const DType key = keys().dtype();
    require(c.dtype(0) == key, ErrorCode::invalid_graph, "the input is {}, the keys are {}", dtype_name(c.dtype(0)),
            dtype_name(key));
    const DType value = values().dtype();
    c.set(0, value);
    c.set(0, value, c.shape(0));
  }

  std::unique_ptr<Labels> labels() const {
    auto labels = std::make_unique<Labels>();
    const Tensor k = keys(), v = values();
    const size_t n = k.count();
    require(n < KeyTable::kNone, ErrorCode::not_implemented, "{} keys are too many", n);
    labels->values = Tensor(v.dtype(), {int64_t(n + 1)});
    auto* const to = static_cast<char*>(labels->values.mutable_data());
    copy(v.dtype(), v.data(), to, n);
    copy(v.dtype(), otherwise(v.dtype()).data(), to + dtype_bytes(v.dtype(), n), 1);
    if (k.dtype() == DType::string) {
      for (size_t i = 0; i < n; ++i) labels->keys.add(k.data<std::string>()[i], uint32_t(i));
    } else {
      each_number(k.dtype(), k.data(), n, [&](size_t i, uint64_t key) { labels->keys.add(key, uint32_t(i)); });
    }
    return labels;
  }
  std::unique_ptr<State> prepare(PrepareContext&) const { return labels(); }

  void run(RunContext& c) const {
    if (const auto* state = c.state<Labels>()) return look_up(c, *state);
    look_up(c, *labels());
  }

 private:
  static void look_up(RunContext& c, const Labels& labels) {
    constexpr size_t kBlock = 512;
    const size_t n = c.out_count(), size = dtype_bits(c.out_dtype()) / 8;
    c.parallel().for_each(ceil_div(n, kBlock), [&](size_t block, int) {
      uint32_t at[kBlock];  // indices of values
      const size_t first = block * kBlock, count = std::min(kBlock, n - first);
      const uint32_t unknown = uint32_t(labels.values.count() - 1);
      if (c.dtype(0) == DType::string) {
        const std::string* x = c.input<std::string>(0).data() + first;
        for (size_t i = 0; i < count; ++i) at[i] = std::min(labels.keys.find(x[i]), unknown);
      } else {
        const auto* x = static_cast<const char*>(c.data(0)) + dtype_bytes(c.dtype(0), first);
        each_number(c.dtype(0), x, count,
                    [&](size_t i, uint64_t key) { at[i] = std::min(labels.keys.find(key), unknown); });
      }
      take(c.out_dtype(), labels.values.data(), at, count, static_cast<char*>(c.out_data()) + first * size);
    });
  }
  // Elements that are no strings are copied as bits.
  static void take(DType type, const void* values, const uint32_t* at, size_t count, void* y) {
    const auto all = [&]<typename T>(std::type_identity<T>) {
      for (size_t i = 0; i < count; ++i) static_cast<T*>(y)[i] = static_cast<const T*>(values)[at[i]];
    };
    if (type == DType::string) return all(std::type_identity<std::string>{});
    switch (dtype_bits(type)) {
      case 16:
        return all(std::type_identity<uint16_t>{});
      case 32:
        return all(std::type_identity<uint32_t>{});
      default:
        return all(std::type_identity<uint64_t>{});
    }
  }
};

}  // namespace

extern const OpDef op_label_encoder;
constinit const OpDef op_label_encoder = define<LabelEncoder>({
    .name = "LabelEncoder",
    .domain = "ai.onnx.ml",
    .since = {1, 2, 4},
    .inputs = {"X: T"},
    .outputs = {"Y: V"},
    .types = kLabelTypes,
});

}  // namespace retort::ops
