// JPEG 2000 by OpenJPEG: files (JP2) and bare code streams.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "ops/image/common/pictures.h"
#include "ops/image/common/system_library.h"

namespace retort::ops {
namespace {

// The structures of the binary interface of libopenjp2.so.7.
struct Component {
  uint32_t dx, dy;  ///< distance of its samples, in pixels
  uint32_t w, h, x0, y0, precision, bpp, is_signed, resolutions, factor;
  int32_t* data;
  uint16_t alpha;
};
struct Image {
  uint32_t x0, y0, x1, y1, count;
  int32_t colours;
  Component* components;
  uint8_t* profile;
  uint32_t profile_bytes;
};
static_assert(sizeof(Component) == 64 && sizeof(Image) == 48);

using Read = size_t (*)(void*, size_t, void*);
using Skip = int64_t (*)(int64_t, void*);
using CodeSeek = int (*)(int64_t, void*);
using Free = void (*)(void*);

constexpr int kCodeStream = 0, kFile = 2;     // OPJ_CODEC
constexpr int32_t kYuv = 3, kInks = 5;        // OPJ_CLRSPC
constexpr size_t kParameterBytes = 32 << 10;  // opj_dparameters_t has 8252
constexpr size_t kChunk = 64 << 10;

struct OpenJpeg {
  SystemLibrary library{"JPEG 2000", {"libopenjp2.so.7"}, "libopenjp2-7"};
  void (*defaults)(void*) = library.function("opj_set_default_decoder_parameters");
  void* (*create)(int) = library.function("opj_create_decompress");
  void (*destroy)(void*) = library.function("opj_destroy_codec");
  int (*setup)(void*, void*) = library.function("opj_setup_decoder");
  void* (*new_stream)(size_t, int) = library.function("opj_stream_create");
  void (*free_stream)(void*) = library.function("opj_stream_destroy");
  void (*set_read)(void*, Read) = library.function("opj_stream_set_read_function");
  void (*set_skip)(void*, Skip) = library.function("opj_stream_set_skip_function");
  void (*set_seek)(void*, CodeSeek) = library.function("opj_stream_set_seek_function");
  void (*set_data)(void*, void*, Free) = library.function("opj_stream_set_user_data");
  void (*set_length)(void*, uint64_t) = library.function("opj_stream_set_user_data_length");
  int (*header)(void*, void*, Image**) = library.function("opj_read_header");
  int (*decode)(void*, void*, Image*) = library.function("opj_decode");
  int (*end)(void*, void*) = library.function("opj_end_decompress");
  void (*free_image)(Image*) = library.function("opj_image_destroy");
};

const OpenJpeg& open_jpeg() {
  static const OpenJpeg functions;
  return functions;
}

struct CodeSource {
  std::span<const uint8_t> file;
  size_t at = 0;
};

size_t read_bytes(void* to, size_t count, void* source) {
  auto& s = *static_cast<CodeSource*>(source);
  if (s.at >= s.file.size()) return size_t(-1);
  const size_t n = std::min(count, s.file.size() - s.at);
  std::memcpy(to, s.file.data() + s.at, n);
  s.at += n;
  return n;
}
int64_t skip(int64_t count, void* source) {
  auto& s = *static_cast<CodeSource*>(source);
  if (count < 0 || size_t(count) > s.file.size() - s.at) return -1;
  s.at += size_t(count);
  return count;
}
int seek(int64_t to, void* source) {
  auto& s = *static_cast<CodeSource*>(source);
  if (to < 0 || size_t(to) > s.file.size()) return 0;
  s.at = size_t(to);
  return 1;
}

/// The sample of a component at a pixel, as 8 bits.
int sample(const Component& c, size_t x, size_t y) {
  const size_t column = std::min<size_t>(x / c.dx, c.w - 1), row = std::min<size_t>(y / c.dy, c.h - 1);
  const int64_t most = (int64_t(1) << c.precision) - 1, half = c.is_signed ? int64_t(1) << (c.precision - 1) : 0;
  const int64_t v = std::clamp<int64_t>(c.data[row * c.w + column] + half, 0, most);
  return int(c.precision > 8 ? v >> (c.precision - 8) : v * 255 / most);
}

bool is_usable(const Component& c) {
  return c.data && c.dx > 0 && c.dy > 0 && c.w > 0 && c.h > 0 && c.precision > 0 && c.precision <= 32;
}

uint8_t byte(double v) { return uint8_t(std::clamp(v + 0.5, 0.0, 255.0)); }

void to_rgb(const Image& image, const std::array<int, 4>& in, uint8_t* rgb) {
  if (image.colours == kYuv && image.count >= 3) {
    const double y = in[0], blue = in[1] - 128, red = in[2] - 128;
    rgb[0] = byte(y + 1.402 * red);
    rgb[1] = byte(y - 0.344136 * blue - 0.714136 * red);
    rgb[2] = byte(y + 1.772 * blue);
    return;
  }
  const bool inks = image.colours == kInks && image.count >= 4;
  for (size_t c = 0; c < 3; ++c) {
    const int v = in[image.count >= 3 ? c : 0];
    rgb[c] = uint8_t(inks ? ((255 - v) * (255 - in[3]) + 127) / 255 : v);
  }
}

std::optional<Picture> picture_of(const Image& image) {
  const size_t used = std::min<size_t>(image.count, 4);
  for (size_t c = 0; c < used; ++c) {
    if (!is_usable(image.components[c])) return std::nullopt;
  }
  auto p = new_picture(int64_t(image.x1) - image.x0, int64_t(image.y1) - image.y0);
  for (size_t y = 0; p && y < p->height; ++y) {
    for (size_t x = 0; x < p->width; ++x) {
      std::array<int, 4> in{};
      for (size_t c = 0; c < used; ++c) in[c] = sample(image.components[c], x, y);
      to_rgb(image, in, p->row(y) + 3 * x);
    }
  }
  return p;
}

std::unique_ptr<void, Free> stream_of(const OpenJpeg& f, CodeSource& source) {
  std::unique_ptr<void, Free> stream(f.new_stream(kChunk, 1), f.free_stream);
  require(stream != nullptr, ErrorCode::fail, "OpenJPEG cannot begin, probably out of memory; free some");
  f.set_read(stream.get(), read_bytes);
  f.set_skip(stream.get(), skip);
  f.set_seek(stream.get(), seek);
  f.set_data(stream.get(), &source, nullptr);
  f.set_length(stream.get(), source.file.size());
  return stream;
}

}  // namespace

std::optional<Picture> decode_jpeg2000(std::span<const uint8_t> file) {
  const OpenJpeg& f = open_jpeg();
  CodeSource source{file};
  const auto stream = stream_of(f, source);
  const std::unique_ptr<void, Free> codec(f.create(file[0] == 0xff ? kCodeStream : kFile), f.destroy);
  alignas(16) std::array<std::byte, kParameterBytes> parameters{};
  f.defaults(parameters.data());
  if (!codec || !f.setup(codec.get(), parameters.data())) return std::nullopt;
  Image* made = nullptr;
  const int begun = f.header(stream.get(), codec.get(), &made);
  const std::unique_ptr<Image, void (*)(Image*)> image(made, f.free_image);
  if (!begun || !image || image->count == 0) return std::nullopt;
  // Checks the extents before the samples take memory.
  if (!has_pixels(int64_t(image->x1) - image->x0, int64_t(image->y1) - image->y0)) return std::nullopt;
  const bool done = f.decode(codec.get(), stream.get(), made) && f.end(codec.get(), stream.get());
  return done ? picture_of(*image) : std::nullopt;
}

}  // namespace retort::ops
