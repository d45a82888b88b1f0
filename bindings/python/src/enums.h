// Enumerations as Python programs know them from the official package: members are ints, and print as "Class.MEMBER".
#pragma once

#include <nanobind/nanobind.h>

namespace retort::python {

// Call this after the last value(): str() gives "Class.MEMBER" and repr() "<Class.MEMBER: 1>" on every version of
// Python.
template <class T>
void finish_enum(nanobind::enum_<T>& type) {
  nanobind::object plain = nanobind::module_::import_("enum").attr("Enum");
  type.attr("__str__") = plain.attr("__str__");
  type.attr("__repr__") = plain.attr("__repr__");
}

// A second name for a member, which is the same object.
template <class T>
void add_alias(nanobind::enum_<T>& type, const char* alias, const char* member) {
  nanobind::object object = type.attr(member);
  type.attr(alias) = object;  // before the map has it: members cannot be set
  type.attr("_member_map_")[alias] = object;
}

}  // namespace retort::python
