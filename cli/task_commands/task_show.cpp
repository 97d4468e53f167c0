// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "backends/posix/files.hpp"
#include "cli/commands/flags.hpp"
#include "cli/show/search_chart.hpp"
#include "cli/show/search_of_task.hpp"
#include "cli/show/task_table.hpp"
#include "cli/show/task_text.hpp"
#include "cli/supervisor/host_inquiry.hpp"
#include "cli/supervisor/task_control.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/task_commands/task_look.hpp"
#include "cli/terminal/picture_file.hpp"
#include "cli/terminal/talk.hpp"
#include "cli/terminal/text_options.hpp"
#include "cli/terminal/watched_text.hpp"
#include "launcher/control/control_talk.hpp"
#include "launcher/record/task_json.hpp"

namespace train {

namespace {

struct TaskShowFlags {
  std::string task;
  bool json = false;
  std::optional<std::string> svg;  ///< also draws the metrics of a search to this file
  bool watch = false;              ///< repeats until it ends or the reader is gone
};

// Lines about its present state, and where it stands what its ranks did when they hung.
std::string news_of(const TaskLook& look) {
  std::string news = describe_now(look.now).text();
  if (!look.hang_file.empty()) news += fmt::format("hang       {}\n", look.hang_file);
  return news;
}

std::string text_of(const TaskLook& look, const TextOptions& options) {
  const UnixMillis now = now_on_the_wall();
  if (!look.is_search()) return task_to_text(look.task, look.events, now, news_of(look), options);
  const auto height = static_cast<std::size_t>(std::max(24, options.height));
  return task_to_text(look.task, outside_of_trials(look.events), now, {}, options) + "\n" +
         search_to_text(**look.search, now, height / 2);
}

// Draws before anything is printed.
Result<void> draw(const std::string& file, const TaskLook& look) {
  if (!look.search) return tl::make_unexpected(look.search.error());
  if (!*look.search) return tl::make_unexpected(no_search(look.task));
  const auto chart = chart_of(look.task, **look.search);
  if (!chart) return tl::make_unexpected(chart.error());
  return write_file(file, chart_to_svg(*chart));
}

// On a terminal, the trials of a search get the whole screen.
std::string watched_text(const TaskLook& look) {
  const auto screen = screen_of_stdout();
  TextOptions options = text_options();
  options.color = false;  // a cut must not hit the middle of a color sequence
  if (!screen || !look.is_search()) return text_of(look, options);
  constexpr std::size_t others = 6;  // lines for the rest
  const UnixMillis now = now_on_the_wall();
  return terminal_text("task {} '{}': {}, {}\n\n", look.task.id, look.task.name,
                       shown_state(look.task), elapsed_text(look.task, now))
             .text() +
         search_to_text(**look.search, now, std::max(screen->lines, 2 * others) - others);
}

// What is shown, without the elapsed time and the resource usage of ranks.
std::string watched_facts(const TaskLook& look) {
  std::string facts = fmt::format("{}\n", shown_state(look.task));
  for (const RecordedEvent& event : look.events) facts += event.words + "\n";
  if (look.is_search()) return facts + search_to_json(**look.search);
  return facts + describe_now(look.now).text();
}

// Repeats until the task has ended, the user interrupts, or the reader is gone.
ExitCode watch(SqliteTaskStore& store, const std::string& name) {
  using std::chrono::steady_clock;
  constexpr nanoseconds usual_pause = milliseconds(1'000);
  constexpr int share = 4;  // looking takes at most about a quarter of the time
  std::signal(SIGPIPE, SIG_IGN);
  WatchedText watched;
  HostInquiry pauses({});
  while (!pauses.is_stopped() && !has_no_reader()) {
    const auto began = steady_clock::now();
    const auto look = look_at(store, name);
    if (!look) return report(look.error());
    if (!look->search) return report(look->search.error());
    const auto passed = pass_on(watched.next(watched_text(*look), watched_facts(*look)));
    if (!passed) return report(passed.error());
    if (is_final(look->task.state)) break;
    const nanoseconds taken = steady_clock::now() - began;
    pauses.pause(std::max(usual_pause, share * taken), has_no_reader);
  }
  return ExitCode();
}

ExitCode task_show_command(const TaskShowFlags& flags) {
  if (auto checked = check_picture_file(flags.svg); !checked) return report(checked.error());
  auto store = open_task_store();
  if (!store) return report(store.error());
  if (flags.watch) return watch(**store, flags.task);
  const auto look = look_at(**store, flags.task);
  if (!look) return report(look.error());
  if (flags.svg)
    if (auto drawn = draw(*flags.svg, *look); !drawn) return report(drawn.error());
  if (!look->search) talk(terminal_text(look->search.error()));
  if (!flags.json) return answer(text_of(*look, text_options()));
  if (!look->now) talk(terminal_text(look->now.error()));
  const bool is_heard = look->now && *look->now && !look->is_search();
  return answer(task_to_json(look->task, look->events,
                             is_heard ? control_status_json(**look->now) : std::string(),
                             look->is_search() ? search_to_json(**look->search) : std::string()));
}

}  // namespace

void add_task_show(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskShowFlags>();
  CLI::App* show = task.add_subcommand("show", "Show one task")->group("Commands");
  add_task_name(*show, flags->task);
  show->add_flag("--json", flags->json, "Print JSON, with plan and configuration");
  show->add_option("--svg", flags->svg, "Also draw what the trials of a search have reported")
      ->type_name("FILE")
      ->check(names("file"));
  show->add_flag("--watch", flags->watch,
                 "Show it again and again, or as it changes, until it ends")
      ->excludes("--json")
      ->excludes("--svg");
  show->footer(
      "Examples:\n"
      "  train task show k3wq\n"
      "  train task show k3wq --watch");
  show->callback([&choice, flags] { choice.run = [flags] { return task_show_command(*flags); }; });
}

}  // namespace train
