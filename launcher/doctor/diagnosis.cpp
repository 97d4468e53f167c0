// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr std::uint64_t mebi = std::uint64_t{1} << 20;
constexpr std::uint64_t least_space = 64 * mebi;
constexpr std::uint64_t usual_space = 1'024 * mebi;
constexpr std::int64_t least_new_files = 1'000;
// The registry, the terminal, the event loop and short readings of files.
constexpr std::uint64_t files_of_launcher = 64;
// A host takes a socket, or a child process with its socket, its errors and its handle.
constexpr std::uint64_t files_of_host = 3;
constexpr std::uint64_t usual_hosts = 256;
constexpr int first_year = 2025;
constexpr int last_year = 2100;

constexpr unsigned for_others = 077;
constexpr unsigned written_by_others = 022;

std::string in_octal(unsigned mode) { return fmt::format("mode {:04o}", mode); }

std::string chmod(const char* mode, const std::string& path) {
  return shell_line({"chmod", mode, path});
}

/// Collects findings of one check.
class Check {
 public:
  Check(std::vector<MachineFinding>& findings, const char* name)
      : findings_(findings), name_(name) {}

  void ok(std::string message) { add(Health::ok, std::move(message), {}); }
  void warn(std::string message, std::string hint) {
    add(Health::warning, std::move(message), std::move(hint));
  }
  void wrong(std::string message, std::string hint) {
    add(Health::wrong, std::move(message), std::move(hint));
  }
  /// An error of other code: its first diagnostic, and the number of the others.
  void add(Health health, const Error& error, const std::string& usual_hint) {
    const Diagnostic& first = error.diagnostics.front();
    const std::size_t more = error.diagnostics.size() - 1;
    std::string message = first.message;
    if (first.place.line > 0)
      message = fmt::format("{}:{}: {}", first.place.source, first.place.line, message);
    if (more > 0) message += fmt::format(" (and {} more)", more);
    add(health, std::move(message), first.hint.empty() ? usual_hint : first.hint);
  }

 private:
  void add(Health health, std::string message, std::string hint) {
    findings_.push_back({name_, health, std::move(message), std::move(hint)});
  }

  std::vector<MachineFinding>& findings_;
  std::string name_;
};

void judge_client(const MachineFacts& facts, Check check) {
  if (!facts.ssh_program.empty())
    return check.ok(
        fmt::format("{} is {}", facts.ssh_program,
                    facts.ssh_version.empty() ? "of an unknown version" : facts.ssh_version));
  const std::string hint = "install OpenSSH's client (openssh-client, openssh-clients)";
  if (facts.needs_openssh)
    return check.wrong("there is no ssh in PATH, and a host has 'transport: openssh'", hint);
  check.warn(
      "there is no ssh in PATH: ~/.ssh/config is read with it, and 'transport: openssh' needs it",
      hint);
}

// ssh refuses a configuration that others can write. Others who can write known_hosts can replace
// keys of hosts.
void judge_ssh_files(const MachineFacts& facts, Check check) {
  const PrivatePath& folder = facts.ssh_folder;
  if (folder.exists && (!folder.is_own || (folder.mode & written_by_others) != 0))
    check.warn(fmt::format("others can write into '{}' ({})", folder.path, in_octal(folder.mode)),
               folder.is_own ? chmod("700", folder.path) : "make it yours with chown");
  const PrivatePath& config = facts.ssh_config;
  if (!config.trouble.empty())
    check.wrong(fmt::format("'{}' cannot be read: {}", config.path, config.trouble),
                chmod("600", config.path));
  else if (config.exists && (!config.is_own || (config.mode & written_by_others) != 0))
    check.wrong(fmt::format("others can write '{}' ({}), so ssh refuses it", config.path,
                            in_octal(config.mode)),
                config.is_own ? chmod("600", config.path) : "make it yours with chown");
  else if (facts.ssh_config_error)
    check.add(Health::wrong, *facts.ssh_config_error, "'ssh -G localhost' says more");
  else
    check.ok(config.exists ? fmt::format("'{}' can be used", config.path)
                           : fmt::format("there is no '{}'", config.path));
}

void judge_known_hosts(const MachineFacts& facts, Check check) {
  const PrivatePath& known = facts.known_hosts;
  if (!known.exists)
    return check.ok(fmt::format("there is no '{}': no host of this user is known", known.path));
  if (!known.trouble.empty())
    return check.wrong(fmt::format("'{}' cannot be read: {}", known.path, known.trouble),
                       chmod("600", known.path));
  if (!known.is_own || (known.mode & written_by_others) != 0)
    return check.warn(fmt::format("others can write '{}' ({})", known.path, in_octal(known.mode)),
                      known.is_own ? chmod("600", known.path) : "make it yours with chown");
  check.ok(fmt::format("'{}' can be read", known.path));
}

