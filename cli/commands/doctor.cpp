// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/doctor/machine_look.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/flags.hpp"
#include "cli/commands/user_flags.hpp"
#include "cli/request/user_file.hpp"
#include "cli/surroundings/environment.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/surroundings/user_account.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

// The hosts file that the environment names; no host is asked.
void look_at_hosts_file(MachineFacts& facts) {
  facts.hosts_file = variable("TRAIN_HOSTFILE");
  if (facts.hosts_file.empty()) return;
  const auto text = read_input(facts.hosts_file, "hosts");
  const auto hosts = text ? parse_hosts({facts.hosts_file, *text})
                          : Result<HostInventory>(tl::make_unexpected(text.error()));
  if (!hosts) {
    facts.hosts_error = hosts.error();
    return;
  }
  facts.hosts = hosts->hosts.size();
  facts.needs_openssh = std::any_of(hosts->hosts.begin(), hosts->hosts.end(), [](const Host& host) {
    return host.transport == TransportKind::openssh;
  });
}

// A line for each finding, with its next step.
std::string lines_of(const std::vector<MachineFinding>& findings) {
  std::string text;
  for (const MachineFinding& finding : findings) {
    text += fmt::format("{:<8} {:<12} {}", to_string(finding.health), finding.check,
                        escaped_and_shortened(finding.message));
    if (!finding.hint.empty()) text += "; " + escaped_and_shortened(finding.hint);
    text += "\n";
  }
  return text;
}

std::string summary_of(const std::vector<MachineFinding>& findings) {
  const auto count = [&](Health health) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const MachineFinding& finding) { return finding.health == health; });
  };
  return fmt::format("{} wrong, {}", count(Health::wrong),
                     counted(count(Health::warning), "warning"));
}

void look_at_user_file(const CLI::App& app, MachineFacts& facts) {
  facts.user_file = user_file_path();
  const auto file = read_user_file();
  facts.has_user_file = file && file->has_value();
  const auto legal = facts.has_user_file ? check_user_flags(app, **file) : Result<void>();
  if (!file) facts.user_file_error = file.error();
  if (!legal) facts.user_file_error = legal.error();
}

ExitCode doctor_command(const CLI::App& app, bool as_json) {
  const auto state = state_directory();
  const std::string temporary = variable("TMPDIR");
  MachineFacts facts =
      look_at_machine({home_of_ssh(), user_name(), variable("PATH"), variable("SSH_AUTH_SOCK"),
                       state.value_or(""), temporary.empty() ? "/tmp" : temporary});
  if (!state) facts.state_error = state.error();
  look_at_hosts_file(facts);
  look_at_user_file(app, facts);
  const std::vector<MachineFinding> findings = diagnose(facts);
  const ExitCode answered = answer(as_json ? diagnosis_document(findings) : lines_of(findings));
  if (answered.value() != 0 || worst_of(findings) != Health::wrong) return answered;
  talk(terminal_text("{} (exit 1)", summary_of(findings)));
  return ExitCode(1);
}

}  // namespace

void add_doctor(CLI::App& app, Choice& choice) {
  const auto as_json = std::make_shared<bool>(false);
  CLI::App* doctor =
      app.add_subcommand("doctor", "Look at this machine, and say what is to be mended")
          ->group("Commands");
  doctor->add_flag("--json", *as_json, "Print JSON");
  doctor->footer("Exit codes: 0 nothing is wrong, 1 something is; others as everywhere.");
  doctor->footer(doctor->get_footer() +
                 "\n\n"
                 "Examples:\n"
                 "  train doctor");
  doctor->callback([&app, &choice, as_json] {
    choice.run = [&app, as_json] { return doctor_command(app, *as_json); };
  });
}

}  // namespace train
