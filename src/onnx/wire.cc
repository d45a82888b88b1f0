#include "onnx/wire.h"

namespace retort::onnx {
namespace {

constexpr std::string_view kNoField = "is followed by a field number that protocol buffers do not have";

struct Peeked {
  uint64_t value;
  size_t left;  ///< number of bytes after it
};

/// Reads the next varint completely: protozero reads tags and lengths as 32 bits and drops the upper bits.
Peeked peek_varint(const protozero::pbf_reader& reader) {
  const char *at = reader.data().data(), *end = at + reader.length();
  const uint64_t value = protozero::decode_varint(&at, end);
  return {value, size_t(end - at)};
}

}  // namespace

bool Message::next() {
  try {
    if (reader_.length() == 0) return false;
    if (peek_varint(reader_).value > UINT32_MAX) broken(kNoField);
    reader_.next();
    field_ = reader_.tag();
    wire_ = reader_.wire_type();
    read_value();
    return true;
  } catch (const protozero::exception& e) {
    broken(e);
  }
}

void Message::read_value() {
  switch (wire()) {
    case Wire::varint:
      scalar_ = reader_.get_uint64();
      return;
    case Wire::fixed32:
      scalar_ = reader_.get_fixed32();
      return;
    case Wire::fixed64:
      scalar_ = reader_.get_fixed64();
      return;
    default: {
      const auto [size, left] = peek_varint(reader_);
      if (size > left) broken(cat("is {} bytes long, but {} are left", size, left));
      if (size > UINT32_MAX) broken("is longer than 4 GiB; keep weights in a file of external data");
      const protozero::data_view view = reader_.get_view();
      bytes_ = {view.data(), view.size()};
    }
  }
}

Message Message::child(const char* what) const {
  const std::string_view inner = bytes();
  if (depth_ == 0)
    fail(ErrorCode::invalid_protobuf, "messages nest too deep: a {} at byte {}", what, inner.data() - origin_);
  return Message(origin_, inner, what, depth_ - 1);
}

void Message::broken(const protozero::exception& e) const {
  if (dynamic_cast<const protozero::end_of_buffer_exception*>(&e)) broken("the data ends within a field");
  if (dynamic_cast<const protozero::varint_too_long_exception*>(&e)) broken("a number has more than 64 bits");
  if (dynamic_cast<const protozero::invalid_tag_exception*>(&e)) broken(kNoField);
  broken("is followed by a field of a wire type that ONNX does not use");
}

void Message::broken(std::string_view how) const {
  fail(ErrorCode::invalid_protobuf, "broken protobuf: byte {}, {} field {}: {}", reader_.data().data() - origin_, what_,
       field(), how);
}

}  // namespace retort::onnx
