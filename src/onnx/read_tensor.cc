#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "onnx/read_context.h"

namespace retort::onnx {
namespace {

/// The fields of a TensorProto; data is not copied.
struct Parts {
  std::string_view name;
  int64_t data_type = 0;
  std::vector<int64_t> dims;
  std::optional<std::string_view> raw;
  bool external = false;
  ExternalEntry entry;
};

void read_entry(ReadContext& c, Message m, ExternalEntry& entry) {
  std::string_view key, value;
  while (m.next()) {
    if (m.field() == tag::entry::key) key = c.text(m);
    if (m.field() == tag::entry::value) value = c.text(m);
  }
  entry.set(key, value);
}

void read_location(int64_t location, Parts& p) {
  require(location == 0 || location == 1, ErrorCode::invalid_graph, "data location {} does not exist", location);
  p.external = location == 1;
}

void read_parts(ReadContext& c, Message m, Parts& p) {
  while (m.next()) {
    switch (m.field()) {
      case tag::tensor::dims:
        m.each_varint([&](uint64_t d) { p.dims.push_back(int64_t(d)); });
        break;
      case tag::tensor::data_type:
        p.data_type = m.integer();
        break;
      case tag::tensor::segment:
        fail(ErrorCode::not_implemented, "tensors stored in segments are not supported");
      case tag::tensor::name:
        p.name = c.text(m);
        break;
      case tag::tensor::raw_data:
        p.raw = m.bytes();
        break;
      case tag::tensor::external_data:
        read_entry(c, m.child("StringStringEntryProto"), p.entry);
        break;
      case tag::tensor::data_location:
        read_location(m.integer(), p);
        break;
    }
  }
}

/// The typed field that holds elements of this type.
uint32_t data_field(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::complex64:
      return tag::tensor::float_data;
    case DType::f64:
    case DType::complex128:
      return tag::tensor::double_data;
    case DType::i64:
      return tag::tensor::int64_data;
    case DType::u32:
    case DType::u64:
      return tag::tensor::uint64_data;
    case DType::string:
      return tag::tensor::string_data;
    default:
      return tag::tensor::int32_data;
  }
}

/// Counts the elements in `field` before anything is allocated. Every varint is one element (or one byte of packed
/// ones).
size_t count_elements(Message m, uint32_t field) {
  size_t n = 0;
  while (m.next()) {
    if (m.field() != field) continue;
    if (field == tag::tensor::string_data) {
      ++n;
    } else if (field == tag::tensor::float_data || field == tag::tensor::double_data) {
      n += m.wire() == Wire::length_delimited ? m.bytes().size() / (field == tag::tensor::float_data ? 4 : 8) : 1;
    } else {
      m.each_varint([&](uint64_t) { ++n; });
    }
  }
  return n;
}

template <typename T>
void fill_integers(Message m, uint32_t field, void* data) {
  T* at = static_cast<T*>(data);
  while (m.next()) {
    if (m.field() == field) m.each_varint([&](uint64_t v) { *at++ = T(v); });
  }
}

template <typename T>
void fill_floats(Message m, uint32_t field, void* data) {
  T* at = static_cast<T*>(data);
  while (m.next()) {
    if (m.field() == field) m.each_fixed<T>([&](T v) { *at++ = v; });
  }
}

void fill(ReadContext& c, Message m, uint32_t field, Tensor& t) {
  void* data = t.mutable_data();
  if (field == tag::tensor::string_data) {
    std::string* at = t.mutable_data<std::string>();
    while (m.next()) {
      if (m.field() == field) *at++ = c.text(m);
    }
    return;
  }
  if (field == tag::tensor::float_data) return fill_floats<float>(m, field, data);
  if (field == tag::tensor::double_data) return fill_floats<double>(m, field, data);
  switch (dtype_bits(t.dtype())) {
    case 64:
      return fill_integers<uint64_t>(m, field, data);
    case 32:
      return fill_integers<uint32_t>(m, field, data);
    case 16:
      return fill_integers<uint16_t>(m, field, data);
    default:
      if (t.dtype() != DType::boolean) return fill_integers<uint8_t>(m, field, data);
  }
  bool* at = t.mutable_data<bool>();
  while (m.next()) {
    if (m.field() == field) m.each_varint([&](uint64_t v) { *at++ = int32_t(v) != 0; });
  }
}

/// The number of entries of the typed field for `count` elements.
size_t entries_of(DType dtype, size_t count) {
  if (dtype == DType::complex64 || dtype == DType::complex128)
    return checked_mul<size_t>(count, 2, "number of entries");
  return is_packed(dtype) ? dtype_bytes(dtype, count) : count;
}

Tensor read_typed(ReadContext& c, Message m, DType dtype, const Shape& shape) {
  const uint32_t field = data_field(dtype);
  const size_t wanted = entries_of(dtype, element_count(shape)), found = count_elements(m, field);
  require(found == wanted, ErrorCode::invalid_graph, "there are {} elements of data for {}{}, which needs {}", found,
          dtype_name(dtype), to_string(shape), wanted);
  c.charge(dtype_bytes(dtype, element_count(shape)));
  Tensor t(dtype, shape);
  fill(c, m, field, t);
  return t;
}

/// Booleans other than 0 and 1 become 1: they would be invalid as a C++ bool.
Tensor clean_booleans(ReadContext& c, Tensor t) {
  const uint8_t* bytes = t.data<uint8_t>();
  if (std::all_of(bytes, bytes + t.count(), [](uint8_t b) { return b <= 1; })) return t;
  c.charge(t.count());
  Tensor clean(DType::boolean, t.shape());
  std::transform(bytes, bytes + t.count(), clean.mutable_data<uint8_t>(), [](uint8_t b) { return b != 0; });
  return clean;
}

/// `source` as the data of a tensor: in place if that is allowed and it is aligned, otherwise copied.
Tensor place(ReadContext& c, DType dtype, const Shape& shape, const Source& source) {
  const std::string_view bytes = source.bytes;
  if (bytes.empty()) return Tensor(dtype, shape);
  Tensor t;
  if (source.keep && (bytes.size() >= c.options.unaligned_from || is_aligned(dtype, bytes.data()))) {
    t = Tensor(dtype, shape, const_cast<char*>(bytes.data()), source.owner);
  } else {
    c.charge(bytes.size());
    std::shared_ptr<void> copy = copy_weight(bytes, source.owner);
    void* data = copy.get();
    t = Tensor(dtype, shape, data, std::move(copy));
  }
  return dtype == DType::boolean ? clean_booleans(c, std::move(t)) : t;
}

/// The caller's tensor in place of the external data of that name; null: there is none.
const Tensor* given_for(const ReadContext& c, std::string_view name, DType dtype, const Shape& shape) {
  if (!c.options.given) return nullptr;
  const auto found = c.options.given->find(std::string(name));
  if (found == c.options.given->end()) return nullptr;
  const Tensor& tensor = found->second;
  require(tensor.dtype() == dtype && tensor.shape() == shape, ErrorCode::invalid_argument,
          "it is {}{} in the model, {}{} was given; give what it is there", dtype_name(dtype), to_string(shape),
          dtype_name(tensor.dtype()), to_string(tensor.shape()));
  return &tensor;
}

Tensor make_tensor(ReadContext& c, Message m, const Parts& p) {
  const DType dtype = read_dtype(p.data_type);
  const Shape shape(p.dims);
  const size_t size = dtype_bytes(dtype, element_count(shape));
  require(size <= c.limits().tensor_bytes, ErrorCode::invalid_graph, "{} bytes are more than the limit of {}", size,
          c.limits().tensor_bytes);
  require(dtype != DType::string || (!p.raw && !p.external), ErrorCode::invalid_graph, "strings stored as raw data");
  if (p.external) {
    if (const Tensor* given = given_for(c, p.name, dtype, shape))
      return Tensor(dtype, shape, const_cast<void*>(given->data()), nullptr);
    const Source source = c.external.find(p.entry, size);
    if (!c.options.trusted) c.charge(size);
    return place(c, dtype, shape, source);
  }
  if (!p.raw) return read_typed(c, m, dtype, shape);
  require(p.raw->size() == size, ErrorCode::invalid_graph, "there are {} bytes of raw data for {}{}, which needs {}",
          p.raw->size(), dtype_name(dtype), to_string(shape), size);
  return place(c, dtype, shape, {*p.raw, c.file.owner, c.file.keep});
}

}  // namespace

Tensor read_tensor(ReadContext& c, Message m, std::string_view* name) {
  Parts p;
  return in_context([&] { return cat("tensor '{}'", p.name); },
                    [&] {
                      read_parts(c, m, p);
                      if (name) *name = p.name;
                      return make_tensor(c, m, p);
                    });
}

}  // namespace retort::onnx
