// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "backends/posix/files.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/flags.hpp"
#include "cli/completion/value_kind.hpp"
#include "cli/show/live_tables.hpp"
#include "cli/show/task_table.hpp"
#include "cli/supervisor/host_inquiry.hpp"
#include "cli/terminal/talk.hpp"
#include "launcher/live/live_json.hpp"
#include "launcher/live/probed_hosts.hpp"

namespace train {

namespace {

struct HostsListFlags {
  HostFlags hosts;
  ListFormat format = ListFormat::table;
};

struct HostsProbeFlags {
  std::vector<std::string> names;
  std::optional<TransportKind> transport;
  std::string file;    ///< output file; empty: prints to stdout
  bool force = false;  ///< overwrites an existing file
};

std::vector<LiveHost> ask(const std::vector<Host>& hosts) {
  return live_hosts(hosts, HostInquiry(hosts).query());
}

std::string show(const std::vector<LiveHost>& hosts, ListFormat format) {
  switch (format) {
    case ListFormat::json:
      return live_hosts_document(hosts, now_on_the_wall());
    case ListFormat::csv:
      return hosts_to_csv(hosts);
    case ListFormat::table:
      break;
  }
  return hosts_to_table(hosts);
}

tl::unexpected<Error> is_there(const std::string& file) {
  return fail(ErrorClass::usage, fmt::format("--write: '{}' is there already", file),
              "--force writes over it");
}

Result<void> check_file(const HostsProbeFlags& flags) {
  struct stat status {};
  if (flags.force && flags.file.empty())
    return fail(ErrorClass::usage, "--force was given without --write", "leave it out");
  if (flags.file.empty() || flags.force || ::lstat(flags.file.c_str(), &status) != 0) return {};
  return is_there(flags.file);
}

// Creates the file exclusively: another process may have created it since the check.
Result<void> write_answer(const HostsProbeFlags& flags, const std::string& text) {
  if (flags.force) return write_file(flags.file, text);
  const auto written = write_new_file(flags.file, text);
  if (!written) return tl::make_unexpected(written.error());
  if (!*written) return is_there(flags.file);
  return {};
}

ExitCode hosts_list_command(const HostsListFlags& flags) {
  std::string note;
  const auto inventory = load_hosts(flags.hosts, note);
  if (!inventory) return report(inventory.error());
  if (!note.empty()) talk(TerminalText(note));
  talk_warnings(inventory->warnings);
  const std::vector<LiveHost> hosts = ask(inventory->hosts);
  const ExitCode answered = answer(show(hosts, flags.format));
  if (flags.format != ListFormat::table)  // the table includes them
    for (const TerminalText& trouble : troubles_of(hosts)) talk(trouble);
  return judged(answered, hosts);
}

ExitCode hosts_probe_command(const HostsProbeFlags& flags) {
  if (auto checked = check_file(flags); !checked) return report(checked.error());
  HostFlags named;
  named.host_list = fmt::format("{}", fmt::join(flags.names, ","));
  named.transport = flags.transport;
  std::string note;
  const auto inventory = load_hosts(named, note);
  if (!inventory) return report(inventory.error());
  talk_warnings(inventory->warnings);
  const std::vector<LiveHost> hosts = ask(inventory->hosts);
  for (const LiveHost& host : hosts)
    if (!host.is_reachable()) talk(troubles_of({host}).front());
  const bool has_any = std::any_of(hosts.begin(), hosts.end(),
                                   [](const LiveHost& host) { return host.is_reachable(); });
  if (!has_any)
    return report(make_error(ErrorClass::host, "no host has answered",
                             "'ssh HOST true' shows whether a host can be logged in to"));
  const std::string text = probed_hosts_file(hosts);
  if (flags.file.empty()) return judged(answer(text), hosts);
  if (auto written = write_answer(flags, text); !written) return report(written.error());
  return judged(ExitCode(), hosts);
}

}  // namespace

void add_hosts_commands(CLI::App& app, Choice& choice) {
  CLI::App* hosts = app.add_subcommand("hosts", "Ask hosts how they are and what they have");
  hosts->group("Commands");
  hosts->require_subcommand(1);

  const auto list_flags = std::make_shared<HostsListFlags>();
  CLI::App* list = hosts->add_subcommand("list", "Show what hosts have, and how much of it is free")
                       ->group("Commands");
  add_hosts(*list, list_flags->hosts);
  add_transport(*list, list_flags->hosts.transport);
  add_formats(*list, list_flags->format);
  list->footer(
      "Examples:\n"
      "  train hosts list --hostfile hosts.yaml\n"
      "  train hosts list -H localhost --json");
  list->callback([&choice, list_flags] {
    choice.run = [list_flags] { return hosts_list_command(*list_flags); };
  });

  const auto flags = std::make_shared<HostsProbeFlags>();
  CLI::App* probe =
      hosts->add_subcommand("probe", "Make a hosts file of what hosts have")->group("Commands");
  probe->add_option("NAME", flags->names, "Hosts: node[01-04], user@gpu-b")
      ->type_name("")
      ->check(names("host", value_kind::unknown))
      ->required();
  add_transport(*probe, flags->transport);
  probe->add_option("--write", flags->file, "Write it to this file, which must not be there yet")
      ->type_name("FILE")
      ->check(names("file"));
  probe->add_flag("--force", flags->force, "Write over a file that is there");
  probe->footer(
      "Examples:\n"
      "  train hosts probe localhost > hosts.yaml");
  probe->callback(
      [&choice, flags] { choice.run = [flags] { return hosts_probe_command(*flags); }; });
  hosts->footer(
      "Examples:\n"
      "  train hosts list --hostfile hosts.yaml");  // last: subcommands would inherit it
}

}  // namespace train
