// Writes web pages, each as one file with everything inside.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace retort::cli {

/// Writes the page of web/ with its data: the JSON of retort_tools.h, with "file" and, for profiles, "profile" (see
/// profile.cc). Throws Failure if the file cannot be written.
void write_page(const std::string& path, const nlohmann::json& data);
/// The same for a report of a suite (see suite_report.h).
void write_suite_page(const std::string& path, const nlohmann::json& report);

}  // namespace retort::cli
