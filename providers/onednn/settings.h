// Options of the provider.
#pragma once
#include <set>
#include <string>

#include "common/plugin.h"

namespace onednn {

inline constexpr const char* kName = "OneDnnExecutionProvider";

struct Settings {
  int threads = 0;  ///< of each run; 0: as many as processors may be used
  bool bf16 = false;
  std::set<std::string> disabled;  ///< operators left to others
};

/// Throws providers::Error for options that do not exist and values that they cannot have.
Settings read_settings(const providers::Options& options);

/// The number of threads of the calling thread's parallel regions while it lives.
class Threads {
 public:
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace onednn