void judge_keys(const MachineFacts& facts, Check check) {
  std::size_t usable = 0;
  for (const PrivatePath& key : facts.keys) {
    if (!key.trouble.empty())
      check.wrong(fmt::format("the key '{}' cannot be read: {}", key.path, key.trouble),
                  chmod("600", key.path));
    else if ((key.mode & for_others) != 0)
      check.wrong(fmt::format("others can read the key '{}' ({}), so it is not used", key.path,
                              in_octal(key.mode)),
                  chmod("600", key.path));
    else
      ++usable;
  }
  if (usable > 0) return check.ok(counted(static_cast<std::int64_t>(usable), "key file"));
  if (facts.agent_keys > 0) return check.ok("no key file; ssh-agent has keys");
  if (facts.keys.empty())
    check.warn("there is no key file, and no key in ssh-agent: other hosts ask for one",
               "ssh-keygen -t ed25519, then ssh-copy-id HOST for each host");
}

void judge_agent(const MachineFacts& facts, Check check) {
  if (facts.agent_socket.empty()) return check.ok("none is used: SSH_AUTH_SOCK is not set");
  if (facts.agent_error)
    return check.add(Health::warning, *facts.agent_error,
                     "start one: eval \"$(ssh-agent)\" && ssh-add; or unset SSH_AUTH_SOCK");
  if (facts.agent_keys == 0 && facts.keys.empty())
    return check.warn(fmt::format("the agent at '{}' has no keys", facts.agent_socket), "ssh-add");
  check.ok(fmt::format("{} at '{}'", counted(static_cast<std::int64_t>(facts.agent_keys), "key"),
                       facts.agent_socket));
}

void judge_hosts(const MachineFacts& facts, Check check) {
  if (facts.hosts_error)
    return check.add(
        Health::wrong, *facts.hosts_error,
        "'train config check --hosts " + shell_quoted(facts.hosts_file) + "' says more");
  if (facts.hosts_file.empty())
    return check.ok("TRAIN_HOSTFILE is not set: hosts are named at each launch");
  check.ok(fmt::format("'{}' has {}", facts.hosts_file,
                       counted(static_cast<std::int64_t>(facts.hosts), "host")));
}

void judge_user_file(const MachineFacts& facts, Check check) {
  if (facts.user_file_error)
    return check.add(Health::wrong, *facts.user_file_error, "mend it, or move it away");
  check.ok(facts.has_user_file
               ? fmt::format("'{}' is read, and right", facts.user_file)
               : fmt::format("there is no '{}': nothing is set for all commands", facts.user_file));
}

std::string space_of(std::uint64_t bytes) {
  if (bytes >= 10 * usual_space) return fmt::format("{} GiB", bytes >> 30);
  return fmt::format("{} MiB", bytes >> 20);
}

// False if the disk is not fit.
bool judge_disk(const DiskFacts& disk, const std::string& elsewhere, Check& check) {
  if (!disk.trouble.empty()) {
    check.wrong(fmt::format("'{}' cannot be written: {}", disk.path, disk.trouble), elsewhere);
    return false;
  }
  const bool has_few_files = disk.free_files >= 0 && disk.free_files < least_new_files;
  const std::string left = has_few_files ? fmt::format("room for {} more files", disk.free_files)
                                         : fmt::format("{} free", space_of(disk.free));
  const std::string message = fmt::format("'{}' has {}", disk.path, left);
  const std::string hint = fmt::format("free some space there, or {}", elsewhere);
  if (has_few_files || disk.free < least_space) {
    check.wrong(message, hint);
    return false;
  }
  if (disk.free >= usual_space) return true;
  check.warn(message, hint);
  return false;
}

void judge_state(const MachineFacts& facts, Check check) {
  const std::string elsewhere = "set XDG_STATE_HOME to a directory of your own";
  if (facts.state_error) return check.add(Health::wrong, *facts.state_error, elsewhere);
  const PrivatePath& state = facts.state;
  if (state.exists && !state.is_own)
    return check.wrong(fmt::format("'{}' belongs to another user", state.path), elsewhere);
  if (!state.trouble.empty())
    return check.wrong(fmt::format("'{}' cannot be used: {}", state.path, state.trouble),
                       chmod("700", state.path));
  if (state.exists && (state.mode & for_others) != 0)
    check.warn(fmt::format("others can enter '{}' ({}) until the next command of train closes it",
                           state.path, in_octal(state.mode)),
               chmod("700", state.path));
  if (facts.state_disk && !judge_disk(*facts.state_disk, elsewhere, check)) return;
  check.ok(fmt::format("'{}'{}{}", state.path, state.exists ? "" : " is made by the first launch",
                       facts.is_state_shared
                           ? " is on a file system that machines share: changes wait for it"
                           : ""));
}

