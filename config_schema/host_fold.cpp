// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "config_schema/host_set.hpp"

namespace train {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A name, or several folded ones, as texts and number fields in turn:
// "r1n[1-2]" is texts "r" "n" "" and fields "1" "[1-2]".
struct Shape {
  std::vector<std::string> texts;
  std::vector<std::string> fields;
};

bool is_folded(const std::string& field) { return field.front() == '['; }

Shape shape_of(const std::string& name) {
  constexpr std::size_t longest = 18;  // what expansion reads as a number
  Shape shape;
  shape.texts.emplace_back();
  const bool is_address = name.find(':') != name.npos;  // IPv6 does not fold
  for (std::size_t i = 0; i < name.size();) {
    const auto end = static_cast<std::size_t>(
        std::find_if_not(name.begin() + static_cast<long>(i), name.end(), is_digit) - name.begin());
    const std::size_t digits = end - i;
    if (digits > 0 && digits <= longest && !is_address) {
      shape.fields.push_back(name.substr(i, digits));
      shape.texts.emplace_back();
    } else {
      shape.texts.back() += name.substr(i, std::max<std::size_t>(digits, 1));
    }
    i += std::max<std::size_t>(digits, 1);
  }
  return shape;
}

// The only field in which two shapes differ, if it can be folded: nothing right of it varies less
// often, so nothing left of it may be folded already.
std::optional<std::size_t> differing_field(const Shape& left, const Shape& right) {
  if (left.texts != right.texts) return std::nullopt;
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

std::uint64_t number_of(const std::string& digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// Whether `next` continues the range that begins with `first` and has come to `last`.
bool continues(const std::string& first, const std::string& last, const std::string& next) {
  if (number_of(next) != number_of(last) + 1) return false;
  const auto is_padded = [](const std::string& digits) {
    return digits.size() > 1 && digits.front() == '0';
  };
  return is_padded(first) ? next.size() == first.size() : !is_padded(next);
}

std::string fold_numbers(const std::vector<std::string>& numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && continues(numbers[i], numbers[last], numbers[last + 1]))
      ++last;
    if (i > 0) text += ',';
    text += numbers[i];
    if (last > i) text += '-' + numbers[last];
    i = last + 1;
  }
  return text + ']';
}

// Folds runs of neighbours that differ in the same one field.
std::vector<Shape> fold_once(std::vector<Shape> shapes) {
  std::vector<Shape> folded;
  for (std::size_t i = 0; i < shapes.size();) {
    std::vector<std::string> numbers;
    std::optional<std::size_t> field;
    std::size_t end = i + 1;
    for (; end < shapes.size(); ++end) {
      const auto differs = differing_field(shapes[i], shapes[end]);
      if (!differs || (field && field != differs)) break;
      field = differs;
      if (numbers.empty()) numbers.push_back(shapes[i].fields[*field]);
      numbers.push_back(shapes[end].fields[*field]);
    }
    if (field) shapes[i].fields[*field] = fold_numbers(numbers);
    folded.push_back(std::move(shapes[i]));
    i = end;
  }
  return folded;
}

std::string text_of(const Shape& shape) {
  std::string text = shape.texts[0];
  for (std::size_t i = 0; i < shape.fields.size(); ++i)
    text += shape.fields[i] + shape.texts[i + 1];
  return text.find(':') == text.npos ? text : '[' + text + ']';
}

}  // namespace

std::string fold_hosts(const std::vector<std::string>& names) {
  constexpr int most_dimensions = 4;
  std::vector<Shape> shapes;
  shapes.reserve(names.size());
  for (const std::string& name : names) shapes.push_back(shape_of(name));
  for (int i = 0; i < most_dimensions; ++i) {
    const std::size_t before = shapes.size();
    shapes = fold_once(std::move(shapes));
    if (shapes.size() == before) break;
  }
  std::string text;
  for (const Shape& shape : shapes) {
    if (!text.empty()) text += ',';
    text += text_of(shape);
  }
  return text;
}

}  // namespace train
