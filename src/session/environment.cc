#include "session/environment.h"

#include <charconv>

#include "base/cpu.h"
#include "base/error.h"
#include "base/isa_choice.h"
#include "base/later.h"
#include "session/config.h"

namespace retort {
namespace {

// The first processor of each group of "1,2;3-4;5", counted from 0.
std::vector<int> first_processors(const std::string& affinity) {
  std::vector<int> processors;
  for (size_t at = 0; at < affinity.size();) {
    const size_t end = std::min(affinity.find(';', at), affinity.size());
    int id = 0;
    const auto [rest, error] = std::from_chars(affinity.data() + at, affinity.data() + end, id);
    const bool ends_well = rest == affinity.data() + end || *rest == ',' || *rest == '-';
    require(error == std::errc() && id >= 1 && ends_well, ErrorCode::invalid_argument,
            "thread affinity '{}' is not a list of processors; write numbers from 1, such as \"1,2;3-4\"", affinity);
    processors.push_back(id - 1);
    at = end + 1;
  }
  return processors;
}

}  // namespace

ThreadPoolOptions pool_options(const ThreadSettings& settings) {
  ThreadPoolOptions options;
  options.threads = settings.intra_threads > 0 ? settings.intra_threads : usable_cpus();
  options.spin = settings.spin;
  options.flush_denormals = settings.denormal_as_zero;
  options.affinity = first_processors(settings.affinity);
  options.create_thread = settings.create_thread;
  options.hooks = settings.hooks;
  return options;
}

std::unique_ptr<ThreadPool> make_branch_pool(const ThreadSettings& settings, ThreadPoolOptions inside) {
  if (settings.inter_threads < 1 || settings.inter_threads == inside.threads) return nullptr;
  inside.threads = settings.inter_threads;
  inside.affinity.clear();  // the option is about the threads inside operators only
  return std::make_unique<ThreadPool>(std::move(inside));
}

Environment::Environment(EnvironmentOptions options) : options_(std::move(options)) {
  require_chosen_isa();
  ConfigWatch().check(ConfigScope::env, options_.config, options_.logger);
  if (!options_.threads) return;
  const ThreadPoolOptions inside = pool_options(*options_.threads);
  shared_pool_ = std::make_unique<ThreadPool>(inside);
  branch_pool_ = make_branch_pool(*options_.threads, inside);
}

Environment::~Environment() { finish_dropping(); }

}  // namespace retort
