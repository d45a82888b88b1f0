// Protocol buffers, read in place by protozero. A Message adds what hostile files require: every field is checked
// against ONNX's definition, lengths are not truncated to 32 bits, nesting is limited, and errors name the byte.
// Nothing is copied or allocated.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <string_view>

#include "base/error.h"

namespace retort::onnx {

static_assert(std::endian::native == std::endian::little, "ONNX data is little-endian and is used in place");

using Wire = protozero::pbf_wire_type;

/// A cursor over the fields of one message: `while (m.next()) switch (m.field()) …`. Fields that are not read are
/// checked and skipped. The bytes must outlive it. Throws invalid_protobuf, naming the byte of the file.
class Message {
 public:
  /// `what` is the name of the message type, for errors. `depth` is the number of further levels of messages that may
  /// follow.
  Message(std::string_view bytes, const char* what, uint32_t depth) : Message(bytes.data(), bytes, what, depth) {}

  /// Moves to the next field; false at the end.
  bool next();
  /// Moves on like next() if the next field has the same number and can be read as fast as this one; otherwise stays
  /// and returns false. For lists with one field per element.
  bool next_alike();
  uint32_t field() const { return field_; }
  Wire wire() const { return wire_; }

  int64_t integer() const {
    expect(Wire::varint);
    return int64_t(scalar_);
  }
  float f32() const {
    expect(Wire::fixed32);
    return std::bit_cast<float>(uint32_t(scalar_));
  }
  std::string_view bytes() const {
    expect(Wire::length_delimited);
    return bytes_;
  }
  /// The message in the current field. Throws if messages nest too deep.
  Message child(const char* what) const;

  /// Calls f(uint64_t) for each number in the current occurrence of a repeated integer field, packed or not.
  template <typename F>
  void each_varint(F&& f) const {
    if (wire() == Wire::varint) return f(scalar_);
    const std::string_view packed = bytes();
    for (const char *p = packed.data(), *end = p + packed.size(); p != end;) {
      uint64_t value = 0;
      try {
        value = protozero::decode_varint(&p, end);
      } catch (const protozero::exception& e) {
        broken(e);
      }
      f(value);
    }
  }
  /// The same for repeated float and double fields: T is float or double.
  template <typename T>
  void each_fixed(auto&& f) const {
    T value;
    if (wire() != Wire::length_delimited) {
      expect(sizeof(T) == 4 ? Wire::fixed32 : Wire::fixed64);
      std::memcpy(&value, &scalar_, sizeof(T));
      return f(value);
    }
    if (bytes_.size() % sizeof(T)) broken("ends within a number");
    for (size_t i = 0; i < bytes_.size(); i += sizeof(T)) {
      std::memcpy(&value, bytes_.data() + i, sizeof(T));
      f(value);
    }
  }

  const char* what() const { return what_; }

 private:
  Message(const char* origin, std::string_view bytes, const char* what, uint32_t depth)
      : reader_(bytes.data(), bytes.size()), origin_(origin), what_(what), depth_(depth) {}
  void read_value();
  void expect(Wire wanted) const {
    if (wire() != wanted) [[unlikely]]
      broken("has another wire type than ONNX defines");
  }
  [[noreturn]] void broken(std::string_view how) const;
  [[noreturn]] void broken(const protozero::exception& e) const;

  protozero::pbf_reader reader_;  ///< positioned after the current field
  const char* origin_;            ///< first byte of the model
  const char* what_;
  uint32_t depth_;
  uint32_t field_ = 0;  ///< a copy: without NDEBUG protozero forgets the tag once the value has been read
  Wire wire_ = Wire::unknown;
  uint64_t scalar_ = 0;
  std::string_view bytes_;
};

// Lists of trees have a hundred thousand elements: one-byte tags and complete values are read here, everything else by
// next().
inline bool Message::next_alike() {
  const protozero::data_view rest = reader_.data();
  const auto* p = reinterpret_cast<const uint8_t*>(rest.data());
  const auto* const end = p + rest.size();
  if (p == end || *p >= 0x80 || *p != (field_ << 3 | uint32_t(wire_))) return false;
  ++p;
  if (wire_ == Wire::varint) {
    uint64_t value = 0;
    uint32_t shift = 0;
    for (; p != end && *p >= 0x80 && shift < 56; shift += 7) value |= uint64_t(*p++ & 0x7f) << shift;
    if (p == end || *p >= 0x80) return false;
    scalar_ = value | uint64_t(*p++) << shift;
  } else if (wire_ == Wire::fixed32) {
    uint32_t value = 0;
    if (end - p < ptrdiff_t(sizeof value)) return false;
    std::memcpy(&value, p, sizeof value);
    scalar_ = value;
    p += sizeof value;
  } else {
    if (wire_ != Wire::length_delimited || p == end || *p >= 0x80 || end - p - 1 < *p) return false;
    bytes_ = {reinterpret_cast<const char*>(p + 1), *p};
    p += 1 + *p;
  }
  reader_ = protozero::pbf_reader(reinterpret_cast<const char*>(p), size_t(end - p));
  return true;
}

}  // namespace retort::onnx
