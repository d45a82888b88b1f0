// Reads JSON (RFC 8259) from untrusted sources.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace retort {

struct JsonValue {
  enum class Kind { null, boolean, number, string, array, object };
  struct Member;

  Kind kind = Kind::null;
  std::string text;                ///< of a string
  std::optional<int64_t> integer;  ///< of a number without fraction or exponent, if it fits
  std::vector<Member> members;     ///< of an object, in the order of the text; for a repeated key, the last value

  bool is(Kind k) const { return kind == k; }
  /// Null if there is no such member.
  const JsonValue* find(std::string_view key) const;
};

struct JsonValue::Member {
  std::string key;
  JsonValue value;
};

/// Parses a text; elements of arrays are checked but not kept. Throws ErrorCode::fail with the line, also for values
/// inside more than 200 others, since the parser is recursive.
JsonValue parse_json(std::string_view text);

}  // namespace retort
