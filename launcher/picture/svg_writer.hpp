// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace train {

/// Text that XML may hold: what would steer a terminal, or is no UTF-8, is shown as `\x1b`, and
/// markup characters are escaped.
std::string xml_text(std::string_view text);

/// A rectangle in pixels.
struct Box {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

/// How a text stands at its place.
enum class Anchor { start, middle, end };

/// Writes elements of an SVG. Texts are in a monospaced font, so that their width is known: see
/// `text_width`.
class SvgWriter {
 public:
  /// `corner` is the radius of the corners; `attributes` are XML as it stands.
  void add_box(std::string_view css_class, const Box& box, int corner,
               std::string_view attributes = {});
  /// `y` is the base line.
  void add_text(std::string_view css_class, int x, int y, std::string_view text,
                Anchor anchor = Anchor::start);
  /// `data` are commands of an SVG path.
  void add_path(std::string_view css_class, std::string_view data);
  /// Everything until `end_group` belongs together; `title` (may be empty) is shown on pointing.
  void begin_group(std::string_view css_class, std::string_view attributes, std::string_view title);
  void end_group();

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// The most pixels that so many columns of text take in a font of `size` pixels: monospaced fonts
/// advance by 0.6 of their size, and a little is added for those that do not.
int text_width(std::size_t columns, int size);

/// How many columns of text fit `pixels`.
std::size_t columns_in(int pixels, int size);

}  // namespace train
