// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_config.hpp"

#include <unistd.h>

#include <algorithm>

#include "backends/ssh/name_patterns.hpp"
#include "backends/ssh/ssh_config_files.hpp"

namespace train {

namespace {

// ssh -G is all computation, but for a Match exec or a name server that takes its time.
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

SshConfig::SshConfig(Loop& loop, SshConfigFiles files, SshSettings defaults)
    : loop_(loop),
      files_(std::move(files)),
      defaults_(std::move(defaults)),
      max_queries_(queries_at_a_time()) {}

SshConfig::~SshConfig() = default;

void SshConfig::settings_of(const SshDestination& destination, OnSettings on_settings) {
  read_files();
  if (!outline_ || !outline_->matters()) return on_settings(default_settings(destination));
  const std::string name = group_of(destination);
  const auto [group, is_new] = groups_.try_emplace(name);
  if (group->second.settings) return on_settings(settings_for(group->second, destination));
  group->second.waiting.push_back({destination, std::move(on_settings)});
  if (!is_new) return;
  unasked_.push_back(name);
  ask_next();
}

void SshConfig::read_files() {
  if (std::exchange(files_are_read_, true)) return;
  outline_ = outline_ssh_config(files_.user_file, files_.system_file, files_.home);
}

// Names of groups that are hosts begin with "=", which no list of matches does.
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
                                                files_.environment, files_.deadline,
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
  if (settings && settings->hostname == lower_case(asked.host)) settings->hostname.clear();
  group.settings = std::move(settings);
  // The answers are made first: a callback may destroy whoever owns this object.
  std::vector<std::pair<OnSettings, Result<SshSettings>>> answers;
  for (Waiter& waiter : std::exchange(group.waiting, {}))
    answers.emplace_back(std::move(waiter.on_settings), settings_for(group, waiter.destination));
  const auto query = std::move(queries_[name]);
  queries_.erase(name);
  ask_next();
  for (const auto& [on_settings, answer] : answers) on_settings(answer);
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
