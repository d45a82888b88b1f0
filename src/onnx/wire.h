// The wire format of protocol buffers, read in place: a Message walks over the fields of one message and checks every
// tag, length and wire type. Nothing is copied and nothing is allocated.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace retort::onnx {

static_assert(std::endian::native == std::endian::little, "ONNX data is little-endian and is used in place");

enum class Wire : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// Reads one varint from [at, end) and moves `at` behind it; false when it is cut off or longer than ten bytes.
inline bool read_varint(const char*& at, const char* end, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70 && at != end; shift += 7) {
    const uint8_t byte = uint8_t(*at++);
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// A cursor over the fields of one message: `while (m.next()) switch (m.field()) …`. The bytes must outlive it. Throws
/// invalid_protobuf, naming the byte of the file.
class Message {
 public:
  /// `what` is the name of the message type, for errors. `depth`: how many further levels of messages may follow.
  Message(std::string_view bytes, const char* what, uint32_t depth)
      : origin_(bytes.data()), at_(bytes.data()), end_(bytes.data() + bytes.size()), what_(what), depth_(depth) {}

  /// Moves to the next field; false at the end.
  bool next();
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
    expect(Wire::bytes);
    return bytes_;
  }
  /// The message in the current field. Throws when messages nest too deep.
  Message child(const char* what) const;

  /// Calls f(uint64_t) for the current occurrence of a repeated integer field, packed or not.
  template <typename F>
  void each_varint(F&& f) const {
    if (wire_ == Wire::varint) return f(scalar_);
    const std::string_view packed = bytes();
    uint64_t value = 0;
    for (const char *p = packed.data(), *end = p + packed.size(); p != end; f(value)) {
      if (!read_varint(p, end, value)) broken("holds a broken varint");
    }
  }
  /// The same for repeated float and double fields: T is float or double.
  template <typename T>
  void each_fixed(auto&& f) const {
    if (wire_ != Wire::bytes) {
      expect(sizeof(T) == 4 ? Wire::fixed32 : Wire::fixed64);
      T value;
      std::memcpy(&value, &scalar_, sizeof(T));
      return f(value);
    }
    if (bytes_.size() % sizeof(T)) broken("holds a part of a number");
    for (size_t i = 0; i < bytes_.size(); i += sizeof(T)) {
      T value;
      std::memcpy(&value, bytes_.data() + i, sizeof(T));
      f(value);
    }
  }

  /// Starts again at the first field.
  void rewind() { at_ = begin(); }
  const char* what() const { return what_; }

 private:
  Message(const Message& parent, std::string_view bytes, const char* what)
      : origin_(parent.origin_),
        start_(size_t(bytes.data() - parent.origin_)),
        at_(bytes.data()),
        end_(bytes.data() + bytes.size()),
        what_(what),
        depth_(parent.depth_ - 1) {}
  const char* begin() const { return origin_ + start_; }
  void expect(Wire wire) const {
    if (wire_ != wire) [[unlikely]]
      broken("has another wire type than ONNX says");
  }
  [[noreturn]] void broken(std::string_view how) const;

  const char* origin_;  ///< first byte of the model
  size_t start_ = 0;    ///< of this message, counted from origin_
  const char *at_, *end_;
  const char* what_;
  uint32_t depth_;
  uint32_t field_ = 0;
  Wire wire_ = Wire::varint;
  uint64_t scalar_ = 0;
  std::string_view bytes_;
};

}  // namespace retort::onnx
