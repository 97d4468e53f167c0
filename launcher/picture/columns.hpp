// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace train {

/// The width of a UTF-8 text in terminal columns: none for combining marks, two for East Asian wide
/// characters and pictographs (Unicode's UAX #11, in broad ranges), one for all others. An invalid
/// byte counts as one.
std::size_t count_columns(std::string_view text);

/// The text if it has at most this many columns (at least 4), else its beginning and "...".
/// Characters are not split from their combining marks.
std::string shortened(std::string_view text, std::size_t columns);

/// The same with "..." in the middle: the ends of names are more informative.
std::string shortened_inside(std::string_view text, std::size_t columns);

/// The text padded with blanks to this many columns.
std::string padded(std::string_view text, std::size_t columns);

}  // namespace train
