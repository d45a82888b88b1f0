// The last part of a message: what its reader can do. Messages have the form "where: actual, expected; what to do".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace retort {

/// Appends "; what_to_do" to the message of `e`, unless code closer to the cause has already added advice.
void advise(Error& e, std::string_view what_to_do);

/// Runs `f`; appends the result of `what_to_do()` to the message of an Error.
template <typename Advice, typename F>
decltype(auto) advising(const Advice& what_to_do, F&& f) {
  try {
    return f();
  } catch (Error& e) {
    advise(e, what_to_do());
    throw;
  }
}

/// The one of `names` of which `name` is most likely a misspelling; empty if none is similar.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& names);

/// "use 'image'": the most similar of `names`; "use one of 'a', 'b', …" if none is similar.
std::string use_one_of(std::string_view name, const std::vector<std::string_view>& names);

}  // namespace retort
