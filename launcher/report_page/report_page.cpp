// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_page/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "config_schema/text/text.hpp"
#include "launcher/picture/picture_svg.hpp"
#include "launcher/picture/svg_writer.hpp"
#include "launcher/report_page/page_assets.hpp"
#include "launcher/report_page/report_log.hpp"
#include "launcher/report_page/report_table.hpp"
#include "launcher/report_page/time_line.hpp"

namespace train {

namespace {

constexpr std::size_t most_charts_bytes = 4u << 20;
constexpr std::size_t most_experiment_bytes = 256u << 10;
constexpr std::size_t most_names = 1'000;

// The state in words and as a mark, so that its colour alone tells nothing.
struct OutlookLook {
  std::string_view css_class;
  std::string_view mark;
};
OutlookLook look_of(ReportOutlook outlook) {
  switch (outlook) {
    case ReportOutlook::unfinished:
      return {"unfinished", "\xe2\x80\xa6"};
    case ReportOutlook::good:
      return {"good", "\xe2\x9c\x93"};
    case ReportOutlook::bad:
      return {"bad", "\xc3\x97"};
  }
  return {"unfinished", "\xe2\x80\xa6"};
}

// Lines of text, each escaped by itself: `xml_text` would escape their ends.
std::string lines_html(std::string_view text) {
  std::string html;
  for (const std::string& line : split_lines(text))
    html += (html.empty() ? "" : "\n") + xml_text(line);
  return html;
}

std::string head_html(const ReportHead& head) {
  const OutlookLook look = look_of(head.outlook);
  std::string html = fmt::format(
      "<header>\n<h1>{} <span class=\"id\">{}</span></h1>\n<p class=\"ending {}\"><span "
      "class=\"state\"><span aria-hidden=\"true\">{}</span> {}</span> {}</p>\n",
      xml_text(head.name), xml_text(head.id), look.css_class, look.mark, xml_text(head.state),
      xml_text(head.ending));
  if (!head.errors.empty()) {
    const std::string label = "Last lines of standard error of " + head.culprit;
    html += fmt::format("<h2>{0}</h2>\n<pre class=\"errors\" tabindex=\"0\" aria-label=\"{0}\">\n",
                        xml_text(label));
    for (const std::string& line : head.errors) html += xml_text(line) + "\n";
    html += "</pre>\n";
  }
  if (!head.next.empty()) {
    html += "<h2>Next</h2>\n<ul class=\"next\">";
    for (const std::string& command : head.next)
      html += fmt::format("<li><code>{}</code></li>", xml_text(command));
    html += "</ul>\n";
  }
  html += "<h2>Facts</h2>\n<dl>\n";
  for (const ReportFact& fact : head.facts)
    html += fact.is_code
                ? fmt::format("<div class=\"wide\"><dt>{}</dt><dd><code>{}</code></dd></div>\n",
                              xml_text(fact.name), lines_html(fact.value))
                : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", xml_text(fact.name),
                              xml_text(fact.value));
  return html + "</dl>\n</header>\n";
}

std::string placement_html(const TaskReport& report) {
  if (!report.placement) return "";
  return scroll_box(
      "Placement of the ranks",
      picture_to_svg(*report.placement, {report.head.name, "The ranks of the last attempt."}));
}

// `id` begins the ids of the charts.
std::string charts_html(const std::vector<MetricChart>& charts, std::string_view id,
                        std::string_view remark) {
  std::string html;
  std::size_t drawn = 0;
  for (const MetricChart& each : charts) {
    if (html.size() > most_charts_bytes) break;
    MetricChart chart = each;
    chart.id = fmt::format("{}-{}", id, drawn++);
    html += fmt::format("<h3>{}</h3>\n", xml_text(chart.metric_name));
    html += scroll_box(chart.metric_name + ", chart", chart_to_svg(chart));
    html += "<details><summary>The same as a table</summary>\n" + table_to_html(table_of(chart)) +
            "</details>\n";
  }
  if (drawn < charts.size())
    html += note_html(fmt::format("{} more metrics are left out.", charts.size() - drawn));
  return html + (html.empty() ? "" : note_html(remark));
}

std::string experiment_html(const std::string& text) {
  if (text.empty()) return "";
  std::string html =
      fmt::format("<pre tabindex=\"0\" aria-label=\"The experiment\">\n{}</pre>\n",
                  lines_html(std::string_view(text).substr(0, most_experiment_bytes)));
  if (text.size() > most_experiment_bytes)
    html +=
        note_html(fmt::format("{} more bytes are left out.", text.size() - most_experiment_bytes));
  return html;
}

std::string environment_html(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string html = "<ul class=\"names\">";
  for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i)
    html += fmt::format("<li><code>{}</code></li>\n", xml_text(names[i]));
  html += "</ul>\n";
  if (names.size() > most_names)
    html += note_html(fmt::format("{} more are left out.", names.size() - most_names));
  return html;
}

// Collects the sections, as far as they fit.
class PageWriter {
 public:
  explicit PageWriter(std::size_t room) : room_(room) {}

  void add_section(std::string_view id, std::string_view heading, std::string_view html) {
    if (html.empty()) return;
    contents_ += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", id, heading);
    sections_ += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-heading\">\n<h2 "
        "id=\"{0}-heading\">{1}</h2>\n",
        id, heading);
    if (html.size() > room_) {
      sections_ += note_html("This is left out: the page would be too large.");
    } else {
      sections_ += html;
      room_ -= html.size();
    }
    sections_ += "</section>\n";
  }

  std::string take() && {
    if (sections_.empty()) return "<main></main>\n";
    return fmt::format("<nav aria-label=\"Sections\"><ul>\n{}</ul></nav>\n<main>\n{}</main>\n",
                       contents_, sections_);
  }

 private:
  std::size_t room_;
  std::string contents_;
  std::string sections_;
};

std::string document_begin(const ReportHead& head) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{} {}: {}</title>\n<style>{}</style>\n</head>\n<body>\n",
      page_script_sha256(), xml_text(head.name), xml_text(head.id), xml_text(head.state),
      page_style());
}

}  // namespace

std::string report_page(const TaskReport& report) {
  std::string html = document_begin(report.head) + head_html(report.head);
  const std::string end =
      fmt::format("<footer>{}</footer>\n<script>{}</script>\n</body>\n</html>\n",
                  xml_text(report.made), page_script());
  constexpr std::size_t headings = 16u << 10;
  const std::size_t used = html.size() + end.size() + headings;
  PageWriter page(longest_report_page - std::min(longest_report_page, used));
  page.add_section("time", "Time line",
                   time_line_to_html(report.time_line) + table_to_html(report.events));
  page.add_section("placement", "Placement", placement_html(report));
  page.add_section("start", report.start_heading,
                   time_line_to_html(report.start) + table_to_html(report.starts));
  page.add_section("metrics", "Metrics",
                   charts_html(report.metrics, "metric", report.metrics_remark));
  page.add_section("usage", "Resources in use", charts_html(report.usage, "usage", ""));
  page.add_section("trials", "Trials", table_to_html(report.trials));
  page.add_section("ranks", "Ranks", table_to_html(report.ranks));
  page.add_section(
      "logs", "Logs",
      report.logs.empty() ? "" : note_html(report.logs_remark) + logs_to_html(report.logs));
  page.add_section("experiment", "Experiment", experiment_html(report.experiment));
  page.add_section("environment", "Environment of rank 0, by name",
                   environment_html(report.environment));
  return html + std::move(page).take() + end;
}

}  // namespace train
