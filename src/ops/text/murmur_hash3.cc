// com.microsoft.MurmurHash3: the 32-bit hash MurmurHash3_x86_32 of each element's bytes.
#include <bit>
#include <cstring>

#include "ops/op.h"

namespace retort::ops {
namespace {

struct MurmurHash3 {
  int64_t positive = 1, seed = 0;
  static constexpr std::tuple attributes{attr("positive", &MurmurHash3::positive), attr("seed", &MurmurHash3::seed)};

  void infer(InferContext& c) const {
    const DType type = positive == 1 ? DType::u32 : DType::i32;
    c.set(0, type);
    c.set(0, type, c.shape(0));
  }

  void run(RunContext& c) const {
    const bool text = c.dtype(0) == DType::string;
    const size_t size = text ? 0 : dtype_bits(c.dtype(0)) / 8;
    auto* y = static_cast<uint32_t*>(c.out_data());
    for (size_t i = 0; i < c.count(0); ++i) {
      y[i] = text ? hash(c.input<std::string>(0)[i]) : hash({static_cast<const char*>(c.data(0)) + i * size, size});
    }
  }

 private:
  static uint32_t mixed(uint32_t block) { return std::rotl(block * 0xcc9e2d51u, 15) * 0x1b873593u; }

  uint32_t hash(std::string_view key) const {
    uint32_t h = uint32_t(seed);
    const auto length = uint32_t(key.size());
    for (; key.size() >= 4; key.remove_prefix(4)) {
      uint32_t block;
      std::memcpy(&block, key.data(), 4);
      h = std::rotl(h ^ mixed(block), 13) * 5 + 0xe6546b64u;
    }
    uint32_t tail = 0;
    for (size_t i = key.size(); i-- > 0;) tail = tail << 8 | uint8_t(key[i]);
    h ^= mixed(tail) ^ length;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
  }
};

}  // namespace

extern const OpDef op_murmur_hash3;
constinit const OpDef op_murmur_hash3 = define<MurmurHash3>({
    .name = "MurmurHash3",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T"},
    .outputs = {"Y: H"},
    .types = kString | types({DType::i32, DType::u32, DType::i64, DType::u64, DType::f32, DType::f64}),
});

}  // namespace retort::ops
