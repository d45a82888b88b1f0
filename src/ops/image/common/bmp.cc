// BMP: palettes of 1, 4 and 8 bits, plain or with runs (RLE), and pixels of 16, 24 and 32 bits.
#include <algorithm>
#include <array>
#include <bit>

#include "ops/image/common/pictures.h"

namespace retort::ops {
namespace {

constexpr size_t kFileHeader = 14, kCoreHeader = 12, kInfoHeader = 40, kWithMasks = 52;
constexpr uint32_t kPlain = 0, kRuns8 = 1, kRuns4 = 2, kMasks = 3, kMasksWithAlpha = 6;

struct Header {
  int64_t width = 0, height = 0;
  bool top_down = false;
  int bits = 0;
  uint32_t compression = kPlain;
  size_t pixels = 0;  ///< the place of the pixels in the file
  std::array<uint32_t, 3> masks{};
  std::vector<std::array<uint8_t, 3>> palette;
};

/// Little-endian numbers; 0 behind the end.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> file) : file_(file) {}
  size_t size() const { return file_.size(); }
  uint32_t u8(size_t at) const { return at < file_.size() ? file_[at] : 0; }
  uint32_t u16(size_t at) const { return u8(at) | u8(at + 1) << 8; }
  uint32_t u32(size_t at) const { return u16(at) | u16(at + 2) << 16; }

 private:
  std::span<const uint8_t> file_;
};

void read_palette(const Bytes& b, size_t at, bool core, uint32_t used, Header& h) {
  if (h.bits > 8) return;
  const size_t most = size_t(1) << h.bits, entry = core ? 3 : 4;
  h.palette.resize(most);
  const size_t count = used == 0 ? most : std::min<size_t>(used, most);
  for (size_t i = 0; i < count; ++i, at += entry)
    h.palette[i] = {uint8_t(b.u8(at + 2)), uint8_t(b.u8(at + 1)), uint8_t(b.u8(at))};
}

void read_masks(const Bytes& b, Header& h) {
  const bool given = h.compression == kMasks || h.compression == kMasksWithAlpha;
  for (size_t c = 0; c < 3 && given; ++c) h.masks[c] = b.u32(kFileHeader + kInfoHeader + 4 * c);
  if (!given && h.bits == 16) h.masks = {0x7c00, 0x3e0, 0x1f};
  if (!given && h.bits == 32) h.masks = {0xff0000, 0xff00, 0xff};
}

bool is_valid(const Header& h) {
  const bool palette = h.bits == 1 || h.bits == 4 || h.bits == 8, masks = h.bits == 16 || h.bits == 32;
  switch (h.compression) {
    case kPlain:
      return palette || masks || h.bits == 24;
    case kRuns8:
      return h.bits == 8 && !h.top_down;
    case kRuns4:
      return h.bits == 4 && !h.top_down;
    case kMasks:
    case kMasksWithAlpha:
      return masks;
    default:
      return false;
  }
}

std::optional<Header> read_header(const Bytes& b) {
  Header h;
  h.pixels = b.u32(10);
  const size_t size = b.u32(kFileHeader), at = kFileHeader;
  const bool core = size == kCoreHeader;
  if (!core && (size < kInfoHeader || size > 256)) return std::nullopt;
  h.width = core ? int64_t(b.u16(at + 4)) : int32_t(b.u32(at + 4));
  h.height = core ? int64_t(b.u16(at + 6)) : int32_t(b.u32(at + 8));
  h.bits = int(b.u16(at + (core ? 10 : 14)));
  h.compression = core ? kPlain : b.u32(at + 16);
  h.top_down = h.height < 0;
  h.height = h.top_down ? -h.height : h.height;
  if (!is_valid(h)) return std::nullopt;
  read_masks(b, h);
  size_t after = at + size;
  if (size < kWithMasks && h.compression == kMasks) after += 12;
  if (size < kWithMasks && h.compression == kMasksWithAlpha) after += 16;
  read_palette(b, after, core, core ? 0 : b.u32(at + 32), h);
  return h;
}

uint8_t masked(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const uint64_t most = mask >> std::countr_zero(mask), value = (pixel & mask) >> std::countr_zero(mask);
  return uint8_t((value * 255 + most / 2) / most);
}

uint8_t* row_of(const Header& h, Picture& p, size_t y) { return p.row(h.top_down ? y : p.height - 1 - y); }

bool read_rows(const Bytes& b, const Header& h, Picture& p) {
  const size_t row_bytes = (p.width * size_t(h.bits) + 31) / 32 * 4;
  if (h.pixels > b.size() || (b.size() - h.pixels) / row_bytes < p.height) return false;
  for (size_t y = 0; y < p.height; ++y) {
    const size_t from = h.pixels + y * row_bytes;
    uint8_t* to = row_of(h, p, y);
    for (size_t x = 0; x < p.width; ++x, to += 3) {
      if (h.bits == 24) {
        for (size_t c = 0; c < 3; ++c) to[c] = uint8_t(b.u8(from + 3 * x + 2 - c));
      } else if (h.bits > 8) {
        const uint32_t pixel = h.bits == 16 ? b.u16(from + 2 * x) : b.u32(from + 4 * x);
        for (size_t c = 0; c < 3; ++c) to[c] = masked(pixel, h.masks[c]);
      } else {
        const size_t bit = x * size_t(h.bits), shift = 8 - size_t(h.bits) - bit % 8;
        std::ranges::copy(h.palette[b.u8(from + bit / 8) >> shift & ((1u << h.bits) - 1)], to);
      }
    }
  }
  return true;
}

/// Runs of equal pixels, and commands for the end of a row, the end of the image, jumps and single pixels. What they
/// leave out has the first colour.
class Runs {
 public:
  Runs(const Bytes& b, const Header& h, Picture& p) : b_(b), h_(h), p_(p), at_(h.pixels) {}

