// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "cli/agent_attach.hpp"
#include "cli/commands.hpp"
#include "cli/damaged_tasks.hpp"
#include "cli/host_look.hpp"
#include "cli/live_tables.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "cli/task_table.hpp"
#include "cli/text_options.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/live/live_json.hpp"
#include "launcher/live/live_picture.hpp"
#include "launcher/picture/cells.hpp"
#include "launcher/record/task_json.hpp"

namespace train {

namespace {

using Format = TaskListFlags::Format;

// The hosts that are looked at: those that are named, or this machine.
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

// All that a list shows.
struct Listing {
  std::vector<TaskRecord> tasks;  // that this user has launched here
  std::vector<HeldTask> held;     // all others
  std::vector<LiveHost> hosts;
  std::vector<DamagedTask> damaged;  // of this user's, which are not shown
  UnixMillis now = 0;
};

Result<Listing> make_listing(SqliteTaskStore& store, const TaskListFlags& flags,
                             const Asked& asked) {
  std::vector<Result<HostReport>> reports;
  if (asked.are_named)
    reports = look_at_hosts(asked.hosts);
  else
    reports.emplace_back(look_here());  // by this process: it would be asked by one of its own
  auto list = store.list(flags.all);
  if (!list) return tl::make_unexpected(list.error());
  Listing listing{.tasks = std::move(list->tasks),
                  .held = {},
                  .hosts = live_hosts(asked.hosts, std::move(reports)),
                  .damaged = std::move(list->damaged)};
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
  options.color = options.color && !is_screen;  // what is cut must not be cut in the middle of one
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
    case Format::json:
      return tasks_to_json(listing.tasks, held_tasks_to_json(listing.held, listing.now),
                           live_hosts_to_json(listing.hosts, listing.now));
    case Format::csv:
      return flags.slots ? slots_to_csv(listing.hosts, listing.now)
                         : tasks_to_csv(listing.tasks, listing.now, listing.held);
    case Format::table:
      break;
  }
  return table_of(listing, flags.slots);
}

// What the table has no row for; the picture has.
std::vector<TerminalText> remarks_of(const Listing& listing, const TaskListFlags& flags) {
  std::vector<TerminalText> remarks = troubles_of(listing.hosts);
  if (!flags.slots && flags.format != Format::json)
    for (const TerminalText& holding : strangers_of(listing.hosts)) remarks.push_back(holding);
  if (!listing.damaged.empty()) remarks.push_back(terminal_text(damage_error(listing.damaged)));
  return remarks;
}

// As much of a table as a terminal shows at once.
std::string screenful(const std::string& table, const winsize& size) {
  std::vector<std::string> lines = split_lines(table);
  const auto rows = static_cast<std::size_t>(std::max<int>(size.ws_row, 3)) - 1;
  if (lines.size() > rows) {
    const std::size_t hidden = lines.size() - rows + 1;
    lines.resize(rows - 1);
    lines.push_back(fmt::format("and {} more", hidden));
  }
  std::string text;
  for (const std::string& line : lines) {
    std::size_t end = 0;
    for (int column = 0; end < line.size() && column < size.ws_col; ++column)
      end += std::max<std::size_t>(1, utf8_length(std::string_view(line).substr(end)));
    text += line.substr(0, end) + "\n";
  }
  return text;
}

// What is drawn next: on a terminal always, over what was drawn before; else what has changed, but
// for the time that has passed.
class Redrawing {
 public:
  explicit Redrawing(const TaskListFlags& flags) : flags_(flags) {}

  std::string next(const Listing& listing) {
    std::string remarks;
    for (const TerminalText& remark : remarks_of(listing, flags_)) remarks += remark.text() + "\n";
    winsize size{};
    const bool is_terminal = ::isatty(STDOUT_FILENO) == 1 &&
                             ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const std::string table = table_of(listing, flags_.slots, is_terminal) + remarks;
    if (is_terminal) return "\x1b[H\x1b[2J" + screenful(table, size);
    std::string facts = facts_of(listing) + remarks;
    if (facts == shown_) return "";
    const bool is_first = shown_.empty();
    shown_ = std::move(facts);
    return (is_first ? "" : "\n") + table;
  }

 private:
  std::string facts_of(const Listing& listing) const {
    if (flags_.slots) return table_of(listing, true);
    std::string facts = tasks_to_json(listing.tasks);
    for (const HeldTask& task : listing.held)
      facts += fmt::format("{} {} {} {}\n", task.id, state_of(task), slots_text(task),
                           fmt::join(task.hosts, ","));
    return facts;
  }

  const TaskListFlags& flags_;
  std::string shown_;
};

// Whether nobody reads what is printed any more, after a while.
bool has_no_reader_after(std::chrono::milliseconds pause) {
  pollfd out = {STDOUT_FILENO, 0, 0};
  return ::poll(&out, 1, static_cast<int>(pause.count())) > 0;
}

ExitCode watch_tasks(SqliteTaskStore& store, const TaskListFlags& flags, const Asked& asked) {
  using std::chrono::milliseconds;
  // A look at this machine is nothing; at others it is a login each.
  const milliseconds pause = asked.are_named ? milliseconds(5'000) : milliseconds(1'000);
  std::signal(SIGPIPE, SIG_IGN);
  Redrawing redrawing(flags);
  do {
    const auto listing = make_listing(store, flags, asked);
    if (!listing) return report(listing.error());
    const auto passed = pass_on(redrawing.next(*listing));
    if (!passed) return report(passed.error());
    if (!*passed) return ExitCode();
  } while (!has_no_reader_after(pause));
  return ExitCode();
}

}  // namespace

ExitCode task_list_command(const TaskListFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  const auto asked = hosts_to_ask(flags.hosts);
  if (!asked) return report(asked.error());
  if (flags.watch) return watch_tasks(**store, flags, *asked);
  const auto listing = make_listing(**store, flags, *asked);
  if (!listing) return report(listing.error());
  ExitCode answered = answer(show(*listing, flags));
  for (const TerminalText& remark : remarks_of(*listing, flags)) talk(remark);
  if (!listing->damaged.empty() && answered.value() == 0) {
    answered = exit_code_of(ErrorClass::no_input);
    talk(verdict(ErrorClass::no_input, answered));
  }
  return asked->are_named ? judged(answered, listing->hosts) : answered;
}

}  // namespace train
