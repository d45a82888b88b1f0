// PBM, PGM and PPM, as text (P1 to P3) and binary (P4 to P6).
#include <algorithm>

#include "ops/image/common/pictures.h"

namespace retort::ops {
namespace {

constexpr int kMostValue = 65535;

bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Reads numbers, between which there are spaces and comments from '#' to the end of the line.
class Scanner {
 public:
  explicit Scanner(std::span<const uint8_t> bytes) : rest_(bytes) {}

  /// The next number, or -1 if there is none or if it is greater than `most`.
  int64_t number(int64_t most) {
    skip_spaces();
    int64_t n = digit();
    for (int d = n < 0 ? -1 : digit_if_any(); d >= 0 && n <= most; d = digit_if_any()) n = 10 * n + d;
    return n > most ? -1 : n;
  }
  /// The next digit of a bitmap, which need not be separated; -1 if there is none.
  int bit() {
    skip_spaces();
    const int d = digit();
    return d > 1 ? -1 : d;
  }
  /// What follows after one space.
  std::span<const uint8_t> after_space() const { return rest_.subspan(std::min<size_t>(1, rest_.size())); }

 private:
  bool at_digit() const { return !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; }
  int digit() {
    if (!at_digit()) return -1;
    const int d = rest_[0] - '0';
    rest_ = rest_.subspan(1);
    return d;
  }
  int digit_if_any() { return at_digit() ? digit() : -1; }
  void skip_spaces() {
    bool comment = false;
    while (!rest_.empty() && (comment || is_space(rest_[0]) || rest_[0] == '#')) {
      comment = rest_[0] != '\n' && (comment || rest_[0] == '#');
      rest_ = rest_.subspan(1);
    }
  }

  std::span<const uint8_t> rest_;
};

uint8_t scaled(int64_t value, int64_t most) { return uint8_t((std::min(value, most) * 255 + most / 2) / most); }

void set_pixel(uint8_t* to, int channels, int channel, uint8_t value) {
  if (channels == 3)
    to[channel] = value;
  else
    std::fill_n(to, 3, value);
}

bool read_text(Scanner& scanner, int channels, int64_t most, Picture& p) {
  for (size_t i = 0; i < p.width * p.height * size_t(channels); ++i) {
    const int64_t v = most == 0 ? scanner.bit() : scanner.number(kMostValue);
    if (v < 0) return false;
    const uint8_t value = most == 0 ? (v == 0 ? 255 : 0) : scaled(v, most);
    set_pixel(p.rgb.data() + i / size_t(channels) * 3, channels, int(i % size_t(channels)), value);
  }
  return true;
}

// Rows of bits begin at whole bytes; 1 is black.
bool read_bits(std::span<const uint8_t> bytes, Picture& p) {
  const size_t row = (p.width + 7) / 8;
  if (bytes.size() / row < p.height) return false;
  for (size_t y = 0; y < p.height; ++y) {
    for (size_t x = 0; x < p.width; ++x)
      std::fill_n(p.row(y) + 3 * x, 3, uint8_t(bytes[y * row + x / 8] >> (7 - x % 8) & 1 ? 0 : 255));
  }
  return true;
}

bool read_binary(std::span<const uint8_t> bytes, int channels, int64_t most, Picture& p) {
  const size_t count = p.width * p.height * size_t(channels), size = most > 255 ? 2 : 1;
  if (bytes.size() / size < count) return false;
  for (size_t i = 0; i < count; ++i) {
    const int64_t v = size == 1 ? bytes[i] : bytes[2 * i] << 8 | bytes[2 * i + 1];
    set_pixel(p.rgb.data() + i / size_t(channels) * 3, channels, int(i % size_t(channels)), scaled(v, most));
  }
  return true;
}

}  // namespace

std::optional<Picture> decode_pnm(std::span<const uint8_t> file) {
  const int kind = file[1] - '0', channels = kind % 3 == 0 ? 3 : 1;
  const bool bits = kind % 3 == 1, text = kind <= 3;
  Scanner scanner(file.subspan(2));
  const int64_t width = scanner.number(INT32_MAX), height = scanner.number(INT32_MAX);
  const int64_t most = bits ? 0 : scanner.number(kMostValue);
  if (width < 0 || height < 0 || most < 0 || (!bits && most == 0)) return std::nullopt;
  // Each pixel takes at least a bit of the file, so a short one cannot claim much memory.
  if (width != 0 && height > int64_t(8 * file.size()) / width) return std::nullopt;
  auto p = new_picture(width, height);
  if (!p) return std::nullopt;
  const bool whole = text   ? read_text(scanner, channels, most, *p)
                     : bits ? read_bits(scanner.after_space(), *p)
                            : read_binary(scanner.after_space(), channels, most, *p);
  return whole ? p : std::nullopt;
}

}  // namespace retort::ops
