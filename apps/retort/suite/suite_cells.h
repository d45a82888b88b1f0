// Texts in the tables of a suite.
#pragma once
#include <cmath>
#include <cstdio>

#include "measure/stats.h"
#include "suite/suite_report.h"

namespace retort::cli {

inline std::string digits(const char* format, double number) {
  char text[32];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

/// A number that was measured with one thread count: `row` is an entry of scenario.report or of a group's.
using RowNumber = std::function<nlohmann::json(const nlohmann::json& row)>;

/// The text of a number that was measured with the i-th thread count; "" if there is none.
inline std::function<std::string(const nlohmann::json&)> measured(size_t i, const char* format,
                                                                  const RowNumber& number) {
  return [=](const nlohmann::json& scenario) -> std::string {
    const nlohmann::json& rows = scenario.at("report");
    if (i >= rows.size()) return "";
    const nlohmann::json value = number(rows.at(i));
    return value.is_number() ? digits(format, value) : "";
  };
}

/// With enough digits even for models that run for a microsecond.
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

/// A number of the measured engine (0), or of a peer.
inline RowNumber of_engine(size_t engine, const char* key) {
  if (engine > 0) return of_peer(engine - 1, key);
  return [=](const nlohmann::json& row) { return entry(row.at("sides").at(0), key); };
}

inline RowNumber of_row(const char* key) {
  return [=](const nlohmann::json& row) { return entry(row, key); };
}

/// "ratio", "ratio 2": the first peer has no number.
inline std::string peer_name(const std::string& title, size_t peer) {
  return title + (peer > 1 ? " " + std::to_string(peer) : "");
}

/// The largest difference of outputs over all thread counts, and whether it is too large.
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
