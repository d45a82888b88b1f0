// A verified model in ORT format, and the reads that flatbuffers' verifier leaves to us.
#pragma once
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "ort_generated.h"

namespace retort::ort_format {

/// Lets the verifier of flatbuffers go over the bytes, which must lie at a multiple of 8 and outlive the object.
class Flat {
 public:
  /// Throws fail on what is no flatbuffer of the schema and on other versions of the format.
  explicit Flat(std::string_view bytes);

  const fbs::Model& model() const { return *model_; }
  /// Where in the bytes a list begins.
  template <typename T>
  size_t position(const flatbuffers::Vector<T>& list) const {
    return size_t(reinterpret_cast<const char*>(list.Data()) - bytes_.data());
  }

  /// A string that may be absent. Strings and lists may be shared by any number of tables, so what is read of them is
  /// charged against a multiple of the file's size.
  std::string_view text(const flatbuffers::String* s) {
    if (!s) return {};
    charge(s->size());
    return {s->c_str(), s->size()};
  }
  /// Calls f(T) for each number of a list that may be absent. Its data need not be aligned.
  template <typename T, typename F>
  void each(const flatbuffers::Vector<T>* list, F&& f) {
    static_assert(std::is_arithmetic_v<T>);
    if (!list) return;
    charge(list->size() * sizeof(T));
    for (size_t i = 0; i < list->size(); ++i) {
      T value;
      std::memcpy(&value, list->Data() + i * sizeof(T), sizeof(T));
      f(value);
    }
  }
  /// Calls f(std::string_view) for each string of a list of distances.
  template <typename F>
  void each_text(const flatbuffers::Vector<uint32_t>* list, F&& f) {
    size_t at = list ? position(*list) : 0;
    each(list, [&](uint32_t distance) {
      f(text(string_at(at, distance)));
      at += sizeof distance;
    });
  }

 private:
  void charge(size_t bytes);
  const flatbuffers::String* string_at(size_t from, uint32_t distance) const;

  std::string_view bytes_;
  flatbuffers::Verifier verifier_;
  const fbs::Model* model_ = nullptr;
  size_t read_ = 0;
};

/// Calls f(const Table&) for each of a list of tables that may be absent.
template <typename T, typename F>
void each_table(const flatbuffers::Vector<flatbuffers::Offset<T>>* list, F&& f) {
  if (!list) return;
  for (const T* table : *list) f(*table);
}

}  // namespace retort::ort_format
