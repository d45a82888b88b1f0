// The end of a message: what its reader can do. Messages have the form "where: what is, what is wanted; what to do".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace retort {

/// Ends the message of `e` with "; what_to_do", unless a place nearer to the cause has ended it so already.
void advise(Error& e, std::string_view what_to_do);

/// Runs `f`; an Error ends with what `what_to_do()` says.
template <typename Advice, typename F>
decltype(auto) advising(const Advice& what_to_do, F&& f) {
  try {
    return f();
  } catch (Error& e) {
    advise(e, what_to_do());
    throw;
  }
}

/// The one of `names` that `name` is most likely a misspelling of; empty when none is near.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& names);

/// "use 'image'": the nearest of `names`, else the first of them.
std::string use_one_of(std::string_view name, const std::vector<std::string_view>& names);

}  // namespace retort
