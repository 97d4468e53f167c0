// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/duration.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/picture/columns.hpp"
#include "launcher/picture/picture_svg.hpp"
#include "launcher/picture/rank_table.hpp"
#include "launcher/plan/summaries.hpp"
#include "launcher/rendezvous/rank_environment.hpp"

namespace train {
namespace {

// Breaks at spaces; later lines are indented. Words longer than a line are shortened.
std::string wrapped(const std::string& line, std::size_t width, Paint paint,
                    const TextOptions& options) {
  constexpr std::size_t indent = 2;
  std::string text;
  std::string current;
  std::size_t columns = 0;
  bool is_begun = false;  // `current` has a word
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
    text += wrapped(escaped(fmt::format("{}: {}", kind, remark)), width, paint, options);
  return text;
}

// On one line, with its place and the next step: "hosts:3: ...; name it once".
std::string warning_line(const Diagnostic& warning) {
  std::string text;
  if (!warning.place.source.empty()) text += warning.place.source + ":";
  if (warning.place.line > 0) text += fmt::format("{}:", warning.place.line);
  if (warning.place.line > 0 && warning.place.column > 0)
    text += fmt::format("{}:", warning.place.column);
  if (!text.empty()) text += ' ';
  text += warning.message;
  if (!warning.hint.empty()) text += "; " + warning.hint;
  return text;
}

// "4 per slot", or "12 or 13 per worker" if shares differ.
std::string shares_text(const Trial& trial) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  for (const PlannedRank& rank : trial.ranks) {
    const PlannedHost& host = trial.hosts[rank.host];
    const auto workers = static_cast<std::uint64_t>(host.worker_count / host.rank_count);
    const std::uint64_t size = rank.batch_size.value_or(0);
    least = std::min(least, size / workers);
    most = std::max(most, (size + workers - 1) / workers);
  }
  if (least >= most) return fmt::format("{} per slot", trial.per_slot_batch_size.value_or(0));
  return fmt::format("{} {} {} per worker", least, most - least == 1 ? "or" : "to", most);
}

}  // namespace

std::string plan_title(const Plan& plan, std::size_t hosts) {
  const Trial& trial = plan.trial;
  const std::size_t used = trial.hosts.size();
  const std::string name =
      plan.experiment.name.empty() ? "experiment" : escaped(plan.experiment.name);
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
  return line + ", " + shares_text(trial);
}

std::string trials_line(const Plan& plan) {
  if (!plan.trials) return {};
  const TrialCounts& trials = *plan.trials;
  using Limit = TrialCounts::Limit;
  std::string line = fmt::format("{}", trials.at_once);
  if (trials.trials) line += fmt::format(" of {}", *trials.trials);
  const char* least = trials.is_at_least ? "at least " : "";
  if (trials.limit == Limit::hosts)
    return fmt::format("{}{} at once, as many as fit these hosts; shown is the first", least, line);
  const char* why = trials.limit == Limit::max_concurrent_trials ? "max_concurrent_trials"
                    : trials.limit == Limit::max_slots           ? "max_slots"
                                                                 : "all of them";
  return fmt::format("{} at once ({}; {}{} would fit); shown is the first", line, why, least,
                     trials.fit);
}

std::string checkpoints_line(const Plan& plan) {
  const CheckpointStorage& checkpoints = plan.experiment.checkpoints;
  if (checkpoints.json.empty()) return {};
  if (checkpoints.directory.empty()) return "where TRAIN_CHECKPOINT_STORAGE says";
  return escaped(checkpoint_directory(plan.experiment, "TASK", plan.trial.trial));
}

std::string restarts_line(const Plan& plan) {
  const ExperimentConfig& experiment = plan.experiment;
  if (experiment.max_restarts == 0) return {};
  std::string line = fmt::format("up to {} after failures", experiment.max_restarts);
  if (!experiment.written.keys.contains("max_restarts"))
    line += " (Determined's default for a file with checkpoint_storage; max_restarts changes it)";
  return line;
}

std::string end_line(const Plan& plan) {
  const ExperimentConfig& experiment = plan.experiment;
  if (!experiment.max_runtime) return {};
  return fmt::format("stopped {} after its ranks have started, restarts included",
                     short_duration_text(*experiment.max_runtime));
}

