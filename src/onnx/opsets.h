// The operator sets that are known, and what happens if a model imports a newer version.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retort {

/// One sentence for each operator set that is imported in a newer version than the newest one that is known. The
/// versions of other domains, which are those of custom operators, have no limit. `what` imports them.
std::vector<std::string> newer_opsets(const std::map<std::string, int>& opsets, std::string_view what = "the model");

/// Throws fail naming the operator sets of newer_opsets(), if there are any.
void require_known_opsets(const std::map<std::string, int>& opsets, std::string_view what = "the model");

}  // namespace retort
