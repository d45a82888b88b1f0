#include "onnx/wire_writer.h"

namespace retort::onnx {

void MessageWriter::view(uint32_t field, std::string_view value) {
  head(field, value.size());
  views_.push_back({text_.size(), value});
  viewed_ += value.size();
}

void MessageWriter::message(uint32_t field, const MessageWriter& value) {
  head(field, value.size());
  for (const View& v : value.views_) views_.push_back({text_.size() + v.at, v.bytes});
  viewed_ += value.viewed_;
  text_ += value.text_;
}

void MessageWriter::for_each_part(const std::function<void(std::string_view)>& emit) const {
  const std::string_view text = text_;
  size_t done = 0;
  for (const View& v : views_) {
    if (v.at != done) emit(text.substr(done, v.at - done));
    emit(v.bytes);
    done = v.at;
  }
  if (done != text.size()) emit(text.substr(done));
}

std::string MessageWriter::str() const {
  std::string all;
  all.reserve(size());
  for_each_part([&](std::string_view part) { all += part; });
  return all;
}

}  // namespace retort::onnx