// How ranks are stopped, if it differs from the defaults.
std::string stop_line(const Plan& plan) {
  const ExperimentConfig& experiment = plan.experiment;
  const bool has_notice = experiment.stop_notice > std::chrono::milliseconds(0);
  if (!has_notice && experiment.stop_signal == ExperimentConfig().stop_signal) return {};
  std::string line = has_notice ? fmt::format("TRAIN_STOP_FILE appears, {} later ",
                                              short_duration_text(experiment.stop_notice))
                                : std::string();
  return line + fmt::format("SIG{}, {} later SIGKILL", experiment.stop_signal,
                            short_duration_text(experiment.stop_grace));
}

std::string slices_line(const Plan& plan) {
  constexpr std::size_t most = 4;
  const std::vector<PlannedSlice>& slices = plan.trial.slices;
  std::string line;
  for (std::size_t i = 0; i < slices.size() && i < most; ++i) {
    std::vector<std::string> names;
    for (const int host : slices[i].hosts) names.push_back(plan.trial.hosts[host].host.name);
    line += fmt::format("{}{}: {}", line.empty() ? "" : ", ", escaped(slices[i].name),
                        summarize_hosts(names, 2));
  }
  return slices.size() > most ? line + fmt::format(", and {} more", slices.size() - most) : line;
}

std::string context_line(const std::optional<PlannedContext>& context) {
  if (!context) return {};
  return fmt::format("{}: {}, {} bytes, sha256 {:.12}", escaped(context->directory),
                     counted(fmt::format("{}", context->files), "file"), context->bytes,
                     context->sha256);
}

std::vector<std::string> warning_lines(const Plan& plan,
                                       const std::optional<PlannedContext>& context) {
  std::vector<std::string> lines;
  for (const Diagnostic& warning : plan.warnings) lines.push_back(warning_line(warning));
  if (context) lines.insert(lines.end(), context->warnings.begin(), context->warnings.end());
  return lines;
}

std::string plan_to_text(const PictureSubject& subject, const TextOptions& options,
                         const std::optional<PlannedContext>& context) {
  const Plan& plan = subject.plan;
  const auto width = static_cast<std::size_t>(std::max(40, options.width));
  const auto height = static_cast<std::size_t>(std::max(24, options.height));
  const auto lines_of = [](const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  std::string below;
  const auto add_below = [&](const std::string& what, const std::string& line) {
    if (!line.empty())
      below += wrapped(fmt::format("{}: {}", what, line), width, Paint::title, options);
  };
  add_below("batch", batch_line(plan));
  add_below("slices", slices_line(plan));
  add_below("trials", trials_line(plan));
  for (const PlanLine& line : search_lines(plan)) add_below(line.what, line.text);
  add_below("context", context_line(context));
  add_below("checkpoints", checkpoints_line(plan));
  add_below("restarts", restarts_line(plan));
  add_below("end", end_line(plan));
  add_below("stop", stop_line(plan));
  std::string text =
      wrapped(plan_title(plan, subject.named.hosts.size()), width, Paint::title, options) + "\n";
  const std::string said =
      remarks("warning", warning_lines(plan, context), width, Paint::warning, options) +
      remarks("advice", plan.advice, width, Paint::advice, options);
  // Remarks reduce the space for picture and table, up to a limit. The table gets the rest.
  constexpr std::size_t headings = 4;
  const std::size_t said_lines = std::min(lines_of(said), height / 3);
  const std::size_t other_lines = lines_of(text + below) + said_lines + headings;
  PictureSubject drawn = subject;
  drawn.most_rows = (height - std::min(height, other_lines)) * 2 / 5;
  text += picture_to_text(draw_cluster(drawn), options) + "\n";
  const std::size_t taken = lines_of(text + below) + said_lines;
  return text + ranks_to_text(plan.trial, height - std::min(height, taken), width) + below + said;
}

std::string plan_to_svg(const PictureSubject& subject) {
  PictureSubject drawn = subject;
  drawn.most_rows = 40;
  std::string subtitle;
  const auto add = [&subtitle](const char* what, const std::string& line) {
    if (!line.empty())
      subtitle += fmt::format("{}{}: {}", subtitle.empty() ? "" : "; ", what, line);
  };
  add("batch", batch_line(subject.plan));
  add("slices", slices_line(subject.plan));
  add("trials", trials_line(subject.plan));
  const PictureCaption caption{.title = plan_title(subject.plan, subject.named.hosts.size()),
                               .subtitle = std::move(subtitle)};
  return picture_to_svg(draw_cluster(drawn), caption);
}

}  // namespace train