  bool read() {
    for (size_t i = 0; i < p_.rgb.size(); i += 3) std::ranges::copy(h_.palette[0], p_.rgb.data() + i);
    while (at_ + 1 < b_.size()) {
      const uint32_t count = b_.u8(at_), code = b_.u8(at_ + 1);
      at_ += 2;
      if (count == 0 && code == 1) return true;
      if (count > 0)
        repeat(count, code);
      else
        obey(code);
    }
    return y_ >= p_.height;  // without the command for the end
  }

 private:
  void repeat(uint32_t count, uint32_t code) {
    for (uint32_t i = 0; i < count; ++i) put(h_.bits == 8 ? code : i % 2 == 0 ? code >> 4 : code & 15);
  }
  void obey(uint32_t code) {
    if (code == 0) {
      x_ = 0;
      ++y_;
    } else if (code == 2) {
      x_ += b_.u8(at_);
      y_ += b_.u8(at_ + 1);
      at_ += 2;
    } else {
      for (uint32_t i = 0; i < code; ++i) {
        const uint32_t byte = b_.u8(at_ + (h_.bits == 8 ? i : i / 2));
        put(h_.bits == 8 ? byte : i % 2 == 0 ? byte >> 4 : byte & 15);
      }
      const size_t bytes = h_.bits == 8 ? code : (code + 1) / 2;
      at_ += bytes + bytes % 2;
    }
  }
  void put(uint32_t index) {
    if (x_ < p_.width && y_ < p_.height) std::ranges::copy(h_.palette[index], row_of(h_, p_, y_) + 3 * x_);
    ++x_;
  }

  const Bytes& b_;
  const Header& h_;
  Picture& p_;
  size_t at_, x_ = 0, y_ = 0;
};

}  // namespace

std::optional<Picture> decode_bmp(std::span<const uint8_t> file) {
  const Bytes bytes(file);
  const auto header = read_header(bytes);
  if (!header) return std::nullopt;
  auto p = new_picture(header->width, header->height);
  if (!p) return std::nullopt;
  const bool runs = header->compression == kRuns8 || header->compression == kRuns4;
  const bool whole = runs ? Runs(bytes, *header, *p).read() : read_rows(bytes, *header, *p);
  return whole ? p : std::nullopt;
}

}  // namespace retort::ops
