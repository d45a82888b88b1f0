// Operators on maps, in whole sessions.
#include <gtest/gtest.h>

#include "base/comma_locale_testing.h"
#include "session/session_testing.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

template <typename Key, typename T>
Map map_of(const std::vector<Key>& keys, const std::vector<T>& values) {
  return {Tensor::of<Key>({int64_t(keys.size())}, keys), Tensor::of<T>({int64_t(values.size())}, values)};
}

template <typename T>
std::vector<T> elements(const Value& v) {
  const Tensor& t = *v.tensor();
  return {t.data<T>(), t.data<T>() + t.count()};
}

// One operator on a map.
struct MapModel : TestGraph {
  MapModel(const char* op, DType key, DType value, const Attributes& attributes) {
    ValueType type;
    type.kind = ValueType::Kind::map;
    type.key = key;
    type.dtype = value;
    type.element = std::make_shared<const ValueType>(ValueType::tensor(value));
    const ValueId x = input("x", {}, value);
    g.value(x).type = type;
    output(add(op, {x}, attributes, "ai.onnx.ml"), "y");
  }
  Value run(const Map& map, OptimizationLevel level) const { return retort::run(g, {Value(map)}, level)[0]; }
  std::string failure(const Value& value) const {
    try {
      const std::unique_ptr<Session> session = make_session(g, {});
      session->check_input(0, value);
      retort::run(*session, {value});
    } catch (const Error& e) {
      return e.message();
    }
    return "no error";
  }
};

