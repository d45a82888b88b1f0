// A cache that keeps what was used last.
#pragma once
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace providers::cuda {

/// Keeps up to `most` values by their keys. Its owner holds a lock.
template <typename T>
class Recent {
 public:
  explicit Recent(size_t most) : most_(most) {}

  /// The value of a key; make() makes it, may return null, which is kept as well, and may throw.
  template <typename Make>
  std::shared_ptr<const T> get(const std::string& key, const Make& make) {
    const auto found = kept_.find(key);
    if (found != kept_.end()) {
      ages_.splice(ages_.end(), ages_, found->second.age);
      return found->second.value;
    }
    std::shared_ptr<const T> made = make();
    ages_.push_back(key);
    kept_[key] = {made, std::prev(ages_.end())};
    if (ages_.size() > most_) {
      kept_.erase(ages_.front());
      ages_.pop_front();
    }
    return made;
  }

 private:
  struct Kept {
    std::shared_ptr<const T> value;
    std::list<std::string>::iterator age;
  };
  size_t most_;
  std::map<std::string, Kept> kept_;
  std::list<std::string> ages_;  // keys, the latest last
};

}  // namespace providers::cuda
