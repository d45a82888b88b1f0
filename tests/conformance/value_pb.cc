// TensorProto, SequenceProto and OptionalProto, read field by field (numbers as in onnx.proto and onnx-data.proto).
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <protozero/pbf_reader.hpp>
#include <stdexcept>

#include "value.h"

namespace retort::conformance {
namespace {

using protozero::data_view;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

template <typename T>
void append(std::vector<std::byte>& out, T value, size_t size = sizeof(T)) {
  const auto* p = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), p, p + size);
}

// Calls add(value) for a repeated scalar field, packed or not.
template <typename Packed, typename Single, typename Add>
void each(pbf_reader& in, const Packed& packed, const Single& single, const Add& add) {
  if (in.wire_type() == pbf_wire_type::length_delimited) {
    for (const auto value : packed(in)) add(value);
  } else {
    add(single(in));
  }
}

// int32_data holds the bits of every type of up to 32 bits; for sub-byte types, each entry is one packed byte.
void append_int32(Value& v, int32_t value) {
  append(v.bytes, value, std::max<size_t>(1, static_cast<size_t>(bits_of(v.elem)) / 8));
}

void append_uint64(Value& v, uint64_t value) { append(v.bytes, value, static_cast<size_t>(bits_of(v.elem)) / 8); }

void tensor_field(pbf_reader& in, Value& v) {
  switch (in.tag()) {
    case 1:
      each(
          in, [](auto& r) { return r.get_packed_int64(); }, [](auto& r) { return r.get_int64(); },
          [&](int64_t d) { v.dims.push_back(d); });
      break;
    case 4:
      each(
          in, [](auto& r) { return r.get_packed_float(); }, [](auto& r) { return r.get_float(); },
          [&](float x) { append(v.bytes, x); });
      break;
    case 5:
      each(
          in, [](auto& r) { return r.get_packed_int32(); }, [](auto& r) { return r.get_int32(); },
          [&](int32_t x) { append_int32(v, x); });
      break;
    case 6:
      v.strings.push_back(in.get_string());
      break;
    case 7:
      each(
          in, [](auto& r) { return r.get_packed_int64(); }, [](auto& r) { return r.get_int64(); },
          [&](int64_t x) { append(v.bytes, x); });
      break;
    case 8:
      v.name = in.get_string();
      break;
    case 9: {
      const data_view raw = in.get_view();
      v.bytes.resize(raw.size());
      if (raw.size()) std::memcpy(v.bytes.data(), raw.data(), raw.size());
      break;
    }
    case 10:
      each(
          in, [](auto& r) { return r.get_packed_double(); }, [](auto& r) { return r.get_double(); },
          [&](double x) { append(v.bytes, x); });
      break;
    case 11:
      each(
          in, [](auto& r) { return r.get_packed_uint64(); }, [](auto& r) { return r.get_uint64(); },
          [&](uint64_t x) { append_uint64(v, x); });
      break;
    default:
      in.skip();
  }
}

Value parse_tensor(data_view data) {
  Value v;
  // The element type gives the width of the data fields, and fields may come in any order.
  for (pbf_reader in{data}; in.next(2);) v.elem = static_cast<Elem>(in.get_int32());
  for (pbf_reader in{data}; in.next();) tensor_field(in, v);
  const bool fits =
      v.elem == Elem::string ? v.strings.size() == v.count() : v.bytes.size() == bytes_of(v.elem, v.count());
  if (!fits) throw std::runtime_error("tensor '" + v.name + "': data and shape differ");
  return v;
}

Value parse_sequence(data_view data);

Value parse_optional(data_view data) {
  Value v;
  v.kind = Value::Kind::none;
  std::string name;
  for (pbf_reader in{data}; in.next();) {
    switch (in.tag()) {
      case 1:
        name = in.get_string();
        break;
      case 2:
        v.elem = static_cast<Elem>(in.get_int32());  // the kind of value, replaced if there is a value
        break;
      case 3:
        v = parse_tensor(in.get_view());
        break;
      case 5:
        v = parse_sequence(in.get_view());
        break;
      case 7:
        v = parse_optional(in.get_view());
        break;
      default:
        in.skip();
    }
  }
  v.name = name;
  return v;
}

Value parse_sequence(data_view data) {
  Value v;
  v.kind = Value::Kind::sequence;
  for (pbf_reader in{data}; in.next();) {
    switch (in.tag()) {
      case 1:
        v.name = in.get_string();
        break;
      case 3:
        v.items.push_back(parse_tensor(in.get_view()));
        break;
      case 5:
        v.items.push_back(parse_sequence(in.get_view()));
        break;
      case 7:
        v.items.push_back(parse_optional(in.get_view()));
        break;
      default:
        in.skip();
    }
  }
  return v;
}

}  // namespace

Value read_value(const std::string& path, FileKind kind) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  switch (kind) {
    case FileKind::sequence:
      return parse_sequence(bytes);
    case FileKind::optional:
      return parse_optional(bytes);
    case FileKind::tensor:
      break;
  }
  return parse_tensor(bytes);
}

}  // namespace retort::conformance
