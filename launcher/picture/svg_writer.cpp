// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/svg_writer.hpp"

#include <fmt/format.h>

#include "config_schema/text.hpp"
#include "launcher/output/line_splitter.hpp"

namespace train {
namespace {

constexpr int advance_in_thousandths = 625;

// Bytes that are no UTF-8, and the two code points beside it that XML 1.0 leaves out.
std::string as_utf8(std::string_view text) {
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  std::string valid;
  while (!text.empty()) {
    std::size_t length = 1;
    while (length < 4 && length < text.size() && find_no_text(text.substr(0, length))) ++length;
    const std::string_view character = text.substr(0, length);
    const bool is_no_character = character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";
    if (find_no_text(character)) length = 1;
    valid += is_no_character || find_no_text(text.substr(0, length)) ? replacement
                                                                     : text.substr(0, length);
    text.remove_prefix(length);
  }
  return valid;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string escaped;
  for (const char c : as_utf8(for_terminal(text))) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else
      escaped += c;
  }
  return escaped;
}

void SvgWriter::add_box(std::string_view css_class, const Box& box, int corner,
                        std::string_view attributes) {
  text_ += fmt::format(
      "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"{}{}/>\n",
      css_class, box.x, box.y, box.width, box.height, corner, attributes.empty() ? "" : " ",
      attributes);
}

void SvgWriter::add_text(std::string_view css_class, int x, int y, std::string_view text,
                         Anchor anchor) {
  text_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\"{}>{}</text>\n", css_class, x, y,
                       anchor == Anchor::middle ? " text-anchor=\"middle\"" : "", xml_text(text));
}

void SvgWriter::begin_group(std::string_view css_class, std::string_view attributes,
                            std::string_view title) {
  text_ +=
      fmt::format("<g class=\"{}\"{}{}>", css_class, attributes.empty() ? "" : " ", attributes);
  if (!title.empty()) text_ += fmt::format("<title>{}</title>", xml_text(title));
  text_ += '\n';
}

void SvgWriter::end_group() { text_ += "</g>\n"; }

int text_width(std::size_t columns, int size) {
  return static_cast<int>(columns) * size * advance_in_thousandths / 1000 + 1;
}

std::size_t columns_in(int pixels, int size) {
  return static_cast<std::size_t>(pixels * 1000 / (size * advance_in_thousandths));
}

}  // namespace train
