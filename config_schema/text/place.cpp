// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/place.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/text/text.hpp"

namespace train {

std::string line_or_flag(const Place& place) {
  const bool is_flag = place.source.size() > 1 && place.source.front() == '-';  // "-" is a file
  return is_flag ? "from " + place.source : fmt::format("on line {}", place.line);
}

Place PlaceCursor::at(std::size_t offset) {
  offset = std::min(offset, text_.size());
  if (offset < offset_) {
    offset_ = line_begin_ = 0;
    line_end_.reset();
    line_ = column_ = 1;
  }
  // Does not search to the right of the place: a line may have megabytes.
  const std::string_view before = text_.substr(0, offset);
  for (std::size_t end = before.find('\n', offset_); end != before.npos;
       end = before.find('\n', offset_)) {
    offset_ = line_begin_ = end + 1;
    line_end_.reset();
    ++line_;
    column_ = 1;
  }
  column_ += count_characters(text_.substr(offset_, offset - offset_));
  offset_ = offset;
  return {source_, line_, column_, {}};
}

Place PlaceCursor::shown_at(std::size_t offset) {
  Place place = at(offset);
  if (const std::string_view text = line(); text.size() <= max_shown_line)
    place.text = std::string(text);
  return place;
}

std::string_view PlaceCursor::line() {
  if (!line_end_) line_end_ = std::min(text_.find('\n', line_begin_), text_.size());
  return text_.substr(line_begin_, *line_end_ - line_begin_);
}

}  // namespace train
