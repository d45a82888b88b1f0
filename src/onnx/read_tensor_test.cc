// Tests tensors as they are in files: every element type, raw and typed, packed or not, and invalid data.

#include "onnx/model_testing.h"

namespace retort::onnx {
namespace {

/// A model whose only content is the initializer `c`.
std::string with_tensor(const MessageWriter& tensor) {
  return model_bytes(GraphSpec{.nodes = {node("Identity", {"c"}, {"y"})},
                               .inputs = {},
                               .outputs = {info("y", MessageWriter())},
                               .initializers = {tensor}});
}

Tensor read_constant(const MessageWriter& tensor, const ReadOptions& options = {}) {
  const std::string bytes = with_tensor(tensor);
  return constant_named(*read(bytes, options)->graph, "c");
}

MessageWriter head(int64_t dtype, const std::vector<int64_t>& dims) {
  MessageWriter m;
  for (int64_t d : dims) m.integer(tag::tensor::dims, d);
  m.integer(tag::tensor::data_type, dtype);
  m.bytes(tag::tensor::name, "c");
  return m;
}

MessageWriter raw(int64_t dtype, const std::vector<int64_t>& dims, std::string_view data) {
  MessageWriter m = head(dtype, dims);
  m.bytes(tag::tensor::raw_data, data);
  return m;
}

/// The typed form of three elements; the same bits in every type.
MessageWriter typed(DType dtype, bool packed) {
  MessageWriter m = head(int64_t(dtype), {3});
  const bool pairs = dtype == DType::complex64 || dtype == DType::complex128;
  const size_t count = pairs ? 6 : is_packed(dtype) ? dtype_bytes(dtype, 3) : 3;
  const bool is_f32 = dtype == DType::f32 || dtype == DType::complex64;
  const bool is_f64 = dtype == DType::f64 || dtype == DType::complex128;
  const uint32_t field = is_f32                                       ? tag::tensor::float_data
                         : is_f64                                     ? tag::tensor::double_data
                         : dtype == DType::i64                        ? tag::tensor::int64_data
                         : dtype == DType::u32 || dtype == DType::u64 ? tag::tensor::uint64_data
                                                                      : tag::tensor::int32_data;
  std::string list;
  for (size_t i = 0; i < count; ++i) {
    const double d = double(i) + 1;
    const float f = float(d);
    if (is_f32) {
      packed ? void(list.append(reinterpret_cast<const char*>(&f), 4)) : m.f32(field, f);
    } else if (is_f64) {
      list.append(reinterpret_cast<const char*>(&d), 8);
    } else {
      packed ? list.push_back(char(i + 1)) : m.integer(field, int64_t(i + 1));
    }
  }
  if (!list.empty()) m.bytes(field, list);
  return m;
}

TEST(ReadTensor, RawDataOfEveryType) {
  for (int t = 1; t < kDTypeCount; ++t) {
    const DType dtype = DType(t);
    if (dtype == DType::string) continue;
    std::string data(dtype_bytes(dtype, 5), '\0');
    for (size_t i = 0; i < data.size(); ++i) data[i] = char(dtype == DType::boolean ? i % 2 : i + 1);
    const Tensor tensor = read_constant(raw(t, {5}, data));
    EXPECT_EQ(tensor.dtype(), dtype);
    EXPECT_EQ(std::string_view(tensor.data<char>(), tensor.bytes()), data) << dtype_name(dtype);
    data.pop_back();
    expect_unreadable(with_tensor(raw(t, {5}, data)), ErrorCode::invalid_graph, "tensor 'c'");
    data += "xyz";
    expect_unreadable(with_tensor(raw(t, {5}, data)), ErrorCode::invalid_graph, "bytes of raw data");
  }
}

TEST(ReadTensor, TypedDataOfEveryType) {
  for (int t = 1; t < kDTypeCount; ++t) {
    const DType dtype = DType(t);
    if (dtype == DType::string) continue;
    for (bool packed : {false, true}) {
      const Tensor tensor = read_constant(typed(dtype, packed));
      ASSERT_EQ(tensor.count(), 3u);
      const char* p = tensor.data<char>();
      if (dtype == DType::boolean) {
        EXPECT_EQ(std::string_view(p, 3), "\1\1\1");
      } else if (dtype == DType::f32 || dtype == DType::complex64) {
        EXPECT_EQ(tensor.data<float>()[2], 3.0f);
      } else if (dtype == DType::f64 || dtype == DType::complex128) {
        EXPECT_EQ(tensor.data<double>()[2], 3.0);
      } else {
        const size_t step = std::max<size_t>(1, dtype_bits(dtype) / 8);
        for (size_t i = 0; i * step < tensor.bytes(); ++i) EXPECT_EQ(p[i * step], char(i + 1)) << dtype_name(dtype);
      }
    }
  }
}

TEST(ReadTensor, TypedDataMayComeInSeveralParts) {
  MessageWriter m = head(int64_t(DType::i64), {4});
  m.bytes(tag::tensor::int64_data, "\x01\x02");
  m.integer(tag::tensor::int64_data, -3);
  m.bytes(tag::tensor::int64_data, "\x04");
  const Tensor t = read_constant(m);
  EXPECT_EQ(std::vector<int64_t>(t.data<int64_t>(), t.data<int64_t>() + 4), (std::vector<int64_t>{1, 2, -3, 4}));
}

TEST(ReadTensor, NarrowTypesTakeTheLowBits) {
  MessageWriter m = head(int64_t(DType::i8), {2});
  m.integer(tag::tensor::int32_data, 300);
  m.integer(tag::tensor::int32_data, -300);
  const Tensor t = read_constant(m);
  EXPECT_EQ(t.data<int8_t>()[0], 44);
  EXPECT_EQ(t.data<int8_t>()[1], -44);
}

TEST(ReadTensor, BooleansAreZeroOrOne) {
  const Tensor t = read_constant(raw(9, {3}, std::string("\x02\x00\x80", 3)));
  EXPECT_EQ(std::string_view(t.data<char>(), 3), std::string_view("\1\0\1", 3));
}

TEST(ReadTensor, Strings) {
  MessageWriter m = head(8, {2});
  m.bytes(tag::tensor::string_data, "a");
  expect_unreadable(with_tensor(m), ErrorCode::invalid_graph, "1 elements of data for string[2], which needs 2");
  m.bytes(tag::tensor::string_data, std::string("\xff\0", 2));
  EXPECT_EQ(read_constant(m).data<std::string>()[1], std::string("\xff\0", 2));
  expect_unreadable(with_tensor(raw(8, {2}, "ab")), ErrorCode::invalid_graph, "strings stored as raw data");
}

TEST(ReadTensor, DataMustFitTheShape) {
  MessageWriter none = head(1, {2});
  expect_unreadable(with_tensor(none), ErrorCode::invalid_graph, "0 elements of data for float32[2], which needs 2");
  EXPECT_EQ(read_constant(head(1, {0})).count(), 0u);
  EXPECT_EQ(read_constant(raw(1, {}, std::string(4, '\0'))).shape().rank(), 0u);
  MessageWriter wrong = head(1, {1});
  wrong.integer(tag::tensor::int32_data, 1);
  expect_unreadable(with_tensor(wrong), ErrorCode::invalid_graph, "0 elements of data");
  MessageWriter both = raw(1, {1}, std::string_view("\0\0\x80\x3f", 4));  // raw data wins
  both.f32(tag::tensor::float_data, 7);
  EXPECT_EQ(read_constant(both).data<float>()[0], 1.0f);
}

TEST(ReadTensor, HugeAndNegativeShapesFailAtOnce) {
  const auto graph = ErrorCode::invalid_graph;
  const auto argument = ErrorCode::invalid_argument;
  expect_unreadable(with_tensor(raw(1, {int64_t(1) << 60}, "abc")), graph, "more than the limit");
  expect_unreadable(with_tensor(raw(1, {int64_t(1) << 40}, "abc")), graph, "3 bytes of raw data");
  expect_unreadable(with_tensor(head(1, {int64_t(1) << 40})), graph, "0 elements of data");
  expect_unreadable(with_tensor(raw(1, {int64_t(1) << 33, int64_t(1) << 33}, "abc")), argument, "overflows");
  expect_unreadable(with_tensor(raw(11, {INT64_MAX}, "abc")), argument, "overflows");
  expect_unreadable(with_tensor(raw(14, {INT64_MAX}, "abc")), argument, "overflows");
  expect_unreadable(with_tensor(raw(1, {-2}, "abc")), argument, "negative extent");
  expect_unreadable(with_tensor(raw(1, {0, -1}, "")), argument, "negative extent");
  EXPECT_EQ(read_constant(raw(1, {0, INT64_MAX}, "")).count(), 0u);
}

TEST(ReadTensor, UnknownTypesAndSegments) {
  expect_unreadable(with_tensor(raw(0, {1}, "a")), ErrorCode::invalid_graph, "element type 0 does not exist");
  expect_unreadable(with_tensor(raw(99, {1}, "a")), ErrorCode::invalid_graph, "element type 99 does not exist");
  expect_unreadable(with_tensor(raw(-1, {1}, "a")), ErrorCode::invalid_graph, "element type -1 does not exist");
  expect_unreadable(with_tensor(raw(27, {1}, "a")), ErrorCode::not_implemented, "6-bit");
  MessageWriter m = raw(1, {1}, "abcd");
  m.message(tag::tensor::segment, MessageWriter());
  expect_unreadable(with_tensor(m), ErrorCode::not_implemented, "segments");
  MessageWriter place = raw(1, {1}, "abcd");
  place.integer(tag::tensor::data_location, 2);
  expect_unreadable(with_tensor(place), ErrorCode::invalid_graph, "data location 2 does not exist");
}

TEST(ReadTensor, BytesAreBorrowedOrCopied) {
  const std::string bytes = with_tensor(raw(2, {5}, "hello"));
  const auto inside = [&](const Tensor& t) {
    return t.data<char>() >= bytes.data() && t.data<char>() < bytes.data() + bytes.size();
  };
  EXPECT_FALSE(inside(constant_named(*read(bytes)->graph, "c")));
  EXPECT_TRUE(inside(constant_named(*read(bytes, {.borrow = true})->graph, "c")));
  auto owner = std::make_shared<int>(1);
  const auto model = read(bytes, {.owner = owner});
  EXPECT_TRUE(inside(constant_named(*model->graph, "c")));
  EXPECT_GT(owner.use_count(), 1);
}

TEST(ReadTensor, MemoryIsLimited) {
  ReadOptions options;
  options.limits.memory_bytes = 4;
  expect_unreadable(with_tensor(raw(2, {5}, "hello")), ErrorCode::invalid_graph, "more than the limit of 4", options);
}

MessageWriter sparse(const std::vector<int64_t>& indices, const std::vector<int64_t>& index_shape,
                     const std::vector<int64_t>& dims) {
  MessageWriter index, m;
  for (int64_t d : index_shape) index.integer(tag::tensor::dims, d);
  index.integer(tag::tensor::data_type, int64_t(DType::i64));
  for (int64_t i : indices) index.integer(tag::tensor::int64_data, i);
  m.message(tag::sparse::values, float_tensor("c", {1, 2}));
  m.message(tag::sparse::indices, index);
  for (int64_t d : dims) m.integer(tag::sparse::dims, d);
  return m;
}

std::string with_sparse(const MessageWriter& tensor) {
  return model_bytes(GraphSpec{.nodes = {node("Identity", {"c"}, {"y"})},
                               .inputs = {},
                               .outputs = {info("y", MessageWriter())},
                               .sparse = {tensor}});
}

std::vector<float> dense(const MessageWriter& tensor) {
  const Tensor t = constant_named(*read(with_sparse(tensor))->graph, "c");
  return {t.data<float>(), t.data<float>() + t.count()};
}

TEST(ReadSparse, BecomesDense) {
  EXPECT_EQ(dense(sparse({1, 3}, {2}, {2, 2})), (std::vector<float>{0, 1, 0, 2}));
  EXPECT_EQ(dense(sparse({1, 0, 0, 1}, {2, 2}, {2, 2})), (std::vector<float>{0, 2, 1, 0}));
  EXPECT_EQ(dense(sparse({1, 1}, {2}, {2})), (std::vector<float>{0, 2}));  // the last one counts
}

TEST(ReadSparse, IndicesAreChecked) {
  const auto code = ErrorCode::invalid_graph;
  expect_unreadable(with_sparse(sparse({1, 4}, {2}, {2, 2})), code, "index 4 of entry 1 is outside of [2,2]");
  expect_unreadable(with_sparse(sparse({-1, 1}, {2}, {2, 2})), code, "index -1 of entry 0");
  expect_unreadable(with_sparse(sparse({0, 2, 0, 0}, {2, 2}, {2, 2})), code, "index 2 of entry 0");
  expect_unreadable(with_sparse(sparse({1}, {1}, {2, 2})), code, "have indices of shape [1]");
  expect_unreadable(with_sparse(sparse({0, 0, 0, 0, 0, 0}, {2, 3}, {2, 2})), code, "have indices of shape [2,3]");
}

TEST(ReadSparse, HugeDenseFormsAreRejected) {
  expect_unreadable(with_sparse(sparse({0, 1}, {2}, {int64_t(1) << 40})), ErrorCode::invalid_graph, "of memory");
  expect_unreadable(with_sparse(sparse({0, 1}, {2}, {int64_t(1) << 40, int64_t(1) << 40})), ErrorCode::invalid_argument,
                    "overflows");
}

}  // namespace
}  // namespace retort::onnx
