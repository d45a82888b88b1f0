// ImageDecoder: small files of each format, and what is done without a library.
#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/image/common/pictures.h"
#include "ops/image/common/system_library.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

std::vector<uint8_t> bytes_of(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
  return bytes;
}

Tensor file(const std::vector<uint8_t>& bytes) { return u8({int64_t(bytes.size())}, bytes); }
Tensor text(std::string_view bytes) { return file({bytes.begin(), bytes.end()}); }

// Two rows of three pixels each, without loss.
const std::vector<uint8_t> kPixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 250, 250, 250, 0, 0, 0};

constexpr std::string_view kPng =
    "89504e470d0a1a0a0000000d49484452000000030000000208020000001216f14d000000184944415478da63f8cfc0c000c15c2272bf"
    "7efd62606000003d590628ae261d640000000049454e44ae426082";
constexpr std::string_view kWebP =
    "5249464646000000574542505650384c390000002f024000002fa0a06d1ba6a551fe28df464341da064c25ccbfd5aba06d1ba6e552fe"
    "00df36ff0110bc8778b04d120804c8102d5a44f43f720000";
constexpr std::string_view kTiff =
    "49492a00080000000a000001040001000000030000000101040001000000020000000201030003000000860000000301030001000000"
    "0100000006010300010000000200000011010400010000008c0000001501030001000000030000001601040001000000020000001701"
    "040001000000120000001c010300010000000100000000000000080008000800ff000000ff000000ff0a141efafafa000000";
constexpr std::string_view kJpeg2000 =
    "ff4fff51002f000000000003000000020000000000000000000000030000000200000000000000000003070101070101070101ff5200"
    "0c00000001000004040001ff5c00044040ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e35"
    "2e34ff90000a00000000002f0001ff93df80400e2a09089138768fdf8040076c2d0519487327df80400643b094081ac13fffd9";
// Eight times eight pixels of the brightness 77.
constexpr std::string_view kJpeg =
    "ffd8ffe000104a46494600010100000100010000ffdb0043000101010101010101010101010101010101010101010101010101010101"
    "0101010101010101010101010101010101010101010101010101010101010101010101ffc0000b080008000801011100ffc400140001"
    "00000000000000000000000000000009ffc40014100100000000000000000000000000000000ffda0008010100003f0019dfffd9";
constexpr std::string_view kBmp =
    "424d4e000000000000003600000028000000030000000200000001001800000000000000000000000000000000000000000000000000"
    "1e140afafafa0000000000000000ff00ff00ff0000000000";
// Four colours in runs of 4 bits: 2 3 2 1 2 3 | 1 1 0 0 0 0 | 0 0 0 3 0 0, from the last row.
constexpr std::string_view kRuns =
    "424d00000000000000004600000028000000060000000300000001000400020000000000000000000000000000000400000000000000"
    "0000000009090900030201000000c800032300031230000002110002010101300001";

const OpTest image_decoder(
    "ImageDecoder",
    {
        {.about = "BMP, rows from the last one", .inputs = {file(bytes_of(kBmp))}, .outputs = {u8({2, 3, 3}, kPixels)}},
        {.about = "BMP with runs",
         .attributes = {{"pixel_format", std::string("Grayscale")}},
         .inputs = {file(bytes_of(kRuns))},
         .outputs = {u8({3, 6, 1}, {0, 0, 0, 60, 0, 0, 9, 9, 0, 0, 0, 0, 2, 60, 2, 9, 2, 60})}},
        {.about = "BGR",
         .attributes = {{"pixel_format", std::string("BGR")}},
         .inputs = {text("P3 # three numbers a pixel\n2 1 255 1 2 3 40 50 60")},
         .outputs = {u8({1, 2, 3}, {3, 2, 1, 60, 50, 40})}},
        {.about = "0.299 red, 0.587 green, 0.114 blue",
         .attributes = {{"pixel_format", std::string("Grayscale")}},
         .inputs = {text("P6 3 1 255\n\xff\1\1\1\xff\1\1\1\xff")},
         .outputs = {u8({1, 3, 1}, {77, 150, 30})}},
        {.about = "another greatest value",
         .inputs = {text("P2 2 1 4\n4 1")},
         .outputs = {u8({1, 2, 3}, {255, 255, 255, 64, 64, 64})}},
        {.about = "two bytes a number",
         .inputs = {text(std::string_view("P5 1 1 65535\n\x80\0", 15))},
         .outputs = {u8({1, 1, 3}, {128, 128, 128})}},
        {.about = "bits, 1 is black",
         .attributes = {{"pixel_format", std::string("Grayscale")}},
         .inputs = {text("P4 10 1\n\xa0\x40")},
         .outputs = {u8({1, 10, 1}, {0, 255, 0, 255, 255, 255, 255, 255, 255, 0})}},
        {.about = "bits as text", .inputs = {text("P1 2 1 01")}, .outputs = {u8({1, 2, 3}, {255, 255, 255, 0, 0, 0})}},
        {.about = "too short", .inputs = {text("P5 2 2 255\n123")}, .outputs = {u8({0, 0, 3}, {})}},
        {.about = "no image", .inputs = {text("GIF89a")}, .outputs = {u8({0, 0, 3}, {})}},
        {.about = "nothing", .inputs = {u8({0}, {})}, .outputs = {u8({0, 0, 3}, {})}},
    });

/// Decodes a file by a library of the system. If this machine does not have it, the error must name its package.
void expect_picture(std::string_view hex, const std::vector<uint8_t>& pixels, const char* package) {
  SCOPED_TRACE(package);
  std::vector<uint8_t> bytes = bytes_of(hex);
  try {
    const auto p = decode_picture(bytes);
    ASSERT_TRUE(p.has_value());
    EXPECT_EQ(p->rgb, pixels);
    bytes.resize(bytes.size() / 2);
    EXPECT_FALSE(decode_picture(bytes).has_value()) << "half of the file";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_implemented);
    EXPECT_NE(e.message().find(package), std::string::npos) << e.message();
  }
}

TEST(ImageDecoder, ReadsFormatsByLibraries) {
  expect_picture(kPng, kPixels, "libpng16-16");
  expect_picture(kWebP, kPixels, "libwebp7");
  expect_picture(kTiff, kPixels, "libtiff6");
  expect_picture(kJpeg2000, kPixels, "libopenjp2-7");
}

TEST(ImageDecoder, ReadsJpeg) {
  try {
    EXPECT_EQ(decode_picture(bytes_of(kJpeg))->rgb, std::vector<uint8_t>(8 * 8 * 3, 77));
    EXPECT_FALSE(decode_picture(bytes_of(kJpeg.substr(0, 40))).has_value()) << "its beginning";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("libturbojpeg0"), std::string::npos) << e.message();
  }
}

TEST(ImageDecoder, NamesALibraryThatIsMissing) {
  try {
    const SystemLibrary library("XYZ", {"libnosuchthing.so.3"}, "libnosuchthing3");
    FAIL() << "there is no such library";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_implemented);
    for (const char* part : {"XYZ", "libnosuchthing.so.3", "Debian: libnosuchthing3"})
      EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
  }
}

// A few bytes may claim any size.
TEST(ImageDecoder, RejectsTooManyPixels) {
  EXPECT_THROW(has_pixels(int64_t(1) << 20, int64_t(1) << 20), Error);
  EXPECT_TRUE(has_pixels(int64_t(1) << 14, int64_t(1) << 14));
  EXPECT_FALSE(has_pixels(0, int64_t(1) << 40));
}

}  // namespace
}  // namespace retort::ops
