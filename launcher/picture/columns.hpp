// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace train {

/// How many columns of a terminal a UTF-8 text takes: none for combining marks, two for East Asian
/// wide characters and pictographs (Unicode's UAX #11, in broad ranges), one for all else. A byte
/// that is no UTF-8 takes one.
std::size_t count_columns(std::string_view text);

/// The text where it has at most this many columns (at least 4), else its beginning and "...".
/// Characters stay whole, with their combining marks.
std::string shortened(std::string_view text, std::size_t columns);

/// The same with "..." in the middle: the ends of names tell more than what is between.
std::string shortened_inside(std::string_view text, std::size_t columns);

/// The text with blanks behind it up to this many columns.
std::string padded(std::string_view text, std::size_t columns);

}  // namespace train
