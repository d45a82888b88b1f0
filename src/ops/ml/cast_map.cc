// CastMap: the values of a map in the order of their keys, as numbers or strings: all of them (DENSE), [1, entries], or
// each at the position that is its key, [1, max_map] (SPARSE). As in ONNX Runtime, a position without an entry holds 0,
// or as a string "0.f"; keys from max_map on are omitted; a string becomes the number that it starts with, and a float
// as a string has six digits after the point.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <numeric>
#include <string>

#include "base/c_locale.h"
#include "kernels/elementwise/convert.h"
#include "ops/ml/common/map.h"

namespace retort::ops {
namespace {

struct CastMap {
  std::string cast_to = "TO_FLOAT", map_form = "DENSE";
  int64_t max_map = 1;
  static constexpr std::tuple attributes{attr("cast_to", &CastMap::cast_to), attr("map_form", &CastMap::map_form),
                                         attr("max_map", &CastMap::max_map)};

  void check() const {
    type();
    require(map_form == "DENSE" || map_form == "SPARSE", ErrorCode::invalid_argument,
            "map_form \"{}\" is not one of DENSE, SPARSE", map_form);
    require(map_form == "DENSE" || max_map > 0, ErrorCode::invalid_argument, "max_map is {}", max_map);
  }
  DType type() const {
    if (cast_to == "TO_FLOAT") return DType::f32;
    if (cast_to == "TO_INT64") return DType::i64;
    require(cast_to == "TO_STRING", ErrorCode::invalid_argument,
            "cast_to \"{}\" is not one of TO_FLOAT, TO_STRING, TO_INT64", cast_to);
    return DType::string;
  }

  void infer(InferContext& c) const {
    const ValueType& map = map_type(c, 0);
    require(map.key == DType::i64 && (map.dtype == DType::f32 || map.dtype == DType::string), ErrorCode::invalid_graph,
            "a map from {} to {} is not allowed, expected int64 to float or string", dtype_name(map.key),
            dtype_name(map.dtype));
    c.set(0, type());
    c.set(0, type(), {1, map_form == "DENSE" ? c.unknown_extent() : max_map});
  }
  void run(RunContext& c) const {
    const Map& map = map_at(c, 0);
    const DType to = type();
    if (to == DType::f32) return c.set_value(0, cast<float>(map));
    if (to == DType::i64) return c.set_value(0, cast<int64_t>(map));
    c.set_value(0, cast<std::string>(map));
  }

 private:
  template <typename To>
  Tensor cast(const Map& map) const {
    return map.values.dtype() == DType::f32 ? place<float, To>(map) : place<std::string, To>(map);
  }
  template <typename From, typename To>
  Tensor place(const Map& map) const {
    const int64_t* keys = map.keys.data<int64_t>();
    const From* values = map.values.data<From>();
    std::vector<size_t> order(map.keys.count());
    std::iota(order.begin(), order.end(), size_t(0));
    std::ranges::sort(order, {}, [&](size_t i) { return keys[i]; });
    const bool dense = map_form == "DENSE";
    Tensor y(dtype_of<To>, {1, dense ? int64_t(order.size()) : max_map});
    if constexpr (std::same_as<To, std::string>)
      std::fill_n(y.mutable_data<To>(), y.count(), "0.f");
    else
      std::fill_n(y.mutable_data<To>(), y.count(), To(0));
    require(dense || order.empty() || keys[order[0]] >= 0, ErrorCode::fail,
            "the map has the key {}: positions of SPARSE start at 0", order.empty() ? 0 : keys[order[0]]);
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t at = dense ? i : size_t(keys[order[i]]);
      if (at < y.count()) y.mutable_data<To>()[at] = convert<To>(values[order[i]]);
    }
    return y;
  }

  template <typename To>
  static To convert(float x) {
    if constexpr (std::same_as<To, std::string>)
      return cat("{:f}", x);
    else
      return kernels::convert<To>(x);
  }
  template <typename To>
  static To convert(const std::string& x) {
    if constexpr (std::same_as<To, std::string>) {
      return x;
    } else {
      char* end = nullptr;
      errno = 0;
      const auto number = [&] {
        if constexpr (std::same_as<To, float>)
          return c_strtof(x.c_str(), &end);
        else
          return int64_t(std::strtoll(x.c_str(), &end, 10));
      }();
      require(end != x.c_str() && errno != ERANGE, ErrorCode::invalid_argument,
              "the map contains \"{}\", which is not a valid {}", x, dtype_name(dtype_of<To>));
      return number;
    }
  }
};

}  // namespace

extern const OpDef op_cast_map;
constinit const OpDef op_cast_map = define<CastMap>({
    .name = "CastMap",
    .domain = "ai.onnx.ml",
    .since = {1},
    .inputs = {"X: M"},
    .outputs = {"Y: V"},
    .traits = kBoxed,
});

}  // namespace retort::ops
