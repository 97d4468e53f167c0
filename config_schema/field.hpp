// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace train {

/// What a value must look like.
enum class FieldType {
  any,
  string,
  boolean,
  integer,
  number,
  bytes,         ///< whole number, or a string such as `16GiB`
  duration,      ///< number of seconds, or a string such as `10s`
  choice,        ///< one of `choices`
  list,          ///< of anything
  strings,       ///< list of strings
  command,       ///< string, or list of strings
  mapping,       ///< its keys are fields of the table
  open_mapping,  ///< any keys; those in the table are checked
};

/// What giving a value does.
enum class FieldEffect {
  used,      ///< it is read
  metadata,  ///< kept for people; changes nothing
  none,      ///< legal, has no effect here: a warning says so
  later,     ///< its feature is not there yet: refused unless it has its default value
};

enum class FieldSource { determined, ray, train };

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// One key that a file may hold: the single source for the reader, and for everything that shows
/// or publishes what may be written.
struct Field {
  std::string_view path;  ///< dotted
  FieldType type;
  FieldSource source;
  std::string_view default_text;  ///< as YAML; empty: none
  std::string_view meaning;
  FieldEffect effect = FieldEffect::used;
  std::string_view same_as = {};  ///< the field that this is another place for
  std::int64_t minimum = 0;       ///< of numbers
  std::int64_t maximum = no_limit;
  std::string_view choices = {};        ///< "a|b|c"
  std::string_view later_choices = {};  ///< known, but not there yet
};

/// Every key of an experiment: Determined's v0 schema, Ray's ScalingConfig, and train's own.
std::span<const Field> experiment_fields();

/// Every key of one host of a YAML inventory (and of its `defaults:`), and those at its top.
std::span<const Field> host_fields();
std::span<const Field> inventory_fields();

}  // namespace train
