// ImageDecoder: the pixels of an image file. A file that cannot be decoded gives an image without pixels, as the
// standard says.
#include <algorithm>

#include "ops/image/common/pictures.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct ImageDecoder {
  std::string pixel_format = "RGB";
  static constexpr std::tuple attributes{attr("pixel_format", &ImageDecoder::pixel_format)};

  void check() const {
    require(pixel_format == "RGB" || pixel_format == "BGR" || pixel_format == "Grayscale", ErrorCode::invalid_argument,
            "pixel_format is '{}', expected RGB, BGR or Grayscale", pixel_format);
  }
  int64_t channels() const { return pixel_format == "Grayscale" ? 1 : 3; }

  void infer(InferContext& c) const {
    c.set(0, DType::u8);
    require(c.rank(0) == 1, ErrorCode::invalid_argument, "encoded_stream has shape {}, expected one axis",
            c.dims().text(c.shape(0)));
    c.set(0, DType::u8, Shape{c.unknown_extent(), c.unknown_extent(), channels()});
  }

  void run(RunContext& c) const {
    const auto picture = decode_picture(c.input<uint8_t>(0));
    const Shape shape{picture ? int64_t(picture->height) : 0, picture ? int64_t(picture->width) : 0, channels()};
    auto* const to = static_cast<uint8_t*>(c.allocate(0, DType::u8, shape));
    if (!picture) return;
    const std::vector<uint8_t>& rgb = picture->rgb;
    if (pixel_format == "RGB") std::ranges::copy(rgb, to);
    for (size_t i = 0; i < rgb.size() && pixel_format == "BGR"; ++i) to[i] = rgb[i / 3 * 3 + 2 - i % 3];
    for (size_t i = 0; i < rgb.size() / 3 && channels() == 1; ++i)
      to[i] = brightness(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
  }

 private:
  // ITU-R BT.601: 0.299, 0.587 and 0.114, in units of 2⁻¹⁶.
  static uint8_t brightness(uint32_t r, uint32_t g, uint32_t b) {
    return uint8_t((19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16);
  }
};

}  // namespace

extern const OpDef op_image_decoder;
constinit const OpDef op_image_decoder = define<ImageDecoder>({
    .name = "ImageDecoder",
    .since = {20},
    .inputs = {"encoded_stream: T"},
    .outputs = {"image: uint8"},
    .types = types({DType::u8}),
    .traits = kDynamicOutput,
});

}  // namespace retort::ops
