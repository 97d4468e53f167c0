// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/svg_writer.hpp"

#include <fmt/format.h>

#include "config_schema/text/terminal_text.hpp"

namespace train {
namespace {

constexpr int advance_in_thousandths = 625;

std::string_view anchor_attribute(Anchor anchor) {
  switch (anchor) {
    case Anchor::start:
      return "";
    case Anchor::middle:
      return " text-anchor=\"middle\"";
    case Anchor::end:
      return " text-anchor=\"end\"";
  }
  return "";
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string xml;
  for (const char c : escaped(text)) {
    if (c == '&')
      xml += "&amp;";
    else if (c == '<')
      xml += "&lt;";
    else if (c == '>')
      xml += "&gt;";
    else if (c == '"')
      xml += "&quot;";
    else
      xml += c;
  }
  // The two code points that XML 1.0 excludes, U+FFFE and U+FFFF.
  for (const std::string_view none : {"\xef\xbf\xbe", "\xef\xbf\xbf"})
    for (std::size_t at = xml.find(none); at != xml.npos; at = xml.find(none, at))
      xml.replace(at, none.size(), "\xef\xbf\xbd");
  return xml;
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
                       anchor_attribute(anchor), xml_text(text));
}

void SvgWriter::add_path(std::string_view css_class, std::string_view data) {
  text_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", css_class, data);
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
