// Builds messages by protozero. Large byte fields are only referred to, so that writing a model does not copy weights.
#pragma once
#include <cstdint>
#include <functional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace retort::onnx {

/// Number of bytes of a varint.
inline size_t varint_size(uint64_t value) { return size_t(protozero::length_of_varint(value)); }

/// The content of one message, field by field. Protocol buffers are limited to 2 GiB: code that writes a file must
/// check size().
class MessageWriter {
 public:
  void integer(uint32_t field, int64_t value) { protozero::pbf_writer(text_).add_int64(field, value); }
  void f32(uint32_t field, float value) { protozero::pbf_writer(text_).add_float(field, value); }
  void bytes(uint32_t field, std::string_view value) {
    head(field, value.size());
    text_ += value;
  }
  /// Like bytes(), but writes nothing if the text is empty.
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
    size_t at;  ///< position in text_
    std::string_view bytes;
  };
  /// Writes tag and length of a field whose content follows.
  void head(uint32_t field, size_t size) {
    protozero::add_varint_to_buffer(&text_, protozero::tag_and_type(field, protozero::pbf_wire_type::length_delimited));
    protozero::add_varint_to_buffer(&text_, size);
  }

  std::string text_;
  std::vector<View> views_;
  size_t viewed_ = 0;
};

}  // namespace retort::onnx
