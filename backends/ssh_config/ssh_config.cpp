// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/ssh_config.hpp"

#include <unistd.h>

#include <algorithm>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

// ssh -G only computes, except for a Match exec or a slow name server.
int queries_at_a_time() {
  return static_cast<int>(std::clamp(2 * ::sysconf(_SC_NPROCESSORS_ONLN), 4L, 16L));
}

std::vector<std::string> command_for(const std::string& program,
                                     const SshDestination& destination) {
  std::vector<std::string> command = {program, "-T", "-G"};
  if (!destination.user.empty()) command.insert(command.end(), {"-l", destination.user});
  if (destination.port) command.insert(command.end(), {"-p", std::to_string(*destination.port)});
  command.insert(command.end(), {"--", destination.host});
  return command;
}

}  // namespace

SshConfig::SshConfig(Loop& loop, FileWork& work, SshConfigFiles files, SshSettings defaults)
    : loop_(loop),
      work_(work),
      files_(std::move(files)),
      defaults_(std::move(defaults)),
      max_queries_(queries_at_a_time()),
      reaper_(loop) {}

SshConfig::~SshConfig() = default;

void SshConfig::settings_of(const SshDestination& destination, OnSettings on_settings) {
  Waiter waiter{destination, std::move(on_settings)};
  if (files_state_ == Files::read) return look_up(std::move(waiter));
  waiting_.push_back(std::move(waiter));
  if (files_state_ == Files::unread) read_files();
}

void SshConfig::read_files() {
  files_state_ = Files::being_read;
  const auto outline = std::make_shared<std::optional<SshConfigOutline>>();
  work_.run(
      "reading " + (files_.user_file.empty() ? files_.system_file : files_.user_file),
      [outline, files = files_] {
        *outline = outline_ssh_config(files.user_file, files.system_file, files.home);
      },
      [this, outline, alive = std::weak_ptr(is_alive_)](Result<void> done) {
        if (alive.expired()) return;
        if (done) outline_ = std::move(*outline);
        on_files(std::move(done));
      });
}

void SshConfig::on_files(Result<void> done) {
  files_state_ = Files::read;
  if (!done) trouble_ = done.error();
  for (Waiter& waiter : std::exchange(waiting_, {})) look_up(std::move(waiter));
}

void SshConfig::look_up(Waiter waiter) {
  if (trouble_) return answer(std::move(waiter.on_settings), tl::make_unexpected(*trouble_));
  if (!outline_ || !outline_->matters())
    return answer(std::move(waiter.on_settings), default_settings(waiter.destination));
  const std::string name = group_of(waiter.destination);
  const auto [group, is_new] = groups_.try_emplace(name);
  if (group->second.settings)
    return answer(std::move(waiter.on_settings), settings_for(group->second, waiter.destination));
  group->second.waiting.push_back(std::move(waiter));
  if (!is_new) return;
  unasked_.push_back(name);
  ask_next();
}

// A callback may destroy the owner of this object; then no other callback is called.
void SshConfig::answer(OnSettings on_settings, Result<SshSettings> settings) {
  loop_.post([alive = std::weak_ptr(is_alive_), on_settings = std::move(on_settings),
              settings = std::move(settings)] {
    if (!alive.expired()) on_settings(settings);
  });
}

// Groups of a single host have names that begin with "=", unlike groups of matching lines.
std::string SshConfig::group_of(const SshDestination& destination) const {
  const std::string host = outline_->group_of(destination.host).value_or("=" + destination.host);
  return host + " " + destination.user + " " +
         (destination.port ? std::to_string(*destination.port) : "");
}

void SshConfig::ask_next() {
  while (!unasked_.empty() && static_cast<int>(queries_.size()) < max_queries_) {
    const std::string name = std::move(unasked_.front());
    unasked_.pop_front();
    const SshDestination asked = groups_[name].waiting.front().destination;
    queries_[name] = std::make_unique<SshQuery>(loop_, command_for(files_.program, asked),
                                                files_.environment, files_.deadline, reaper_,
                                                [this, name, asked](Result<std::string> output) {
                                                  on_answer(name, asked, std::move(output));
                                                });
  }
}

void SshConfig::on_answer(const std::string& name, const SshDestination& asked,
                          Result<std::string> output) {
  Group& group = groups_[name];
  Result<SshSettings> settings =
      output ? parse_ssh_settings(*output) : tl::make_unexpected(output.error());
  if (settings && settings->hostname == to_lower(asked.host)) settings->hostname.clear();
  group.settings = std::move(settings);
  for (Waiter& waiter : std::exchange(group.waiting, {}))
    answer(std::move(waiter.on_settings), settings_for(group, waiter.destination));
  const auto query = std::move(queries_[name]);  // this function runs inside it
  queries_.erase(name);
  ask_next();
}

Result<SshSettings> SshConfig::settings_for(const Group& group,
                                            const SshDestination& destination) const {
  Result<SshSettings> settings = *group.settings;
  if (settings && settings->hostname.empty()) settings->hostname = destination.host;
  return settings;
}

SshSettings SshConfig::default_settings(const SshDestination& destination) const {
  SshSettings settings = defaults_;
  settings.hostname = destination.host;
  if (!destination.user.empty()) settings.user = destination.user;
  settings.port = destination.port.value_or(settings.port);
  return settings;
}

}  // namespace train
