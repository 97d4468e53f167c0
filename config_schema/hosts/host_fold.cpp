// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

// Replaces a number in a skeleton; no name contains it.
constexpr char number_mark = '\0';

// A name, or several folded names: "r1n[1-2]" has the skeleton "r#n#" and the fields "1" "[1-2]".
struct Shape {
  std::string skeleton;
  std::vector<std::string> fields;
  std::size_t hosts = 1;
};

bool is_folded(const std::string& field) { return field.front() == '['; }

Shape shape_of(std::string_view name) {
  constexpr std::size_t longest = 18;  // longer digits are not read as a number on expansion
  Shape shape;
  const bool folds = name.find(':') == name.npos && name.find(number_mark) == name.npos;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end == i) {
      shape.skeleton += name[i++];
      continue;
    }
    if (folds && end - i <= longest) {
      shape.fields.emplace_back(name.substr(i, end - i));
      shape.skeleton += number_mark;
    } else {
      shape.skeleton += name.substr(i, end - i);
    }
    i = end;
  }
  return shape;
}

// The only field in which two shapes differ, if it can be folded: a field to the right must not
// vary less often, so no field to the left may be folded already.
std::optional<std::size_t> differing_field(const Shape& left, const Shape& right) {
  if (left.skeleton != right.skeleton) return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < left.fields.size(); ++i) {
    if (left.fields[i] == right.fields[i]) {
      if (!found && is_folded(left.fields[i])) return std::nullopt;
      continue;
    }
    if (found || is_folded(left.fields[i]) || is_folded(right.fields[i])) return std::nullopt;
    found = i;
  }
  return found;
}

std::int64_t number_of(const std::string& digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// Whether a range that begins with `first` reproduces `next` exactly, with its padding.
bool is_written_alike(const std::string& first, const std::string& next) {
  const auto is_padded = [](const std::string& digits) {
    return digits.size() > 1 && digits.front() == '0';
  };
  return is_padded(first) ? next.size() == first.size() : !is_padded(next);
}

// Numbers from `begin` on that one range covers: the longest run of equal steps; steps above 1 are
// used only for four or more numbers.
struct Run {
  std::size_t end = 0;
  std::int64_t step = 1;
};
Run run_from(const std::vector<std::string>& numbers, std::size_t begin) {
  constexpr std::size_t least_with_steps = 4;
  if (begin + 1 == numbers.size()) return {begin + 1};
  const std::int64_t step = number_of(numbers[begin + 1]) - number_of(numbers[begin]);
  if (step <= 0) return {begin + 1};
  std::size_t end = begin + 1;
  while (end < numbers.size() && is_written_alike(numbers[begin], numbers[end]) &&
         number_of(numbers[end]) - number_of(numbers[end - 1]) == step)
    ++end;
  if (step > 1 && end - begin < least_with_steps) return {begin + 1};
  return {end, step};
}

// The ranges that produce these numbers in their order.
struct WrittenRange {
  std::string text;
  std::size_t numbers = 1;
};
std::vector<WrittenRange> ranges_of(const std::vector<std::string>& numbers) {
  std::vector<WrittenRange> ranges;
  for (std::size_t i = 0; i < numbers.size();) {
    const Run run = run_from(numbers, i);
    WrittenRange range{numbers[i], run.end - i};
    if (range.numbers > 1) range.text += '-' + numbers[run.end - 1];
    if (run.step > 1) range.text += fmt::format("/{}", run.step);
    ranges.push_back(std::move(range));
    i = run.end;
  }
  return ranges;
}

// Appends one shape for each `most_ranges` ranges of the field in which the `members` differ.
void fold_members(const Shape* members, std::size_t count, std::size_t field,
                  std::size_t most_ranges, std::vector<Shape>& folded) {
  std::vector<std::string> numbers;
  numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(members[i].fields[field]);
  const std::vector<WrittenRange> ranges = ranges_of(numbers);
  std::size_t done = 0;
  for (std::size_t i = 0; i < ranges.size(); i += most_ranges) {
    Shape shape = members[done];
    shape.hosts = 0;
    const std::size_t before = done;
    std::string text;
    for (std::size_t k = i; k < std::min(i + most_ranges, ranges.size()); ++k) {
      text += (text.empty() ? "" : ",") + ranges[k].text;
      done += ranges[k].numbers;
    }
    for (std::size_t k = before; k < done; ++k) shape.hosts += members[k].hosts;
    if (done - before > 1) shape.fields[field] = '[' + text + ']';
    folded.push_back(std::move(shape));
  }
}

// Folds runs of neighbours that differ in the same one field.
std::vector<Shape> fold_once(std::vector<Shape> shapes, std::size_t most_ranges) {
  std::vector<Shape> folded;
  for (std::size_t i = 0; i < shapes.size();) {
    std::optional<std::size_t> field;
    std::size_t end = i + 1;
    for (; end < shapes.size(); ++end) {
      const auto differs = differing_field(shapes[i], shapes[end]);
      if (!differs || (field && field != differs)) break;
      field = differs;
    }
    if (field)
      fold_members(&shapes[i], end - i, *field, most_ranges, folded);
    else
      folded.push_back(std::move(shapes[i]));
    i = end;
  }
  return folded;
}

std::vector<Shape> fold(const std::vector<std::string>& names, std::size_t most_ranges) {
  constexpr int most_dimensions = 4;
  std::vector<Shape> shapes;
  shapes.reserve(names.size());
  for (const std::string& name : names) shapes.push_back(shape_of(name));
  for (int i = 0; i < most_dimensions; ++i) {
    const std::size_t before = shapes.size();
    shapes = fold_once(std::move(shapes), most_ranges);
    if (shapes.size() == before) break;
  }
  return shapes;
}

std::string text_of(const Shape& shape) {
  std::string text;
  auto field = shape.fields.begin();
  for (const char c : shape.skeleton)
    if (c == number_mark && field != shape.fields.end())
      text += *field++;
    else
      text += c;
  return text.find(':') == text.npos ? text : '[' + text + ']';
}

}  // namespace

std::string fold_hosts(const std::vector<std::string>& names) {
  constexpr std::size_t most_ranges = 256;  // in a bracket: far below the limit of expansion
  std::string text;
  for (const Shape& shape : fold(names, most_ranges)) {
    if (!text.empty()) text += ',';
    text += text_of(shape);
  }
  return text;
}

std::string summarize_hosts(const std::vector<std::string>& names, std::size_t most_parts) {
  constexpr std::size_t most_ranges = 6;
  const std::vector<Shape> shapes = fold(names, most_ranges);
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < shapes.size() && i < most_parts; ++i) {
    if (i > 0) text += ", ";
    text += text_of(shapes[i]);
    shown += shapes[i].hosts;
  }
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

}  // namespace train
