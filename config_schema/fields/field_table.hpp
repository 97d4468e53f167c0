// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace train {

/// The types that a value may have; several are joined with `|`.
enum class FieldType : unsigned {
  string = 1U << 0,
  boolean = 1U << 1,
  integer = 1U << 2,   ///< a whole number, written without a point or an exponent
  number = 1U << 3,    ///< a whole or real number
  bytes = 1U << 4,     ///< whole number, or a string such as `16GiB`
  duration = 1U << 5,  ///< number of seconds, or a string such as `10s`
  list = 1U << 6,      ///< of what `PATH[]` defines, or of anything
  strings = 1U << 7,   ///< list of strings
  mapping = 1U << 8,   ///< its keys are fields of the table, or all `PATH.*`
  open = 1U << 9,      ///< mapping with any keys; those in the table are checked
  any = 1U << 10,
};

constexpr FieldType operator|(FieldType left, FieldType right) {
  return static_cast<FieldType>(static_cast<unsigned>(left) | static_cast<unsigned>(right));
}
/// Whether `one` is among `types`.
constexpr bool has(FieldType types, FieldType one) {
  return (static_cast<unsigned>(types) & static_cast<unsigned>(one)) != 0;
}

/// The effect of a value.
enum class FieldEffect {
  used,       ///< it is read
  metadata,   ///< for users only; has no effect
  none,       ///< legal, has no effect here: a warning says so
  removed,    ///< of older versions of Determined: an error with `meaning` as its hint
  forbidden,  ///< never allowed: an error with `meaning` as its hint
};

/// Whether a key may have a value at all.
constexpr bool may_be_given(FieldEffect effect) {
  return effect != FieldEffect::removed && effect != FieldEffect::forbidden;
}

enum class FieldSource { determined, ray, train };

/// The form of a string, beyond its type.
enum class FieldPattern {
  none,
  absolute_path,
  memory_size,     ///< Determined's: `4g`, `1.5 GiB`, `1048576`
  without_parent,  ///< no `..` between slashes
  not_dot,         ///< not `.`
  device,          ///< `HOST_PATH:CONTAINER_PATH` or `HOST_PATH:CONTAINER_PATH:MODE`
};

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t no_minimum = std::numeric_limits<std::int64_t>::min();

/// One key of a file. The table of these is the single source for the reader, the published JSON
/// Schema, `train config show` and the manual.
struct Field {
  std::string_view path;  ///< dotted; `[]` is any item of a list, `*` any key of a mapping
  FieldType types;
  FieldSource source;
  std::string_view default_text;  ///< as YAML; empty: none
  std::string_view meaning;

  FieldEffect effect = FieldEffect::used;
  std::string_view twin = {};         ///< the field whose value may be given here instead
  std::int64_t minimum = no_minimum;  ///< of durations both are given, or none: seconds, or 0
  std::int64_t maximum = no_limit;
  bool excludes_minimum = false;        ///< numbers must be above `minimum`
  std::string_view choices = {};        ///< "a|b|c", of strings
  std::string_view later_choices = {};  ///< known, but planned for later
  std::string_view gone_choices = {};   ///< "a=what to write|b=...": those of older versions
  FieldPattern pattern = FieldPattern::none;
  /// For a mapping: the key that selects which other keys it may have.
  std::string_view selector = {};
  std::string_view open_kinds = {};  ///< of a mapping: for these kinds it may have any keys
  /// For a key in such a mapping: the selector's values that it belongs to.
  std::string_view kinds = {};
  /// "*": always required in its mapping; else: required for these kinds.
  std::string_view needed_by = {};
  bool has_one_key = false;        ///< of a mapping: exactly one key
  bool is_secret = false;          ///< never shown
  bool is_read_apart = false;      ///< the reader does not look inside; other code reads it
  bool is_hyperparameter = false;  ///< may also be `{type: int, ...}`
  bool blocks_plan = false;        ///< if planned for later, also prevents `plan`

  /// A copy with a different value of one member.
  template <class T, class V>
  constexpr Field with(T Field::*member, V value) const {
    Field copy = *this;
    copy.*member = value;
    return copy;
  }

