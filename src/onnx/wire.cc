#include "onnx/wire.h"

namespace retort::onnx {

bool Message::next() {
  if (at_ == end_) return false;
  uint64_t tag = 0;
  if (!read_varint(at_, end_, tag)) broken("is followed by a broken tag");
  field_ = uint32_t(tag >> 3);
  wire_ = Wire(tag & 7);
  if (field_ == 0 || tag > UINT32_MAX) broken("is followed by a tag that is none");
  switch (wire_) {
    case Wire::varint:
      if (!read_varint(at_, end_, scalar_)) broken("is a broken varint");
      return true;
    case Wire::fixed32:
    case Wire::fixed64: {
      const size_t size = wire_ == Wire::fixed32 ? 4 : 8;
      if (size_t(end_ - at_) < size) broken("runs past the end");
      scalar_ = 0;
      std::memcpy(&scalar_, at_, size);
      at_ += size;
      return true;
    }
    case Wire::bytes: {
      uint64_t size = 0;
      if (!read_varint(at_, end_, size)) broken("has a broken length");
      if (size > uint64_t(end_ - at_)) {
        broken(cat("is {} bytes long where {} are left", size, end_ - at_));
      }
      bytes_ = {at_, size_t(size)};
      at_ += size;
      return true;
    }
  }
  broken("has an unknown wire type");
}

Message Message::child(const char* what) const {
  const std::string_view inner = bytes();
  if (depth_ == 0)
    fail(ErrorCode::invalid_protobuf, "messages nest too deep: a {} at byte {}", what, inner.data() - origin_);
  return Message(*this, inner, what);
}

void Message::broken(std::string_view how) const {
  fail(ErrorCode::invalid_protobuf, "broken protobuf: byte {}, {} field {} {}", at_ - origin_, what_, field_, how);
}

}  // namespace retort::onnx
