// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/svg_writer.hpp"

#include <fmt/format.h>

#include "config_schema/text/terminal_text.hpp"

namespace train {
namespace {

constexpr int advance_in_thousandths = 625;

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
  // The two code points that XML 1.0 leaves out, U+FFFE and U+FFFF.
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

const std::string_view svg_style = R"svg(<style>
.train-plan { --page: #ffffff; --card: #f6f8fb; --line: #d5dce6; --ink: #17202c; --dim: #5a6778;
  --used: #a8cbfb; --used-line: #4d8be0; --free: #ffffff; --free-line: #b9c4d2;
  --held: #ffd98a; --held-line: #c98d12; --out: #e7ebf0; --out-line: #aab5c3; --first: #1450ae; }
@media (prefers-color-scheme: dark) {
.train-plan { --page: #10151c; --card: #18202a; --line: #2c3846; --ink: #e8eef6; --dim: #9aa8ba;
  --used: #1f549e; --used-line: #5a9bf0; --free: #10151c; --free-line: #465466;
  --held: #7a5710; --held-line: #d9a440; --out: #232d39; --out-line: #3d4a5a; --first: #b5d4ff; } }
.train-plan text { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: 13px; fill: var(--ink); white-space: pre; }
.train-plan .title { font-size: 18px; font-weight: bold; }
.train-plan .host { font-weight: bold; }
.train-plan .small, .train-plan .remark { font-size: 12px; fill: var(--dim); }
.train-plan .page { fill: var(--page); }
.train-plan .card, .train-plan .behind { fill: var(--card); stroke: var(--line); }
.train-plan .used { fill: var(--used); stroke: var(--used-line); }
.train-plan .free { fill: var(--free); stroke: var(--free-line); stroke-dasharray: 3 2; }
.train-plan .held { fill: var(--held); stroke: var(--held-line); }
.train-plan .excluded { fill: var(--out); stroke: var(--out-line); }
.train-plan .part { fill: var(--free); }
.train-plan .share { fill: var(--used); }
.train-plan .other { fill: var(--held); }
.train-plan .hatch { fill: url(#train-plan-hatch); pointer-events: none; }
.train-plan .hatch-line { stroke: var(--out-line); stroke-width: 1; }
.train-plan .idle { fill: var(--dim); font-weight: normal; }
.train-plan .accent { fill: var(--used-line); }
.train-plan .first-key { stroke: var(--first); stroke-width: 2; }
.train-plan .first { fill: none; stroke: var(--first); stroke-width: 2; pointer-events: none; }
</style>
<defs><pattern id="train-plan-hatch" width="6" height="6" patternUnits="userSpaceOnUse"
patternTransform="rotate(45)"><path class="hatch-line" d="M 0 0 V 6"/></pattern></defs>
)svg";

}  // namespace train
