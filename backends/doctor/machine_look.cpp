// SPDX-License-Identifier: Apache-2.0
#include "backends/doctor/machine_look.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "backends/event_loop/loop.hpp"
#include "backends/fitness/disk_facts.hpp"
#include "backends/link/host_settings.hpp"
#include "backends/observe/host_room.hpp"
#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/file_system.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/login_session.hpp"
#include "backends/posix/short_run.hpp"
#include "backends/process/programs.hpp"
#include "backends/ssh_config/ssh_config.hpp"
#include "backends/ssh_keys/key_agent.hpp"
#include "backends/store/sqlite_task_store.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

constexpr milliseconds patience = 2s;

PrivatePath look_at_path(std::string path) {
  PrivatePath look;
  look.path = std::move(path);
  struct stat status {};
  if (::stat(look.path.c_str(), &status) != 0) {
    if (errno != ENOENT) look.trouble = system_reason(errno);
    return look;
  }
  look.exists = true;
  look.is_own = status.st_uid == ::getuid() || status.st_uid == 0;
  look.mode = status.st_mode & 07777;
  if (::access(look.path.c_str(), S_ISDIR(status.st_mode) ? R_OK | X_OK : R_OK) != 0)
    look.trouble = system_reason(errno);
  return look;
}

// "OpenSSH_9.2p1" of "OpenSSH_9.2p1 Debian-2+deb12u3, OpenSSL 3.0.15 3 Sep 2024", which ssh writes
// to standard error.
std::string version_of(const std::string& program) {
  const auto output = run_shortly(
      {"/bin/sh", {"sh", "-c", "exec \"$0\" -V 2>&1", program}, environment_texts()}, patience);
  return output ? output->substr(0, output->find_first_of(" ,\n")) : std::string();
}

void look_at_client(const MachinePlaces& places, MachineFacts& facts) {
  const auto program = find_program("ssh", places.search_path, "/");
  if (!program) return;
  facts.ssh_program = *program;
  facts.ssh_version = version_of(*program);
}

// The settings of a host for which no lines of its own are written, as a launch reads them.
Result<SshSettings> usual_settings(const MachinePlaces& places, const std::string& config) {
  SshSettings defaults;
  defaults.identity_files = default_identities();
  SshConfigFiles files;
  files.user_file = config;
  files.system_file = "/etc/ssh/ssh_config";
  files.home = places.ssh_home;
  files.environment = ssh_environment(environment_texts());
  Loop loop;
  FileWork work(loop, files.deadline);
  SshConfig reader(loop, work, files, defaults);
  std::optional<Result<SshSettings>> settings;
  reader.settings_of({"localhost", places.user, {}}, [&](Result<SshSettings> answer) {
    settings = std::move(answer);
    loop.stop();
  });
  loop.run();
  return *settings;
}

void look_at_ssh_files(const MachinePlaces& places, MachineFacts& facts) {
  const std::string folder = places.ssh_home + "/.ssh";
  facts.ssh_folder = look_at_path(folder);
  facts.ssh_config = look_at_path(folder + "/config");
  facts.known_hosts = look_at_path(folder + "/known_hosts");
  std::vector<std::string> identities = default_identities();
  if (facts.ssh_config.trouble.empty()) {
    auto settings = usual_settings(places, facts.ssh_config.path);
    if (settings)
      identities = std::move(settings->identity_files);
    else
      facts.ssh_config_error = std::move(settings.error());
  }
  for (const std::string& identity : identities) {
    // Other tokens stand for a host.
    const bool is_at_home = identity.starts_with("~/");
    PrivatePath key = look_at_path(is_at_home ? places.ssh_home + identity.substr(1) : identity);
    if (key.exists) facts.keys.push_back(std::move(key));
  }
}

void look_at_agent(const MachinePlaces& places, MachineFacts& facts) {
  facts.agent_socket = places.agent_socket;
  if (places.agent_socket.empty()) return;
  auto keys = keys_of_agent(places.agent_socket, patience, patience);
  if (keys)
    facts.agent_keys = keys->keys.size() + keys->foreign.size();
  else
    facts.agent_error = std::move(keys.error());
}

// The registry is opened only where that changes nothing: opening a folder that others can enter
// closes it to them.
void look_at_registry(const std::string& state, MachineFacts& facts) {
  struct stat status {};
  if (::stat((state + "/tasks.db").c_str(), &status) != 0) return;
  auto store = SqliteTaskStore::open(state);
  auto list = store ? (*store)->list(false) : Result<TaskList>(tl::make_unexpected(store.error()));
  if (!list) {
    facts.registry_error = std::move(list.error());
    return;
  }
  facts.tasks = list->tasks.size();
  for (const TaskRecord& task : list->tasks)
    if (task.is_unattended) facts.unattended.push_back(task.id);
  if (list->damaged.empty()) return;
  facts.registry_error =
      make_error(ErrorClass::no_input, list->damaged.front().why, list->damaged.front().next_step);
}

void look_at_state(const std::string& state, MachineFacts& facts) {
  facts.state = look_at_path(state);
  struct stat status {};
  if (facts.state.exists && ::lstat(state.c_str(), &status) == 0) {
    facts.state.is_own = status.st_uid == ::geteuid();
    if (!S_ISDIR(status.st_mode)) facts.state.trouble = "it is not a directory";
  }
  // The folder, or the nearest above it, where it would be made.
  std::string nearest = state;
  while (nearest.size() > 1 && ::access(nearest.c_str(), F_OK) != 0 && errno == ENOENT)
    nearest.erase(std::max<std::size_t>(nearest.rfind('/'), 1));
  facts.state_disk = disk_facts("state", nearest);
  facts.is_state_shared = is_shared_by_machines(file_system_kind(nearest));
  if (facts.state.exists && facts.state.is_own && (facts.state.mode & 077) == 0 &&
      facts.state.trouble.empty())
    look_at_registry(state, facts);
}

void look_at_limits(MachineFacts& facts) {
  constexpr int usual_processes = 256;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max != RLIM_INFINITY)
    facts.open_files = files.rlim_max;
  for (const RoomLimit& limit : room_limits(usual_processes, 0)) {
    if (limit.name.starts_with("open files")) continue;
    if (facts.processes && facts.processes->most - facts.processes->used <= limit.most - limit.used)
      continue;
    facts.processes = ProcessLimit{limit.name, limit.used, limit.most};
  }
}

void look_at_clock(MachineFacts& facts) {
  timex clock{};
  if (::adjtimex(&clock) >= 0) facts.is_clock_synchronized = (clock.status & STA_UNSYNC) == 0;
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (::gmtime_r(&now, &parts) != nullptr) facts.year = 1900 + parts.tm_year;
}

LogoutEffect logout_effect() {
  switch (at_own_logout()) {
    case AtLogout::nothing:
      return LogoutEffect::none;
    case AtLogout::kills_session:
      return LogoutEffect::kills_session;
    case AtLogout::ends_manager:
      return LogoutEffect::ends_manager;
  }
  return LogoutEffect::none;
}

}  // namespace

MachineFacts look_at_machine(const MachinePlaces& places) {
  MachineFacts facts;
  look_at_client(places, facts);
  look_at_ssh_files(places, facts);
  look_at_agent(places, facts);
  if (!places.state.empty()) look_at_state(places.state, facts);
  facts.logout = logout_effect();
  look_at_limits(facts);
  look_at_clock(facts);
  facts.temporary = disk_facts("temporary files", places.temporary);
  return facts;
}

}  // namespace train
