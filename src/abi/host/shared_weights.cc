#include "abi/host/shared_weights.h"

#include <string_view>

#include "abi/sessions/environment.h"
#include "abi/slots.h"

namespace retort::abi {
namespace {

std::string_view content(const PackedWeight& weight, size_t i) {
  return {static_cast<const char*>(weight.buffers[i].get()), weight.sizes[i]};
}

size_t hash_of(const PackedWeight& weight) {
  size_t hash = weight.sizes.size();
  for (size_t i = 0; i < weight.sizes.size(); ++i) hash = hash * 31 + std::hash<std::string_view>()(content(weight, i));
  return hash;
}

}  // namespace

bool PackedWeight::operator==(const PackedWeight& other) const {
  if (sizes != other.sizes) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (content(*this, i) != content(other, i)) return false;
  }
  return true;
}

std::shared_ptr<const PackedWeight> PackedWeights::unify(const std::string& type, PackedWeight made) {
  const std::pair key(type, hash_of(made));
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = all_.equal_range(key);
  for (auto at = begin; at != end; ++at) {
    if (*at->second == made) return at->second;
  }
  return all_.emplace(key, std::make_shared<const PackedWeight>(std::move(made)))->second;
}

namespace ep_api {

// Takes no ownership if an argument is invalid.
OrtStatusPtr ORT_API_CALL SharedPrePackedWeightCache_StoreWeightData(
    OrtSharedPrePackedWeightCache* prepacked_weight_cache, void** buffer_data_ptrs, size_t* buffer_data_sizes,
    size_t num_buffers) noexcept {
  return guard([&] {
    OrtSharedPrePackedWeightCache& cache = handle(prepacked_weight_cache, "prepacked_weight_cache");
    need(buffer_data_ptrs, "buffer_data_ptrs");
    need(buffer_data_sizes, "buffer_data_sizes");
    require(num_buffers > 0, ErrorCode::invalid_argument, "a packed weight has at least one buffer");
    for (size_t i = 0; i < num_buffers; ++i) {
      require(buffer_data_ptrs[i] || buffer_data_sizes[i] == 0, ErrorCode::invalid_argument,
              "buffer {} of a packed weight is null, but has {} bytes", i, buffer_data_sizes[i]);
    }
    PackedWeight stored;
    stored.buffers.reserve(num_buffers);
    stored.sizes.assign(buffer_data_sizes, buffer_data_sizes + num_buffers);
    for (size_t i = 0; i < num_buffers; ++i) {
      stored.buffers.emplace_back(buffer_data_ptrs[i], [allocator = cache.allocator](void* p) {
        if (p) allocator->Free(allocator.get(), p);
      });
    }
    cache.stored = std::move(stored);
  });
}

}  // namespace ep_api
}  // namespace retort::abi
