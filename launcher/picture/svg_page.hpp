// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "launcher/picture/svg_writer.hpp"

namespace train {

/// Pixel sizes shared by all pictures.
namespace svg_size {
inline constexpr int page_width = 960;
inline constexpr int page_margin = 24;
inline constexpr int font = 13;
inline constexpr int title_font = 18;
inline constexpr int small_font = 12;
inline constexpr int line_height = 18;
inline constexpr int corner = 6;
}  // namespace svg_size

/// The caption above a picture.
struct PictureCaption {
  std::string title;
  std::string subtitle;  ///< may be empty
};

/// Draws the caption at the top of the page; returns the position of the next element.
int add_caption(SvgWriter& svg, const PictureCaption& caption);

/// The keys of a legend, side by side, in as many lines as needed.
class SvgLegend {
 public:
  static constexpr int swatch_width = 26;
  static constexpr int swatch_height = 20;

  explicit SvgLegend(int y) : y_(y) {}

  /// Writes the words of a key, shortened to one line; returns the box for its swatch.
  Box add_words(SvgWriter& svg, std::string_view words);
  /// The position below its last line.
  int bottom() const { return y_ + swatch_height + 2; }

 private:
  int x_ = svg_size::page_margin;
  int y_;
};

/// A page around the drawn elements.
struct SvgPage {
  std::string_view name;     ///< used in its class: "train-plan"
  std::string_view id = {};  ///< begins its ids, if several are in one page; empty: the name
  std::string_view style;    ///< a style sheet, scoped to that class, and definitions
  int height = 0;
  std::string title;        ///< for screen readers
  std::string description;  ///< a longer description for screen readers
};

/// The whole document: light, or dark if the reader prefers that. It uses no external resources,
/// and every style rule is scoped to its classes, `train-picture` and the name of the page, so that
/// it can be embedded in another page.
std::string svg_document(const SvgPage& page, std::string_view drawn);

}  // namespace train
