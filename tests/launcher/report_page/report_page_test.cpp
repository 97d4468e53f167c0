// SPDX-License-Identifier: Apache-2.0
// What a page says, and that nothing from outside becomes a part of it; tests/browser looks at it.
#include "launcher/report_page/report_page.hpp"

#include "launcher/report_page/page_assets.hpp"
#include "launcher/report_page/report_log.hpp"
#include "launcher/report_page/report_table.hpp"
#include "launcher/report_page/time_line.hpp"
#include "tests/catch.hpp"
#include "tests/contains.hpp"
#include "tests/launcher/report_page/some_report.hpp"

using namespace train;
using train::testing::contains;

namespace {

std::size_t occurrences(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

constexpr const char* hostile = "</script></pre><script>alert(1)</script><b a=\"'&\x1b[31m\n\xff";

}  // namespace

TEST_CASE("a page has a section for each thing that is known, with a link to it") {
  const std::string page = report_page(some_failed_report(16, 3));
  for (const char* section :
       {"time", "placement", "metrics", "ranks", "logs", "experiment", "environment"}) {
    CHECK(contains(page, fmt::format("<section id=\"{}\"", section)));
    CHECK(contains(page, fmt::format("<a href=\"#{}\">", section)));
  }
  CHECK(!contains(page, "<section id=\"trials\""));
  CHECK(contains(page, "rank 3 on node00 exited with code 1 (exit 1)"));
  CHECK(contains(page, "Last lines of standard error of rank 3 on node00"));
  CHECK(contains(page, "<li><code>train task rerun abcd2345</code></li>"));
  CHECK(contains(report_page(some_search_report(3, 1)), "<section id=\"trials\""));
}

TEST_CASE("of a task of which only the head is known, a page has the head alone") {
  TaskReport report;
  report.head = some_failed_report(1, 0).head;
  const std::string page = report_page(report);
  CHECK(!contains(page, "<section"));
  CHECK(!contains(page, "<nav"));
  CHECK(contains(page, "<h1>digits <span class=\"id\">abcd2345</span></h1>"));
}

TEST_CASE("text from outside is text in every part of a page") {
  TaskReport report = some_failed_report(2, 1);
  report.head.name = report.head.state = report.head.ending = report.head.culprit = hostile;
  report.head.next = report.head.errors = {hostile};
  report.head.facts = {{hostile, hostile, true}};
  report.time_line.rows[0].name = report.time_line.rows[0].remark = hostile;
  report.time_line.rows[0].bars[0].words = report.time_line.remark = hostile;
  report.ranks.caption = report.ranks.remark = report.ranks.columns[0].name = hostile;
  report.ranks.rows[0][0].text = hostile;
  report.metrics[0].metric_name = report.metrics[0].lines[0].name = hostile;
  report.metrics[0].lines[0].remark = report.metrics[0].step_name = hostile;
  report.metrics_remark = report.logs_remark = report.experiment = report.made = hostile;
  report.placement->rows[0].hosts[0] = hostile;
  report.environment = {hostile};
  report.logs[0].host = report.logs[0].ended = report.logs[0].lines[0].text = hostile;
  report.logs[0].command = hostile;
  report.logs[0].left_out = 1;
  const std::string page = report_page(report);
  CHECK(occurrences(page, "<script>") == 1);
  CHECK(occurrences(page, "</script>") == 1);
  CHECK(!contains(page, "<b a="));
  CHECK(!contains(page, "\x1b"));
  CHECK(!contains(page, "\xff"));
  CHECK(contains(page, "&lt;/script&gt;"));
  CHECK(contains(page, "\\x1b[31m"));
}

TEST_CASE("a page loads nothing, and runs no script but its own") {
  const std::string page = report_page(some_failed_report(4, 3));
  CHECK(contains(page, "default-src 'none'"));
  CHECK(contains(page, fmt::format("script-src 'sha256-{}'", page_script_sha256())));
  CHECK(page_script_sha256().size() == 44);
  for (const char* external : {" src=", "url(http", "@import", "<link", " onclick="})
    CHECK(!contains(page, external));
  CHECK(contains(page, fmt::format("<script>{}</script>", page_script())));
}

TEST_CASE("ids are unique, also with several charts") {
  const std::string page = report_page(some_search_report(4, 3));
  CHECK(occurrences(page, "id=\"metric-0-title\"") == 1);
  CHECK(occurrences(page, "id=\"metric-2-title\"") == 1);
  CHECK(!contains(page, "id=\"train-search-title\""));
}

TEST_CASE("a page is bounded, whatever was written and reported") {
  TaskReport report = some_failed_report(2'000, 1);
  const std::string binary(4'000, '\x01');  // four times as long when it is shown
  for (ReportLog& log : report.logs)
    log.lines.assign(
        60, {.source = ReportLine::Source::out, .clock = "11-24 15:50:01", .text = binary});
  const TaskReport search = some_search_report(2'000, 24);
  report.metrics = search.metrics;
  report.trials = search.trials;
  report.experiment = std::string(4u << 20, '&');
  const std::string page = report_page(report);
  CHECK(page.size() <= longest_report_page);
  CHECK(page.ends_with("</html>\n"));
  CHECK(contains(page, "more metrics are left out."));
}

TEST_CASE("what does not fit is named in its place") {
  TaskReport report = some_failed_report(1, 1);
  const std::vector<ReportCell> row(5, ReportCell{std::string(390, 'x')});
  report.ranks.rows.assign(20'000, row);
  const std::string page = report_page(report);
  CHECK(page.size() <= longest_report_page);
  CHECK(contains(page, "This is left out: the page would be too large."));
  CHECK(contains(page, "<section id=\"logs\""));
}

TEST_CASE("a log is cut at its front, and says by how much and what prints all") {
  const ReportLog log = some_log(std::nullopt, 7, 100);
  const std::string all = log_to_html(log, 1u << 20);
  CHECK(!contains(all, "left out"));
  CHECK(contains(all, "11-24 15:50:01 | step 0 of rank 7"));
  CHECK(contains(all, "11-24 15:50:01 ! step 4 of rank 7"));
  const std::string cut = log_to_html(log, 1'000);
  CHECK(cut.size() < 1'600);
  CHECK(contains(cut, "step 99 of rank 7"));
  CHECK(!contains(cut, "step 0 of"));
  CHECK(contains(cut, "bytes are left out; all: <code>train task logs abcd2345 --rank 7</code>"));
}

TEST_CASE("the rank that has failed first has more room than others, which share theirs") {
  CHECK(log_share(512, true) == 1u << 20);
  CHECK(log_share(512, false) == 12u << 10);
  CHECK(log_share(1, false) == 64u << 10);
  CHECK(log_share(100'000, false) == 2u << 10);
}

TEST_CASE("a table has keys to sort by, and heads of columns and rows") {
  ReportTable table{.caption = "Ranks",
                    .columns = {{"rank", true}, {"CPUs"}, {"log"}},
                    .rows = {{{"3", 3}, {"-"}, {"log", {}, "log-3"}}},
                    .remark = "others are left out"};
  const std::string html = table_to_html(table);
  CHECK(contains(html, "<th scope=\"col\" class=\"number\">rank</th>"));
  CHECK(contains(html, "<th scope=\"row\" class=\"number\" data-key=\"3\">3</th>"));
  CHECK(contains(html, "<a href=\"#log-3\">log</a>"));
  CHECK(contains(html, "others are left out"));
  CHECK(!contains(html, "CPUs"));
  table.rows.clear();
  CHECK(table_to_html(table).empty());
}

TEST_CASE("a time line says in words what its bars are, and bars that overlap get lanes") {
  TimeLine line{.rows = {{"trials",
                          "",
                          {{TimeBar::Kind::running, 0, 100, "trial 0"},
                           {TimeBar::Kind::failed, 50, 100, "trial 1", true},
                           {TimeBar::Kind::stopped, 100, 200, "trial 2"}}}},
                .remark = {}};
  const std::string html = time_line_to_html(line);
  CHECK(contains(html, "aria-label=\"trials: trial 0; trial 1; trial 2\""));
  CHECK(contains(html, "height=\"36\""));
  CHECK(contains(html, "<title>trial 1</title><rect x=\"25.000%\""));
  CHECK(contains(html, "</svg> stopped early</li>"));
  CHECK(!contains(html, "</svg> starting</li>"));
  CHECK(time_line_to_html({}).empty());
}

TEST_CASE("the start of a bar is a part of it") {
  const TimeLine line{.rows = {{"trials",
                                "",
                                {{.kind = TimeBar::Kind::succeeded,
                                  .begin = 1'000,
                                  .end = 3'000,
                                  .words = "trial 0",
                                  .started = 1'500}}}},
                      .remark = {}};
  const std::string html = time_line_to_html(line);
  CHECK(contains(html, "<rect class=\"lead\" x=\"0.000%\" y=\"2\" width=\"25.000%\""));
  CHECK(contains(html, "</svg> starting</li>"));
  CHECK(contains(html, ">1 s</text>"));
}
