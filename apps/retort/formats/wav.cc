// RIFF WAVE files without compression.
#include <cstring>
#include <string_view>

#include "formats/formats.h"

namespace retort::cli {
namespace {

constexpr uint16_t kPcm = 1, kFloats = 3, kExtensible = 0xfffe;

template <typename T>
T at(std::string_view bytes, size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) throw Failure("the file is cut off");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

struct Format {
  uint16_t kind = 0, channels = 0, bits = 0;
};

Format read_format(std::string_view chunk) {
  Format f{at<uint16_t>(chunk, 0), at<uint16_t>(chunk, 2), at<uint16_t>(chunk, 14)};
  if (f.kind == kExtensible) f.kind = at<uint16_t>(chunk, 24);
  if (f.channels == 0) throw Failure("the sound has no channels");
  const bool integers = f.kind == kPcm && (f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32);
  if (!integers && (f.kind != kFloats || f.bits != 32))
    throw Failure("samples of " + std::to_string(f.bits) + " bits in format " + std::to_string(f.kind) +
                  " are not supported: 8, 16, 24 and 32 bits of PCM and 32-bit floats are");
  return f;
}

float sample(std::string_view bytes, size_t offset, const Format& f) {
  if (f.kind == kFloats) return at<float>(bytes, offset);
  switch (f.bits) {
    case 8:
      return float(at<uint8_t>(bytes, offset) - 128) / 128;
    case 16:
      return float(at<int16_t>(bytes, offset)) / 32768;
    case 24:
      return float(
                 int32_t(uint32_t(at<uint16_t>(bytes, offset)) << 8 | uint32_t(at<uint8_t>(bytes, offset + 2)) << 24)) /
             2147483648.0f;
    default:
      return float(at<int32_t>(bytes, offset)) / 2147483648.0f;
  }
}

std::vector<float> read_samples(std::string_view bytes) {
  if (bytes.substr(0, 4) != "RIFF" || bytes.size() < 12 || bytes.substr(8, 4) != "WAVE")
    throw Failure("not a WAVE file");
  Format format;
  for (size_t from = 12; from + 8 <= bytes.size();) {
    const std::string_view id = bytes.substr(from, 4);
    const size_t size = at<uint32_t>(bytes, from + 4);
    const std::string_view chunk = bytes.substr(from + 8, size);
    if (id == "fmt ") format = read_format(chunk);
    if (id == "data") {
      if (format.channels == 0) throw Failure("the samples come before their format");
      constexpr size_t kUntilTheEnd = 0x7ff00000;  // from here on: of a stream whose length was not known
      if (chunk.size() < size && size < kUntilTheEnd) throw Failure("the file is cut off");
      const size_t width = format.bits / 8u, frame = width * format.channels;
      std::vector<float> mono(chunk.size() / frame);
      for (size_t i = 0; i < mono.size(); ++i) {
        for (size_t c = 0; c < format.channels; ++c) mono[i] += sample(chunk, i * frame + c * width, format);
        mono[i] /= float(format.channels);
      }
      return mono;
    }
    from += 8 + size + (size & 1);
  }
  throw Failure("the file has no samples");
}

/// The axis of the samples: the last one, unless an axis of one channel follows.
size_t samples_axis(const std::vector<int64_t>& shape) {
  const size_t last = shape.size() - 1;
  return last > 0 && shape[last] == 1 && shape[last - 1] != 1 ? last - 1 : last;
}

}  // namespace

HostTensor parse_wav(const std::string& bytes, const PortInfo& port, const MediaOptions& media) {
  std::vector<float> samples = read_samples(bytes);
  const size_t rank = port.shape.size();
  if (rank == 0) throw Failure("sound does not fit the scalar input '" + port.name + "'");
  const size_t axis = samples_axis(port.shape);
  for (size_t i = 0; i < rank; ++i) {
    if (i != axis && port.shape[i] > 1)
      throw Failure("one sound does not fit the input " + shape_text(port) +
                    ": it would have to be [samples], [batch,samples] or [batch,samples,1]; give a .npy file");
  }
  const int64_t length = port.shape[axis];
  if (length >= 0 && media.fit) samples.resize(size_t(length));
  if (length >= 0 && size_t(length) != samples.size())
    throw Failure("the sound has " + std::to_string(samples.size()) + " samples, the input is " + shape_text(port) +
                  ": --fit cuts it or pads it with silence");
  HostTensor t{.type = port.type, .shape = std::vector<int64_t>(rank, 1)};
  t.shape[axis] = int64_t(samples.size());
  t.bytes.resize(samples.size() * type_bytes(t.type));
  const double scale = t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 ? 32768 : 1;
  for (size_t i = 0; i < samples.size(); ++i) set_number(t, i, samples[i] * scale);
  return t;
}

}  // namespace retort::cli
