// Web pages: one file with everything in it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace retort::cli {

/// The page of web/ around what it shows: the JSON of retort_tools.h, with "file" and, for profiles, "profile" (see
/// profile.cc). Throws Failure when the file cannot be written.
void write_page(const std::string& path, const nlohmann::json& data);
/// The same about a report of a suite (see suite_report.h).
void write_suite_page(const std::string& path, const nlohmann::json& report);

}  // namespace retort::cli