  constexpr Field no_effect() const { return with(&Field::effect, FieldEffect::none); }
  constexpr Field for_people() const { return with(&Field::effect, FieldEffect::metadata); }
  constexpr Field removed() const { return with(&Field::effect, FieldEffect::removed); }
  constexpr Field forbidden() const { return with(&Field::effect, FieldEffect::forbidden); }
  constexpr Field twin_of(std::string_view other) const { return with(&Field::twin, other); }
  constexpr Field from(std::int64_t least) const { return with(&Field::minimum, least); }
  constexpr Field above(std::int64_t bound) const {
    return from(bound).with(&Field::excludes_minimum, true);
  }
  constexpr Field to(std::int64_t most) const { return with(&Field::maximum, most); }
  constexpr Field one_of(std::string_view words) const { return with(&Field::choices, words); }
  constexpr Field later_ones(std::string_view words) const {
    return with(&Field::later_choices, words);
  }
  constexpr Field gone_ones(std::string_view words) const {
    return with(&Field::gone_choices, words);
  }
  constexpr Field like(FieldPattern look) const { return with(&Field::pattern, look); }
  constexpr Field selected_by(std::string_view key) const { return with(&Field::selector, key); }
  constexpr Field open_to(std::string_view values) const {
    return with(&Field::open_kinds, values);
  }
  constexpr Field of(std::string_view values) const { return with(&Field::kinds, values); }
  constexpr Field needed(std::string_view by = "*") const { return with(&Field::needed_by, by); }
  constexpr Field one_key() const { return with(&Field::has_one_key, true); }
  constexpr Field secret() const { return with(&Field::is_secret, true); }
  constexpr Field read_apart() const { return with(&Field::is_read_apart, true); }
  constexpr Field hyperparameter() const { return with(&Field::is_hyperparameter, true); }
  constexpr Field not_planned() const { return with(&Field::blocks_plan, true); }
};

/// The keys that a mapping may hold, with those of the mappings inside it.
class FieldTable {
 public:
  explicit FieldTable(std::span<const Field> fields);

  /// In the order in which they are documented.
  std::span<const Field> fields() const { return fields_; }
  /// The field of a table path ("log_policies[].pattern"); nullptr: there is none.
  const Field* find(std::string_view path) const;
  /// The fields directly inside one ("" for the top), `PATH.*` and `PATH[]` included.
  const std::vector<const Field*>& children(std::string_view path) const;
  /// A field whose last word is `key`, at any level; nullptr if there is none.
  const Field* find_anywhere(std::string_view key) const;

 private:
  std::span<const Field> fields_;
  std::unordered_map<std::string_view, const Field*> by_path_;
  std::unordered_map<std::string_view, std::vector<const Field*>> by_parent_;
  std::unordered_map<std::string_view, const Field*> by_leaf_;
};

/// The path of the enclosing mapping or list: "a.b" for "a.b.c" and for "a.b[]"; empty at the top.
std::string_view parent_of(std::string_view path);
/// The last word of a path: "c" of "a.b.c", "[]" of "a.b[]".
std::string_view leaf_of(std::string_view path);
/// The words of "a|b|c"; none of "".
std::vector<std::string> choice_words(std::string_view choices);
/// Whether a word is one of "a|b|c".
bool is_one_of(std::string_view word, std::string_view choices);

/// The maximum number of workers, and of slots in a count of slots.
inline constexpr std::int64_t most_workers = 1'000'000;
/// The maximum number of samples of one training step.
inline constexpr std::int64_t most_samples = 1'000'000'000'000;
/// The maximum amount of one resource.
inline constexpr std::int64_t most_of_one = 1'000'000'000'000;

/// Every key of an experiment: Determined's v0 schema, Ray's ScalingConfig, and train's own.
const FieldTable& experiment_fields();
/// Every key of one hyperparameter that is searched: `{type: int, minval: 1, maxval: 8}`.
const FieldTable& hyperparameter_fields();
/// Every key of one host of a YAML inventory (and of its `defaults:`), and those at its top.
const FieldTable& host_fields();
const FieldTable& inventory_fields();

/// Parts of `experiment_fields()`, in its order: Ray's keys; Determined's keys for a search; Ray
/// Tune's keys; and Determined's other keys that train knows and does not use.
std::span<const Field> ray_fields();
std::span<const Field> searcher_fields();
std::span<const Field> tune_fields();
std::span<const Field> determined_fields();

/// Whether a key at the top of a file of this table belongs to the user: `x-...` in an experiment
/// or a hosts file, a place for anchors. It is not read, and neither is anything below it.
bool is_users_own(const FieldTable& table, std::string_view key);

/// The path of the field for a word of other programs: "gpus" is `resources.slots_per_trial` of an
/// experiment, and `resources.GPU` of a host. Empty if the word is not known. Ignores case, and the
/// difference between `-` and `_`.
std::string_view field_for_foreign_word(const FieldTable& table, std::string_view word);

}  // namespace train
