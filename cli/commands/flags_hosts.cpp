// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/flags.hpp"

namespace train {

void add_hosts_commands(CLI::App& app, Chosen& chosen, HostsCommandFlags& flags) {
  CLI::App* hosts = app.add_subcommand("hosts", "Ask hosts how they are and what they have");
  hosts->group("Commands");
  hosts->require_subcommand(1);

  CLI::App* list = hosts->add_subcommand("list", "Show what hosts have, and how much of it is free")
                       ->group("Commands");
  add_hosts(*list, flags.list.hosts);
  add_transport(*list, flags.list.hosts.transport);
  add_formats(*list, flags.list.format);
  list->callback([&] { chosen = [&] { return hosts_list_command(flags.list); }; });

  CLI::App* probe =
      hosts->add_subcommand("probe", "Make a hosts file of what hosts have")->group("Commands");
  probe->add_option("NAME", flags.probe.names, "Hosts: node[01-04], user@gpu-b")
      ->type_name("")
      ->check(names("host"))
      ->required();
  add_transport(*probe, flags.probe.transport);
  probe->add_option("--write", flags.probe.file, "Write it to this file, which is not there yet")
      ->type_name("FILE")
      ->check(names("file"));
  probe->add_flag("--force", flags.probe.force, "Also over one that is");
  probe->callback([&] { chosen = [&] { return hosts_probe_command(flags.probe); }; });
}

}  // namespace train