std::string why_not(const char* op, DType key, DType value, const Attributes& attributes) {
  try {
    const MapModel m(op, key, value, attributes);
    make_session(m.g, {});
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

TEST(DictVectorizer, ValuesStandWhereTheirKeysDo) {
  const Attributes words = {{"string_vocabulary", Strings{"a", "c", "b", "z", "c"}}};
  const MapModel text("DictVectorizer", DType::string, DType::f32, words);
  const MapModel numbers("DictVectorizer", DType::i64, DType::string, {{"int64_vocabulary", Ints{7, -1}}});
  for (const OptimizationLevel level : kLevels) {
    const Value y = text.run(map_of(Strings{"c", "?", "a"}, Floats{8, 9, 4}), level);
    EXPECT_EQ(y.tensor()->shape(), (Shape{1, 5}));
    EXPECT_EQ(elements<float>(y), (Floats{4, 8, 0, 0, 8}));
    EXPECT_EQ(elements<std::string>(numbers.run(map_of(Ints{-1}, Strings{"x"}), level)), (Strings{"", "x"}));
    EXPECT_EQ(elements<float>(text.run(map_of(Strings{}, Floats{}), level)), Floats(5));
  }
  EXPECT_CONTAINS(why_not("DictVectorizer", DType::i64, DType::f32, words),
                  "the keys of the map are int64, but there is no");
  EXPECT_CONTAINS(text.failure(Value(map_of(Strings{"a"}, Ints{1}))), "must be map(string,tensor(float32))");
  EXPECT_CONTAINS(text.failure(Value(Tensor(DType::f32, {1}))), "tensor(float32) was given");
}

TEST(CastMap, DenseInTheOrderOfKeysOrWhereTheyStand) {
  const Map map = map_of(Ints{5, 1, 2}, Floats{2.75f, -1.5f, 0.5f});
  const Map text = map_of(Ints{2, 0}, Strings{"12x", " 7.5"});
  const auto cast = [](DType value, const char* to, const char* form) {
    return MapModel("CastMap", DType::i64, value,
                    {{"cast_to", std::string(to)}, {"map_form", std::string(form)}, {"max_map", int64_t(4)}});
  };
  for (const OptimizationLevel level : kLevels) {
    const Value dense = cast(DType::f32, "TO_FLOAT", "DENSE").run(map, level);
    EXPECT_EQ(dense.tensor()->shape(), (Shape{1, 3}));
    EXPECT_EQ(elements<float>(dense), (Floats{-1.5f, 0.5f, 2.75f}));
    EXPECT_EQ(elements<int64_t>(cast(DType::f32, "TO_INT64", "SPARSE").run(map, level)), (Ints{0, -1, 0, 0}));
    EXPECT_EQ(elements<std::string>(cast(DType::f32, "TO_STRING", "SPARSE").run(map, level)),
              (Strings{"0.f", "-1.500000", "0.500000", "0.f"}));
    EXPECT_EQ(elements<float>(cast(DType::string, "TO_FLOAT", "SPARSE").run(text, level)), (Floats{7.5f, 0, 12, 0}));
    EXPECT_EQ(elements<int64_t>(cast(DType::string, "TO_INT64", "DENSE").run(text, level)), (Ints{7, 12}));
    EXPECT_EQ(elements<std::string>(cast(DType::string, "TO_STRING", "DENSE").run(text, level)),
              (Strings{" 7.5", "12x"}));
  }
  const MapModel sparse = cast(DType::f32, "TO_FLOAT", "SPARSE");
  EXPECT_CONTAINS(sparse.failure(Value(map_of(Ints{-2}, Floats{1}))), "the map has the key -2");
  EXPECT_CONTAINS(cast(DType::string, "TO_INT64", "DENSE").failure(Value(map_of(Ints{1}, Strings{"x"}))),
                  "the map contains \"x\", which is not a valid int64");
  EXPECT_CONTAINS(why_not("CastMap", DType::string, DType::f32, {}), "a map from string to float32 is not allowed");
  EXPECT_CONTAINS(why_not("CastMap", DType::i64, DType::f32, {{"cast_to", std::string("TO_BOOL")}}),
                  "\"TO_BOOL\" is not one of TO_FLOAT");
}

// As std::map orders them, which programs see that list the entries of a map.
TEST(ZipMap, KeysAscendAndTheLastOfEqualLabelsCounts) {
  const auto zip = [](Attributes labels) {
    TestGraph t;
    t.output(t.add("ZipMap", {t.input("x", {2, 4})}, std::move(labels), "ai.onnx.ml"), "y");
    return retort::run(t.g, {Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}, OptimizationLevel::all)[0];
  };
  const Value numbers = zip({{"classlabels_int64s", Ints{5, 1, 5, -2}}});
  const Value texts = zip({{"classlabels_strings", Strings{"c2", "c10", "a", "b"}}});
  const auto row = [](const Value& rows, size_t i) { return *rows.get<Sequence>()->items[i].get<Map>(); };
  EXPECT_EQ(elements<int64_t>(Value(row(numbers, 0).keys)), (Ints{-2, 1, 5}));
  EXPECT_EQ(elements<float>(Value(row(numbers, 0).values)), (Floats{4, 2, 3}));
  EXPECT_EQ(elements<float>(Value(row(numbers, 1).values)), (Floats{8, 6, 7}));
  EXPECT_EQ(elements<std::string>(Value(row(texts, 1).keys)), (Strings{"a", "b", "c10", "c2"}));
  EXPECT_EQ(elements<float>(Value(row(texts, 1).values)), (Floats{7, 8, 6, 5}));
}

TEST(CastMap, NumbersHaveAPointInEveryLocale) {
  const CommaLocale locale;
  if (!locale.found()) GTEST_SKIP() << "no locale with a decimal comma (Debian: locales)";
  const auto cast = [](DType value, const char* to) {
    return MapModel("CastMap", DType::i64, value, {{"cast_to", std::string(to)}});
  };
  const Map map = map_of(Ints{1}, Floats{-1.5f}), text = map_of(Ints{1}, Strings{"7.5"});
  EXPECT_EQ(elements<std::string>(cast(DType::f32, "TO_STRING").run(map, OptimizationLevel::all)),
            Strings{"-1.500000"});
  EXPECT_EQ(elements<float>(cast(DType::string, "TO_FLOAT").run(text, OptimizationLevel::all)), Floats{7.5f});
}

}  // namespace
}  // namespace retort
