// Pictures: decoded by libpng and libjpeg-turbo, resized by stb.
#include <png.h>
#include <turbojpeg.h>

#include <memory>

#include "formats/formats.h"

#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <stb/stb_image_resize.h>
#pragma GCC diagnostic pop

namespace retort::cli {
namespace {

constexpr size_t kMostPixels = size_t(1) << 28;
constexpr const char* kDamaged = "the picture is damaged or cut off";

struct Picture {
  int width = 0, height = 0, channels = 0;  ///< channels: 1 grey, 3 red-green-blue, 4 with opacity
  std::vector<unsigned char> pixels;        ///< row by row, channels innermost
};

void allocate(Picture& p) {
  if (p.width <= 0 || p.height <= 0 || size_t(p.width) * size_t(p.height) > kMostPixels)
    throw Failure("a picture of " + std::to_string(p.width) + " x " + std::to_string(p.height) +
                  " pixels is empty or too large");
  p.pixels.resize(size_t(p.width) * size_t(p.height) * size_t(p.channels));
}

/// libpng calls a picture damaged that has more pixels in a row or column than it decodes.
void check_png_extents(const std::string& bytes) {
  constexpr size_t kExtents = 16, kEnd = 24;  // two numbers of 32 bits, the most significant byte first
  if (bytes.size() < kEnd) return;
  const auto* at = reinterpret_cast<png_const_bytep>(bytes.data()) + kExtents;
  const png_uint_32 width = png_get_uint_32(at), height = png_get_uint_32(at + 4);
  if (width > PNG_USER_WIDTH_MAX || height > PNG_USER_HEIGHT_MAX)
    throw Failure("a picture of " + std::to_string(width) + " x " + std::to_string(height) +
                  " pixels is too large: PNG pictures are read up to " + std::to_string(PNG_USER_WIDTH_MAX) +
                  " pixels in width and height");
}

Picture decode_png(const std::string& bytes, int channels) {
  check_png_extents(bytes);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> owned(&image, png_image_free);
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size())) throw Failure(kDamaged);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  Picture p{int(image.width), int(image.height), channels, {}};
  allocate(p);
  const png_color black{0, 0, 0};  // background of transparent pixels if the input has no opacity
  if (!png_image_finish_read(&image, &black, p.pixels.data(), 0, nullptr)) throw Failure(kDamaged);
  return p;
}

Picture decode_jpeg(const std::string& bytes, int channels) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (!decoder) throw Failure("the JPEG decoder cannot be started");
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  Picture p{.channels = channels};
  int subsampling = 0, colours = 0;
  if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &p.width, &p.height, &subsampling, &colours) != 0)
    throw Failure(bytes.starts_with("\xff\xd8") ? kDamaged : "the file is neither a PNG nor a JPEG picture");
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    throw Failure("a picture in the colours of print (CMYK) cannot be read; save it in RGB");
  if (p.width <= 0 || p.height <= 0) throw Failure(kDamaged);
  allocate(p);
  const int format = channels == 1 ? TJPF_GRAY : channels == 3 ? TJPF_RGB : TJPF_RGBA;
  if (tjDecompress2(decoder.get(), data, bytes.size(), p.pixels.data(), p.width, 0, p.height, format, 0) != 0)
    throw Failure(kDamaged);
  return p;
}

Picture resized(const Picture& from, int width, int height) {
  Picture to{width, height, from.channels, {}};
  allocate(to);
  if (!stbir_resize_uint8_generic(from.pixels.data(), from.width, from.height, 0, to.pixels.data(), width, height, 0,
                                  from.channels, from.channels == 4 ? 3 : STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
                                  STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr))
    throw Failure("there is not enough memory to resize the picture");
  return to;
}

/// The axes of the input.
struct Axes {
  size_t channel, row;  ///< columns follow rows
  int channels;
};

bool is_channels(int64_t extent) { return extent == 1 || extent == 3 || extent == 4; }
/// How likely an extent is that of the channels.
int likeness(int64_t extent) { return extent == 3 ? 2 : is_channels(extent); }

Axes find_axes(const PortInfo& port, const MediaOptions& media) {
  const size_t rank = port.shape.size();
  if (rank < 3 || rank > 4)
    throw Failure("a picture fits inputs of rank 3 or 4; '" + port.name + "' is " + shape_text(port));
  const size_t first = rank - 3;
  bool last = media.layout == "nhwc";
  if (media.layout.empty()) {
    const int front = likeness(port.shape[first]), back = likeness(port.shape[rank - 1]);
    if (front == back)
      throw Failure("give --layout: the axis of the channels in " + shape_text(port) + " is ambiguous");
    last = back > front;
  }
  const Axes a{last ? rank - 1 : first, last ? first : first + 1, 3};
  const int64_t channels = port.shape[a.channel];
  if (channels >= 0 && !is_channels(channels))
    throw Failure("the input has " + std::to_string(channels) + " channels; pictures have 1, 3 or 4");
  return {a.channel, a.row, channels < 0 ? 3 : int(channels)};
}

float of_channel(const std::vector<float>& values, int channel, int channels, float otherwise, const char* option) {
  if (values.empty()) return otherwise;
  if (values.size() != 1 && values.size() != size_t(channels))
    throw Failure(std::string(option) + " needs one number, or one for each of " + std::to_string(channels) +
                  " channels");
  return values[values.size() == 1 ? 0 : size_t(channel)];
}

}  // namespace

HostTensor parse_image(const std::string& bytes, const PortInfo& port, const MediaOptions& media) {
  const Axes axes = find_axes(port, media);
  const bool png = bytes.compare(0, 4, "\x89PNG") == 0;
  Picture p = png ? decode_png(bytes, axes.channels) : decode_jpeg(bytes, axes.channels);
  if (media.width > 0) p = resized(p, media.width, media.height);
  HostTensor t{.type = port.type, .shape = port.shape};
  if (t.shape.size() == 4) t.shape[0] = 1;
  t.shape[axes.channel] = axes.channels;
  t.shape[axes.row] = p.height;
  t.shape[axes.row + 1] = p.width;
  for (const size_t axis : {axes.row, axes.row + 1}) {
    if (port.shape[axis] >= 0 && port.shape[axis] != t.shape[axis])
      throw Failure("the picture has " + std::to_string(p.width) + " x " + std::to_string(p.height) +
                    " pixels, the input is " + shape_text(port) + ": use --resize WIDTHxHEIGHT");
  }
  t.bytes.resize(t.count() * type_bytes(t.type));
  const bool floats = t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE ||
                      t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
                      t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
  const size_t area = size_t(p.width) * size_t(p.height), channels = size_t(axes.channels);
  for (int c = 0; c < axes.channels; ++c) {
    const int from = media.bgr && c < 3 && axes.channels > 1 ? 2 - c : c;
    const double mean = of_channel(media.mean, c, axes.channels, 0, "--mean");
    const double deviation = of_channel(media.std, c, axes.channels, 1, "--std");
    const double scale = floats ? double(media.scale) / 255 : 1;
    for (size_t i = 0; i < area; ++i) {
      const size_t at = axes.channel > axes.row ? i * channels + size_t(c) : size_t(c) * area + i;
      set_number(t, at, (p.pixels[i * channels + size_t(from)] * scale - mean) / deviation);
    }
  }
  return t;
}

}  // namespace retort::cli
