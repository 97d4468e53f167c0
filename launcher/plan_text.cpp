// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/hosts_summary.hpp"
#include "launcher/output/line_splitter.hpp"
#include "launcher/picture/columns.hpp"
#include "launcher/picture/rank_table.hpp"

namespace train {
namespace {

// Breaks at spaces; lines after the first are indented. Words longer than a line are shortened.
std::string wrapped(const std::string& line, std::size_t width, Paint paint,
                    const TextOptions& options) {
  constexpr std::size_t indent = 2;
  std::string text;
  std::string current;
  std::size_t columns = 0;
  bool is_begun = false;  // `current` holds a word
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t space = std::min(line.find(' ', begin), line.size());
    const std::string word = shortened(line.substr(begin, space - begin), width - indent);
    const std::size_t wide = count_columns(word);
    if (is_begun && columns + 1 + wide > width) {
      text += painted(current, paint, options) + "\n";
      current.assign(indent, ' ');
      columns = indent;
      is_begun = false;
    }
    current += (is_begun ? " " : "") + word;
    columns += wide + (is_begun ? 1 : 0);
    is_begun = true;
    begin = space + 1;
  }
  return text + painted(current, paint, options) + "\n";
}

std::string remarks(const char* kind, const std::vector<std::string>& said, std::size_t width,
                    Paint paint, const TextOptions& options) {
  std::string text = said.empty() ? "" : "\n";
  for (const std::string& remark : said)
    text += wrapped(for_terminal(fmt::format("{}: {}", kind, remark)), width, paint, options);
  return text;
}

}  // namespace

std::string plan_title(const Plan& plan, std::size_t hosts) {
  const Trial& trial = plan.trial;
  const std::size_t used = trial.hosts.size();
  const std::string name =
      plan.experiment.name.empty() ? "experiment" : for_terminal(plan.experiment.name);
  std::string title =
      fmt::format("{}: {} on {}", name, counted(fmt::format("{}", trial.world_size), "rank"),
                  used == hosts ? counted(fmt::format("{}", used), "host")
                                : fmt::format("{} of {} hosts", used, hosts));
  if (!trial.slots.is_zero()) title += ", " + counted(to_string(trial.slots), "slot");
  if (plan.experiment.processes == Processes::per_host)
    title += fmt::format(", one process a host for {}",
                         counted(fmt::format("{}", plan.experiment.workers), "worker"));
  return title;
}

std::string batch_line(const Plan& plan) {
  const Trial& trial = plan.trial;
  if (!trial.global_batch_size) return {};
  std::string line = fmt::format("global {}, the ranks take {}", *trial.global_batch_size,
                                 trial.batch_sum.value_or(0));
  const int steps = plan.experiment.aggregation_frequency;
  line += steps == 1 ? fmt::format(", effective {}", trial.effective_batch_size.value_or(0))
                     : fmt::format(", effective {} (x {} aggregation_frequency)",
                                   trial.effective_batch_size.value_or(0), steps);
  return line + fmt::format(", {} per slot", trial.per_slot_batch_size.value_or(0));
}

std::string plan_to_text(const PictureSubject& subject, const TextOptions& options) {
  const Plan& plan = subject.plan;
  const auto width = static_cast<std::size_t>(std::max(40, options.width));
  const auto height = static_cast<std::size_t>(std::max(24, options.height));
  constexpr std::size_t other_lines = 9;  // title, headings, legend, batch, and lines between
  const std::size_t picture_lines = (height - other_lines) * 2 / 5;
  PictureSubject drawn = subject;
  drawn.most_rows = picture_lines;
  std::string text =
      wrapped(plan_title(plan, subject.named.hosts.size()), width, Paint::title, options);
  text += "\n" + picture_to_text(draw_cluster(drawn), options);
  text += "\n" + ranks_to_text(plan.trial, height - other_lines - picture_lines, width);
  if (const std::string batch = batch_line(plan); !batch.empty())
    text += wrapped("batch: " + batch, width, Paint::title, options);
  text += remarks("warning", plan.warnings, width, Paint::warning, options);
  text += remarks("advice", plan.advice, width, Paint::advice, options);
  return text;
}

}  // namespace train
