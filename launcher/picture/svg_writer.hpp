// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace train {

/// Text that is valid in XML: terminal control characters and invalid UTF-8 are shown as `\x1b`,
/// and markup characters are escaped.
std::string xml_text(std::string_view text);

/// A rectangle in pixels.
struct Box {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

/// The alignment of a text at its position.
enum class Anchor { start, middle, end };

/// Writes SVG elements. Texts use a monospaced font, so that their width is known: see
/// `text_width`.
class SvgWriter {
 public:
  /// `corner` is the corner radius; `attributes` are raw XML.
  void add_box(std::string_view css_class, const Box& box, int corner,
               std::string_view attributes = {});
  /// `y` is the base line.
  void add_text(std::string_view css_class, int x, int y, std::string_view text,
                Anchor anchor = Anchor::start);
  /// `data` contains SVG path commands.
  void add_path(std::string_view css_class, std::string_view data);
  /// Groups all elements until `end_group`; `title` (may be empty) is shown when the pointer is
  /// over it.
  void begin_group(std::string_view css_class, std::string_view attributes, std::string_view title);
  void end_group();

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// The maximum width in pixels of this many columns of text in a font of `size` pixels: monospaced
/// fonts advance by 0.6 of their size; a margin is added for wider ones.
int text_width(std::size_t columns, int size);

/// The number of text columns that fit into `pixels`.
std::size_t columns_in(int pixels, int size);

}  // namespace train
