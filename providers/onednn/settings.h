// Options of the provider.
#pragma once
#include <set>
#include <string>

#include "common/plugin.h"

namespace onednn {

inline constexpr const char* kName = "OneDnnExecutionProvider";

struct Settings {
  int threads = 0;  ///< of each run; 0: as many as processors that may be used
  bool bf16 = false;
  std::set<std::string> disabled;  ///< operators that must not be claimed
};

/// Throws providers::Error for unknown options and invalid values.
Settings read_settings(const providers::Options& options);

/// Sets the number of threads of the calling thread's parallel regions as long as it lives.
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
