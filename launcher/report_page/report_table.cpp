// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_page/report_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/picture/columns.hpp"
#include "launcher/picture/svg_writer.hpp"

namespace train {

namespace {

constexpr std::size_t longest_cell = 400;  // columns of text
constexpr std::size_t long_cell = 60;      // bytes of HTML: longer ones get several lines
constexpr std::size_t most_chart_rows = 1'000;

std::string cell_html(const ReportCell& cell, bool is_number, bool is_head) {
  std::string text = xml_text(shortened(cell.text, longest_cell));
  const bool is_long = text.size() > long_cell;
  if (!cell.target.empty()) text = fmt::format("<a href=\"#{}\">{}</a>", cell.target, text);
  const std::string_view tag = is_head ? "th" : "td";
  return fmt::format("<{0}{1}{2}{3}>{4}</{0}>", tag, is_head ? " scope=\"row\"" : "",
                     is_number ? " class=\"number\""
                     : is_long ? " class=\"long\""
                               : "",
                     cell.key ? fmt::format(" data-key=\"{:.17g}\"", *cell.key) : "", text);
}

// Whether any row has something in this column.
bool is_told(const ReportTable& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [column](const auto& row) { return row[column].text != "-"; });
}

ReportCell number_cell(double value) { return {fmt::format("{:.6g}", value), value}; }

}  // namespace

std::string note_html(std::string_view words) {
  return words.empty() ? "" : fmt::format("<p class=\"note\">{}</p>\n", xml_text(words));
}

std::string scroll_box(std::string_view label, std::string_view html) {
  return fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">{}</div>\n",
      xml_text(label), html);
}

std::string table_to_html(const ReportTable& table) {
  if (table.rows.empty()) return "";
  std::string html = fmt::format("<table class=\"sortable\"><caption>{}</caption>\n<thead><tr>",
                                 xml_text(table.caption));
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (i == 0 || is_told(table, i)) columns.push_back(i);
  for (const std::size_t i : columns)
    html += fmt::format("<th scope=\"col\"{}>{}</th>",
                        table.columns[i].is_number ? " class=\"number\"" : "",
                        xml_text(table.columns[i].name));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (const std::size_t i : columns)
      html += cell_html(row[i], table.columns[i].is_number, i == 0);
    html += "</tr>\n";
  }
  html += "</tbody></table>";
  return scroll_box(table.caption, html) + note_html(table.remark);
}

ReportTable table_of(const MetricChart& chart) {
  ReportTable table{.caption = fmt::format("{} of {}", chart.metric_name, chart.reporters),
                    .columns = {{"of"},
                                {"points", true},
                                {"first " + chart.step_name, true},
                                {"first", true},
                                {"last " + chart.step_name, true},
                                {"last", true},
                                {"least", true},
                                {"most", true}},
                    .rows = {}};
  for (const ChartLine& line : chart.lines) {
    if (table.rows.size() == most_chart_rows) break;
    const auto [least, most] = std::minmax_element(
        line.points.begin(), line.points.end(),
        [](const ChartPoint& a, const ChartPoint& b) { return a.metric < b.metric; });
    const auto count = static_cast<double>(line.points.size());
    table.rows.push_back({{line.name},
                          number_cell(count),
                          number_cell(line.points.front().step),
                          number_cell(line.points.front().metric),
                          number_cell(line.points.back().step),
                          number_cell(line.points.back().metric),
                          number_cell(least->metric),
                          number_cell(most->metric)});
  }
  if (table.rows.size() < chart.lines.size())
    table.remark =
        fmt::format("{} more are left out of this table.", chart.lines.size() - table.rows.size());
  return table;
}

}  // namespace train
