// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/svg_page.hpp"

#include <fmt/format.h>

#include "launcher/picture/columns.hpp"

namespace train {

using namespace svg_size;

namespace {

constexpr int inner_width = page_width - 2 * page_margin;

// Colours and styles shared by all pictures.
constexpr std::string_view common_style = R"svg(<style>
.train-picture { --page: #ffffff; --card: #f6f8fb; --line: #d5dce6; --ink: #17202c; --dim: #5a6778;
  --used: #a8cbfb; --used-line: #4d8be0; --free: #ffffff; --free-line: #b9c4d2;
  --held: #ffd98a; --held-line: #c98d12; --out: #e7ebf0; --out-line: #aab5c3; --first: #1450ae; }
@media (prefers-color-scheme: dark) {
.train-picture { --page: #10151c; --card: #18202a; --line: #2c3846; --ink: #e8eef6; --dim: #9aa8ba;
  --used: #1f549e; --used-line: #5a9bf0; --free: #10151c; --free-line: #465466;
  --held: #7a5710; --held-line: #d9a440; --out: #232d39; --out-line: #3d4a5a; --first: #b5d4ff; } }
.train-picture text { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: 13px; fill: var(--ink); white-space: pre; }
.train-picture .title { font-size: 18px; font-weight: bold; }
.train-picture .small { font-size: 12px; fill: var(--dim); }
.train-picture .page { fill: var(--page); }
.train-picture .card { fill: var(--card); stroke: var(--line); }
</style>
)svg";

}  // namespace

int add_caption(SvgWriter& svg, const PictureCaption& caption) {
  int y = page_margin + title_font;
  svg.add_text("title", page_margin, y,
               shortened(caption.title, columns_in(inner_width, title_font)));
  if (!caption.subtitle.empty()) {
    y += line_height + 4;
    svg.add_text("small", page_margin, y,
                 shortened(caption.subtitle, columns_in(inner_width, small_font)));
  }
  return y + line_height;
}

Box SvgLegend::add_words(SvgWriter& svg, std::string_view words) {
  constexpr int gap = 8;
  constexpr int between_keys = 20;
  const std::string shown =
      shortened(words, columns_in(inner_width - swatch_width - gap, small_font));
  const int width = swatch_width + gap + text_width(count_columns(shown), small_font);
  if (x_ > page_margin && x_ + width > page_width - page_margin) {
    x_ = page_margin;
    y_ += swatch_height + gap;
  }
  const Box swatch{x_, y_, swatch_width, swatch_height};
  svg.add_text("small", x_ + swatch_width + gap, y_ + swatch_height / 2 + 4, shown);
  x_ += width + between_keys;
  return swatch;
}

std::string svg_document(const SvgPage& page, std::string_view drawn) {
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"train-picture {5}\" "
      "viewBox=\"0 0 {1} {2}\" width=\"{1}\" height=\"{2}\" role=\"img\" "
      "aria-labelledby=\"{0}-title {0}-desc\">\n<title id=\"{0}-title\">{3}</title>\n"
      "<desc id=\"{0}-desc\">{4}</desc>\n",
      page.id.empty() ? page.name : page.id, page_width, page.height, xml_text(page.title),
      xml_text(page.description), page.name);
  text += common_style;
  text += page.style;
  text +=
      fmt::format("<rect class=\"page\" width=\"{}\" height=\"{}\"/>\n", page_width, page.height);
  text += drawn;
  return text + "</svg>\n";
}

}  // namespace train
