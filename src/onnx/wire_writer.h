// Builds messages of the wire format. Large byte fields are only referred to, so that writing a model copies no weight.
#pragma once
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/wire.h"

namespace retort::onnx {

/// Bytes that one varint takes.
inline size_t varint_size(uint64_t value) { return (size_t(std::bit_width(value | 1)) + 6) / 7; }

/// The content of one message, field by field.
class MessageWriter {
 public:
  void integer(uint32_t field, int64_t value) {
    tag(field, Wire::varint);
    varint(uint64_t(value));
  }
  void f32(uint32_t field, float value);
  void bytes(uint32_t field, std::string_view value) {
    tag(field, Wire::bytes);
    varint(value.size());
    text_ += value;
  }
  /// Like bytes(), unless empty.
  void text(uint32_t field, std::string_view value) {
    if (!value.empty()) bytes(field, value);
  }
  /// Like bytes(), but refers to `value`, which must outlive the writer.
  void view(uint32_t field, std::string_view value);
  void message(uint32_t field, const MessageWriter& value);

  size_t size() const { return text_.size() + viewed_; }
  /// Calls emit(string_view) for the parts of the message, in order.
  void for_each_part(const std::function<void(std::string_view)>& emit) const;
  std::string str() const;

 private:
  struct View {
    size_t at;  ///< in text_
    std::string_view bytes;
  };
  void tag(uint32_t field, Wire wire) { varint(uint64_t(field) << 3 | uint64_t(wire)); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += char(value | 0x80);
    text_ += char(value);
  }

  std::string text_;
  std::vector<View> views_;
  size_t viewed_ = 0;
};

}  // namespace retort::onnx
