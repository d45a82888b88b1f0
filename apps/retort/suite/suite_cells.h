// Texts of cells of the tables of a suite.
#pragma once
#include <cmath>

#include "measure/stats.h"
#include "suite/suite_report.h"

namespace retort::cli {

inline std::string digits(const char* format, double number) {
  char text[32];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

/// A number of what was measured with one number of threads: `row` is an entry of scenario.report or of a group's.
using RowNumber = std::function<nlohmann::json(const nlohmann::json& row)>;

/// The text of a number in what was measured with the i-th number of threads; "" where there is none.
inline std::function<std::string(const nlohmann::json&)> measured(size_t i, const char* format,
                                                                  const RowNumber& number) {
  return [=](const nlohmann::json& scenario) -> std::string {
    const nlohmann::json& rows = scenario.at("report");
    if (i >= rows.size()) return "";
    const nlohmann::json value = number(rows.at(i));
    return value.is_number() ? digits(format, value) : "";
  };
}

/// In digits that tell something, also of a model of a microsecond.
inline std::function<std::string(const nlohmann::json&)> measured_ms(size_t i, const RowNumber& number) {
  return [=](const nlohmann::json& scenario) -> std::string {
    const nlohmann::json& rows = scenario.at("report");
    const nlohmann::json value = i < rows.size() ? number(rows.at(i)) : nlohmann::json();
    return value.is_number() ? milliseconds_text(value) : "";
  };
}

inline nlohmann::json entry(const nlohmann::json& of, const char* key) {
  return of.contains(key) ? of.at(key) : nlohmann::json();
}

inline RowNumber of_peer(size_t peer, const char* key) {
  return [=](const nlohmann::json& row) {
    const nlohmann::json& peers = row.at("peers");
    return peer < peers.size() ? entry(peers[peer], key) : nlohmann::json();
  };
}

/// Of the engine that is measured (0), or of a peer.
inline RowNumber of_engine(size_t engine, const char* key) {
  if (engine > 0) return of_peer(engine - 1, key);
  return [=](const nlohmann::json& row) { return entry(row.at("sides").at(0), key); };
}

inline RowNumber of_row(const char* key) {
  return [=](const nlohmann::json& row) { return entry(row, key); };
}

/// "ratio", "ratio 2": the first peer goes without a number.
inline std::string peer_name(const std::string& title, size_t peer) {
  return title + (peer > 1 ? " " + std::to_string(peer) : "");
}

/// How far outputs are apart at most with any number of threads, and whether that is too much.
inline std::string disagreement_text(const nlohmann::json& scenario) {
  double worst = 0;
  for (const nlohmann::json& row : scenario.at("report")) {
    const nlohmann::json value = row.value("disagreement", nlohmann::json(0));
    worst = std::max(worst, value.is_null() ? INFINITY : double(value));
  }
  return digits("%.1e", worst) + (scenario.value("differs", false) ? " DIFFERS" : "");
}

inline std::string name_text(const nlohmann::json& row) { return row.at("name"); }

}  // namespace retort::cli
