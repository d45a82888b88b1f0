// A verified model in ORT format, with the checks that flatbuffers' verifier does not make.
#pragma once
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/loading.h"
#include "ort_generated.h"

namespace retort::ort_format {

/// Runs the verifier of flatbuffers over the bytes, which must begin at a multiple of 8 and outlive the object.
class Flat {
 public:
  /// Throws fail if the bytes are not a flatbuffer of the schema, and for other versions of the format.
  explicit Flat(std::string_view bytes);

  const fbs::Model& model() const { return *model_; }
  /// The position of a list in the bytes.
  template <typename T>
  size_t position(const flatbuffers::Vector<T>& list) const {
    return size_t(reinterpret_cast<const char*>(list.Data()) - bytes_.data());
  }

  /// A string that may be absent. Since any number of tables may share strings and lists, the bytes that are read are
  /// counted, and limited to a multiple of the file's size.
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
      if (i % kFewNumbers == 0) check_loading();
      T value;
      std::memcpy(&value, list->Data() + i * sizeof(T), sizeof(T));
      f(value);
    }
  }
  /// Calls f(std::string_view) for each string of a list of offsets.
  template <typename F>
  void each_text(const flatbuffers::Vector<uint32_t>* list, F&& f) {
    size_t at = list ? position(*list) : 0;
    each(list, [&](uint32_t distance) {
      f(text(string_at(at, distance)));
      at += sizeof distance;
    });
  }

 private:
  static constexpr size_t kFewNumbers = 4096;  ///< read within microseconds

  void charge(size_t bytes);
  const flatbuffers::String* string_at(size_t from, uint32_t distance) const;

  std::string_view bytes_;
  flatbuffers::Verifier verifier_;
  const fbs::Model* model_ = nullptr;
  size_t read_ = 0;
};

/// Calls f(const Table&) for each table of a list that may be absent.
template <typename T, typename F>
void each_table(const flatbuffers::Vector<flatbuffers::Offset<T>>* list, F&& f) {
  if (!list) return;
  for (const T* table : *list) {
    check_loading();
    f(*table);
  }
}

}  // namespace retort::ort_format
