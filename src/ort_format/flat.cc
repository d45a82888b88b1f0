#include "ort_format/flat.h"

namespace retort::ort_format {
namespace {

// A distinct table takes at least 4 bytes; a larger number of tables means that tables are repeated.
constexpr size_t kBytesPerTable = 4;
constexpr size_t kReadsPerByte = 16;
constexpr size_t kFreeReads = size_t(1) << 20;

flatbuffers::Verifier::Options limits(size_t bytes) {
  flatbuffers::Verifier::Options options;  // tables nest up to 64 deep
  options.max_tables = flatbuffers::uoffset_t(bytes / kBytesPerTable);
  return options;
}

std::string_view within_limits(std::string_view bytes) {
  require(bytes.size() < FLATBUFFERS_MAX_BUFFER_SIZE, ErrorCode::fail, "{} bytes are more than a flatbuffer can hold",
          bytes.size());
  return bytes;
}

}  // namespace

Flat::Flat(std::string_view bytes)
    : bytes_(within_limits(bytes)),
      verifier_(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), limits(bytes.size())) {
  require(verifier_.VerifyBuffer<fbs::InferenceSession>(fbs::InferenceSessionIdentifier()), ErrorCode::fail,
          "this is not a model in ORT format, or it is broken: the verifier of flatbuffers rejects it");
  const fbs::InferenceSession& root = *fbs::GetInferenceSession(bytes.data());
  const std::string_view version = text(root.version());
  // Versions before 5 differ in what they tell of kernels, which is not read.
  require(version.size() == 1 && version[0] >= '0' && version[0] <= '6', ErrorCode::fail,
          "version '{}' of the ORT format is not supported: 0 to 6 are; convert the ONNX model again", version);
  model_ = root.model();
  require(model_ && model_->graph(), ErrorCode::fail, "it has no {}", model_ ? "graph" : "model");
}

void Flat::charge(size_t bytes) {
  read_ += bytes;
  require(read_ <= kFreeReads + kReadsPerByte * bytes_.size(), ErrorCode::invalid_graph,
          "it repeats the same strings and numbers too often");
}

const flatbuffers::String* Flat::string_at(size_t from, uint32_t distance) const {
  if (distance < bytes_.size() - from) {
    const auto* s = reinterpret_cast<const flatbuffers::String*>(bytes_.data() + from + distance);
    if (verifier_.VerifyString(s)) return s;
  }
  fail(ErrorCode::fail, "the string {} bytes from byte {} is broken", distance, from);
}

}  // namespace retort::ort_format
