#include "ops/image/common/system_library.h"

#include <dlfcn.h>

#include <string>

#include "base/error.h"

namespace retort::ops {

SystemLibrary::SystemLibrary(std::string_view format, std::initializer_list<const char*> names,
                             std::string_view package)
    : format_(format), package_(package) {
  std::string reason;
  for (const char* name : names) {
    name_ = name;
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_) return;
    const char* const said = dlerror();
    if (reason.empty()) reason = said ? said : "";
  }
  fail(ErrorCode::not_implemented,
       "a {} image needs the library {}, which cannot be loaded ({}); install it (Debian: {})", format, *names.begin(),
       reason, package);
}

Symbol SystemLibrary::optional(const char* name) const { return {dlsym(handle_, name)}; }

Symbol SystemLibrary::function(const char* name) const {
  const Symbol found = optional(name);
  require(found.address != nullptr, ErrorCode::not_implemented,
          "a {} image needs the function {}, which the library {} lacks; install a newer one (Debian: {})", format_,
          name, name_, package_);
  return found;
}

}  // namespace retort::ops
