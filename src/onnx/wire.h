// Protocol buffers, read in place by protozero. A Message adds what reading hostile files needs on top of it: every
// field is checked against what ONNX says of it, lengths are not cut to 32 bits, nesting is bounded, and errors name
// the byte. Nothing is copied and nothing is allocated.
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

/// A cursor over the fields of one message: `while (m.next()) switch (m.field()) …`. Fields that nobody asks for are
/// checked and skipped. The bytes must outlive it. Throws invalid_protobuf, naming the byte of the file.
class Message {
 public:
  /// `what` is the name of the message type, for errors. `depth`: how many further levels of messages may follow.
  Message(std::string_view bytes, const char* what, uint32_t depth) : Message(bytes.data(), bytes, what, depth) {}

  /// Moves to the next field; false at the end.
  bool next();
  uint32_t field() const { return field_; }
  Wire wire() const { return reader_.wire_type(); }

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
  /// The message in the current field. Throws when messages nest too deep.
  Message child(const char* what) const;

  /// Calls f(uint64_t) for the current occurrence of a repeated integer field, packed or not.
  template <typename F>
  void each_varint(F&& f) const {
    if (wire() == Wire::varint) return f(scalar_);
    const std::string_view packed = bytes();
    for (const char *p = packed.data(), *end = p + packed.size(); p != end;) {
      uint64_t value = 0;
      try {
        value = protozero::decode_varint(&p, end);
      } catch (const protozero::exception& e) {
        broken(e.what());
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
    if (bytes_.size() % sizeof(T)) broken("holds a part of a number");
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
      broken("has another wire type than ONNX says");
  }
  [[noreturn]] void broken(std::string_view how) const;

  protozero::pbf_reader reader_;  ///< stands behind the current field
  const char* origin_;            ///< first byte of the model
  const char* what_;
  uint32_t depth_;
  uint32_t field_ = 0;  ///< of its own: without NDEBUG protozero forgets the tag once the value has been read
  uint64_t scalar_ = 0;
  std::string_view bytes_;
};

}  // namespace retort::onnx
