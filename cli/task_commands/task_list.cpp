// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>

#include "cli/agent/agent_attach.hpp"
#include "cli/commands/flags.hpp"
#include "cli/jobs/listed_jobs.hpp"
#include "cli/show/live_tables.hpp"
#include "cli/show/task_table.hpp"
#include "cli/supervisor/host_inquiry.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/damaged_tasks.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/terminal/talk.hpp"
#include "cli/terminal/text_options.hpp"
#include "cli/terminal/watched_text.hpp"
#include "launcher/live/live_json.hpp"
#include "launcher/live/live_picture.hpp"
#include "launcher/picture/cells.hpp"
#include "launcher/record/task_json.hpp"

namespace train {

namespace {

struct TaskListFlags {
  HostFlags hosts;  ///< the hosts to query; none: this machine
  bool all = false;
  bool mine = false;   ///< excludes tasks of other users
  bool slots = false;  ///< shows the holder of each slot, host by host
  bool watch = false;  ///< repeats until interrupted or the reader is gone
  ListFormat format = ListFormat::table;
};

// The hosts to query: the named ones, or this machine.
struct Asked {
  std::vector<Host> hosts;
  bool are_named = false;
};

Result<Asked> hosts_to_ask(const HostFlags& flags) {
  if (!names_hosts(flags)) {
    Host host;
    host.name = host.address = "localhost";
    host.transport = TransportKind::local;
    return Asked{{host}, false};
  }
  std::string note;
  auto inventory = load_hosts(flags, note);
  if (!inventory) return tl::make_unexpected(inventory.error());
  talk_warnings(inventory->warnings);
  return Asked{std::move(inventory->hosts), true};
}

// The contents of a list.
struct Listing {
  std::vector<TaskRecord> tasks;  // launched by this user on this machine
  std::vector<HeldTask> held;     // all others
  std::vector<LiveHost> hosts;
  ListedJobs jobs;                   // those of the tasks that run in jobs of Slurm
  std::vector<DamagedTask> damaged;  // damaged tasks of this user, which the table does not show
  UnixMillis now = 0;
};

// This process inspects this machine itself: a query would start another process here.
Result<Listing> make_listing(SqliteTaskStore& store, const TaskListFlags& flags, const Asked& asked,
                             HostInquiry& hosts) {
  std::vector<Result<HostReport>> reports;
  if (asked.are_named)
    reports = hosts.query();
  else
    reports.emplace_back(inspect_this_machine());
  auto list = store.list(flags.all);
  if (!list) return tl::make_unexpected(list.error());
  Listing listing{
      .tasks = std::move(list->tasks),
      .held = {},
      .hosts = live_hosts(asked.hosts, std::move(reports)),
      .jobs = list_jobs([&](const std::string& task) { return bool(store.find(task)); }),
      .damaged = std::move(list->damaged)};
  // The rest of them have records here: running, in the queue again or, while Slurm ends their
  // jobs, final.
  for (const ListedJob& job : listing.jobs.jobs) {
    if (!store.find(job.note.task)) listing.tasks.insert(listing.tasks.begin(), record_of(job));
    for (TaskRecord& task : listing.tasks)
      if (task.id == job.note.task && task.is_unattended && job.job.is_pending()) {
        task.is_unattended = false;
        task.state = TaskState::waiting;
      }
  }
  listing.now = now_on_the_wall();
  listing.held = held_tasks(listing.hosts);
  std::erase_if(listing.held, [&](const HeldTask& held) {
    const bool is_listed = std::any_of(listing.tasks.begin(), listing.tasks.end(),
                                       [&](const TaskRecord& task) { return task.id == held.id; });
    return is_listed || (flags.mine && !held.is_own);
  });
  return listing;
}

TextOptions picture_options(bool is_screen) {
  TextOptions options = text_options();
  options.color = options.color && !is_screen;  // a cut must not hit the middle of a color sequence
  options.holders = marked_holders;
  return options;
}

std::string table_of(const Listing& listing, bool slots, bool is_screen = false) {
  if (slots)
    return picture_to_text(draw_live(listing.hosts), picture_options(is_screen)) +
           lease_lines(listing.hosts);
  return tasks_to_table(listing.tasks, listing.now, listing.held);
}

std::string show(const Listing& listing, const TaskListFlags& flags) {
  switch (flags.format) {
    case ListFormat::json:
      return tasks_to_json(listing.tasks, held_tasks_to_json(listing.held, listing.now),
                           live_hosts_to_json(listing.hosts, listing.now));
    case ListFormat::csv:
      return flags.slots ? slots_to_csv(listing.hosts, listing.now)
                         : tasks_to_csv(listing.tasks, listing.now, listing.held);
    case ListFormat::table:
      break;
  }
  return table_of(listing, flags.slots);
}

// Remarks that the table has no row for; the picture shows them.
std::vector<TerminalText> remarks_of(const Listing& listing, const TaskListFlags& flags) {
  std::vector<TerminalText> remarks = troubles_of(listing.hosts);
  if (!flags.slots && flags.format != ListFormat::json)
    for (const TerminalText& holding : strangers_of(listing.hosts)) remarks.push_back(holding);
  for (const ListedJob& job : listing.jobs.jobs)
    if (std::any_of(listing.tasks.begin(), listing.tasks.end(), [&](const TaskRecord& task) {
          return task.id == job.note.task && !is_final(task.state);
        }))
      remarks.push_back(words_of(job));
  if (!listing.jobs.trouble.empty()) remarks.push_back(listing.jobs.trouble);
  if (!listing.damaged.empty()) remarks.push_back(terminal_text(damage_error(listing.damaged)));
  return remarks;
}

// What is shown, without the elapsed times.
std::string facts_of(const Listing& listing, const TaskListFlags& flags) {
  if (flags.slots) return table_of(listing, true);
  std::string facts = tasks_to_json(listing.tasks);
  for (const HeldTask& task : listing.held)
    facts += fmt::format("{} {} {} {}\n", task.id, state_of(task), slots_text(task),
                         fmt::join(task.hosts, ","));
  return facts;
}

std::string next_of(WatchedText& watched, const Listing& listing, const TaskListFlags& flags) {
  std::string remarks;
  for (const TerminalText& remark : remarks_of(listing, flags)) remarks += remark.text() + "\n";
  const bool is_screen = screen_of_stdout().has_value();
  return watched.next(table_of(listing, flags.slots, is_screen) + remarks,
                      facts_of(listing, flags) + remarks);
}

// Repeats until interrupted or the reader is gone.
ExitCode watch_tasks(SqliteTaskStore& store, const TaskListFlags& flags, const Asked& asked) {
  // Inspecting this machine is cheap; on other hosts it takes a process on each.
  const milliseconds pause = asked.are_named ? milliseconds(5'000) : milliseconds(1'000);
  std::signal(SIGPIPE, SIG_IGN);
  WatchedText watched;
  HostInquiry hosts(asked.hosts);
  hosts.keep_sessions();
  while (!hosts.is_stopped() && !has_no_reader()) {
    const auto listing = make_listing(store, flags, asked, hosts);
    if (hosts.is_stopped()) break;
    if (!listing) return report(listing.error());
    const auto passed = pass_on(next_of(watched, *listing, flags));
    if (!passed) return report(passed.error());
    hosts.pause(pause, has_no_reader);
  }
  return ExitCode();
}

ExitCode task_list_command(const TaskListFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  const auto asked = hosts_to_ask(flags.hosts);
  if (!asked) return report(asked.error());
  if (flags.watch) return watch_tasks(**store, flags, *asked);
  std::optional<HostInquiry> hosts(asked->hosts);
  const auto listing = make_listing(**store, flags, *asked, *hosts);
  hosts.reset();
  if (!listing) return report(listing.error());
  ExitCode answered = answer(show(*listing, flags));
  for (const TerminalText& remark : remarks_of(*listing, flags)) talk(remark);
  if (!listing->damaged.empty() && answered.value() == 0) {
    answered = exit_code_of(ErrorClass::no_input);
    talk(verdict(ErrorClass::no_input, answered));
  }
  return asked->are_named ? judged(answered, listing->hosts) : answered;
}

}  // namespace

void add_task_list(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskListFlags>();
  CLI::App* list =
      task.add_subcommand("list", "List the tasks that have not ended, and who holds slots")
          ->group("Commands");
  add_hosts(*list, flags->hosts);
  add_transport(*list, flags->hosts.transport);
  list->add_flag("--all", flags->all, "List tasks that have ended as well");
  auto* mine = list->add_flag("--mine", flags->mine, "Leave out tasks of other users");
  list->add_flag("--slots", flags->slots, "Draw host by host who has which slot")->excludes(mine);
  add_formats(*list, flags->format);
  list->add_flag("--watch", flags->watch, "Show it again and again, or as it changes")
      ->excludes("--json")
      ->excludes("--csv");
  list->footer(
      "Examples:\n"
      "  train task list\n"
      "  train task list --hostfile hosts.yaml --slots\n"
      "  train task list --all --csv");
  list->callback([&choice, flags] { choice.run = [flags] { return task_list_command(*flags); }; });
}

}  // namespace train
