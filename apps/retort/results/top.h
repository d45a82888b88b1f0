// The classes with the highest scores.
#pragma once
#include <nlohmann/json.hpp>

#include "formats/tensors.h"

namespace retort::cli {

/// One label per line, for class 0, 1, …. Throws Failure if the file has none.
std::vector<std::string> read_labels(const std::string& path);

/// For each row of the last axis, the `count` highest scores: [[{class, score, label?}, …], …]. Null
/// for a tensor without scores: of strings, of one element per row.
nlohmann::json top_classes(const HostTensor& scores, size_t count, const std::vector<std::string>& labels);

/// Lines with these classes, of at most 16 rows.
std::string top_text(const nlohmann::json& rows);

}  // namespace retort::cli
