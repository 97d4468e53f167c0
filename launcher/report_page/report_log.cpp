// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_page/report_log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/picture/svg_writer.hpp"

namespace train {

namespace {

constexpr std::size_t culprit_share = 1u << 20;
constexpr std::size_t all_shares = 6u << 20;
constexpr std::size_t least_share = 2u << 10;
constexpr std::size_t largest_share = 64u << 10;

char mark_of(ReportLine::Source source) {
  switch (source) {
    case ReportLine::Source::out:
      return '|';
    case ReportLine::Source::err:
      return '!';
    case ReportLine::Source::note:
      return '-';
  }
  return '-';
}

std::string name_of(const ReportLog& log) {
  std::string name = log.trial ? fmt::format("trial {}, rank {}", *log.trial, log.rank)
                               : fmt::format("rank {}", log.rank);
  if (!log.host.empty()) name += " on " + log.host;
  return name;
}

// The fields are shown by the script: without it they would do nothing.
constexpr std::string_view filter_begin = R"html(<form id="log-filter" role="search" hidden>
<label>Text <input type="search" name="text" autocomplete="off" spellcheck="false"></label>
<label>Stream <select name="stream"><option value="">both</option><option value="!">stderr</option>
<option value="|">stdout</option></select></label>
<label>Ranks <input name="ranks" placeholder="0,4-7" size="8" autocomplete="off"></label>
)html";
constexpr std::string_view trial_field =
    "<label>Trials <input name=\"trials\" placeholder=\"0,4-7\" size=\"8\" "
    "autocomplete=\"off\"></label>\n";
constexpr std::string_view filter_end =
    "<output id=\"log-count\" aria-live=\"polite\"></output>\n</form>\n";

}  // namespace

std::string log_id(std::optional<int> trial, int rank) {
  return trial ? fmt::format("log-{}-{}", *trial, rank) : fmt::format("log-{}", rank);
}

std::size_t log_share(std::size_t logs, bool is_culprit) {
  if (is_culprit) return culprit_share;
  return std::clamp(all_shares / std::max<std::size_t>(1, logs), least_share, largest_share);
}

std::string log_to_html(const ReportLog& log, std::size_t share) {
  std::vector<std::string> shown;  // from the last line on
  std::size_t bytes = 0;
  std::uint64_t left_out = log.left_out;
  for (auto line = log.lines.rbegin(); line != log.lines.rend(); ++line) {
    std::string html =
        fmt::format("{} {} {}\n", line->clock, mark_of(line->source), xml_text(line->text));
    if (bytes + html.size() > share) {
      for (; line != log.lines.rend(); ++line) left_out += line->text.size() + 1;
      break;
    }
    bytes += html.size();
    shown.push_back(std::move(html));
  }
  std::string html = fmt::format(
      "<details class=\"log\" id=\"{}\" data-rank=\"{}\"{}{}>\n<summary>{}{}<span "
      "class=\"hits\"></span>"
      "</summary>\n",
      log_id(log.trial, log.rank), log.rank,
      log.trial ? fmt::format(" data-trial=\"{}\"", *log.trial) : "", log.is_culprit ? " open" : "",
      xml_text(name_of(log)),
      log.ended.empty() ? "" : fmt::format(" <span class=\"dim\">{}</span>", xml_text(log.ended)));
  if (left_out > 0)
    html +=
        fmt::format("<p class=\"note\">The first {} bytes are left out; all: <code>{}</code></p>\n",
                    left_out, xml_text(log.command));
  if (shown.empty()) return html + "<p class=\"note\">Nothing is shown.</p></details>\n";
  html += fmt::format("<pre tabindex=\"0\" aria-label=\"{}\">\n",
                      xml_text("output of " + name_of(log)));
  for (auto line = shown.rbegin(); line != shown.rend(); ++line) html += *line;
  return html + "</pre></details>\n";
}

std::string logs_to_html(const std::vector<ReportLog>& logs) {
  if (logs.empty()) return "";
  const std::size_t count = std::min(logs.size(), most_report_logs);
  const bool has_trials = std::any_of(logs.begin(), logs.end(),
                                      [](const ReportLog& log) { return log.trial.has_value(); });
  std::string html(filter_begin);
  if (has_trials) html += trial_field;
  html += filter_end;
  html +=
      "<p class=\"note\">After the time of a line, <code>|</code> is standard output, "
      "<code>!</code> "
      "standard error, and <code>-</code> a remark of train.</p>\n<div id=\"log-list\">\n";
  for (std::size_t i = 0; i < count; ++i)
    html += log_to_html(logs[i], log_share(count, logs[i].is_culprit));
  return html + "</div>\n";
}

}  // namespace train