void judge_registry(const MachineFacts& facts, Check check) {
  if (facts.registry_error)
    return check.add(Health::wrong, *facts.registry_error,
                     "set XDG_STATE_HOME to a directory of your own");
  for (const std::string& id : facts.unattended)
    check.warn(
        fmt::format("the launcher of task {} has died, and its ranks may still run", id),
        fmt::format("train task attach {0} goes on with it, train task kill {0} ends it", id));
  if (facts.unattended.empty())
    check.ok(facts.tasks == 0 ? "no task runs"
                              : counted(static_cast<std::int64_t>(facts.tasks), "task") +
                                    " not ended, each with its launcher");
}

void judge_logout(const MachineFacts& facts, Check check) {
  switch (facts.logout) {
    case LogoutEffect::none:
      return check.ok("launch -d outlives a logout");
    case LogoutEffect::kills_session:
      return check.warn(
          "logind ends a detached launcher at logout (KillUserProcesses=yes)",
          "loginctl enable-linger, and launch with: systemd-run --user --scope train ...");
    case LogoutEffect::ends_manager:
      return check.warn("the last logout ends your systemd, and a detached launcher below it",
                        "loginctl enable-linger");
  }
}

void judge_limits(const MachineFacts& facts, std::vector<MachineFinding>& findings) {
  Check files(findings, "open_files");
  const auto& most = facts.open_files;
  const std::uint64_t room = most.value_or(0) > files_of_launcher ? *most - files_of_launcher : 0;
  const std::uint64_t hosts = room / files_of_host;
  if (!most)
    files.ok("no limit");
  else if (hosts >= usual_hosts)
    files.ok(fmt::format("{} (ulimit -Hn), enough for {} hosts", *most, hosts));
  else
    files.warn(fmt::format("{} (ulimit -Hn), enough for {} hosts", *most, hosts),
               "raise the hard limit: nofile in /etc/security/limits.conf, then log in anew");
  Check processes(findings, "processes");
  if (!facts.processes) return processes.ok("no limit");
  const auto& [name, used, limit] = *facts.processes;
  const std::string message = fmt::format("{} of {} are in use ({})", used, limit, name);
  if (limit - used >= static_cast<std::int64_t>(usual_hosts)) return processes.ok(message);
  processes.warn(fmt::format("{}, so at most {} hosts can be reached by OpenSSH", message,
                             std::max(limit - used, std::int64_t{0})),
                 "end what is not needed, or raise the limit");
}

void judge_clock(const MachineFacts& facts, Check check) {
  if (facts.year < first_year || facts.year > last_year)
    return check.wrong(fmt::format("the year is {} by the clock", facts.year),
                       "set the clock: timedatectl set-ntp true");
  if (facts.is_clock_synchronized == false)
    return check.warn("the kernel says that nothing synchronizes the clock",
                      "timedatectl set-ntp true, or start chronyd");
  check.ok(facts.is_clock_synchronized ? "synchronized" : "the year is plausible");
}

void judge_temporary(const MachineFacts& facts, Check check) {
  if (judge_disk(facts.temporary, "set TMPDIR to another directory", check))
    check.ok(fmt::format("'{}' has {} free", facts.temporary.path, space_of(facts.temporary.free)));
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::ok:
      return "ok";
    case Health::warning:
      return "warning";
    case Health::wrong:
      return "wrong";
  }
  return "wrong";
}

std::vector<MachineFinding> diagnose(const MachineFacts& facts) {
  std::vector<MachineFinding> findings;
  judge_client(facts, {findings, "ssh"});
  judge_ssh_files(facts, {findings, "ssh_config"});
  judge_known_hosts(facts, {findings, "known_hosts"});
  judge_keys(facts, {findings, "keys"});
  judge_agent(facts, {findings, "ssh_agent"});
  judge_hosts(facts, {findings, "hosts_file"});
  judge_user_file(facts, {findings, "config_file"});
  judge_state(facts, {findings, "state"});
  judge_registry(facts, {findings, "tasks"});
  judge_logout(facts, {findings, "logout"});
  judge_limits(facts, findings);
  judge_clock(facts, {findings, "clock"});
  judge_temporary(facts, {findings, "temporary"});
  return findings;
}

Health worst_of(const std::vector<MachineFinding>& findings) {
  Health worst = Health::ok;
  for (const MachineFinding& finding : findings) worst = std::max(worst, finding.health);
  return worst;
}

std::string diagnosis_document(const std::vector<MachineFinding>& findings) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const MachineFinding& finding : findings)
    list.push_back({{"check", finding.check},
                    {"state", to_string(finding.health)},
                    {"message", finding.message},
                    {"hint", finding.hint.empty() ? Json(nullptr) : Json(finding.hint)}});
  const Json document = {{"state", to_string(worst_of(findings))}, {"findings", list}};
  return shown_json(document.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace train
