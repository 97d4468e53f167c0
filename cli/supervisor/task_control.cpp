// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/task_control.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

#include "backends/control/control_client.hpp"
#include "backends/ssh_keys/key_agent.hpp"
#include "cli/request/login_words.hpp"
#include "cli/request/transports.hpp"
#include "cli/story/launch_report.hpp"
#include "config_schema/hosts/host_fold.hpp"

namespace train {

namespace {

// A supervisor answers from its loop, which never blocks.
constexpr std::chrono::milliseconds answer_limit{2'000};
// An ssh-agent that need not ask its user answers in milliseconds.
constexpr std::chrono::milliseconds agent_limit{1'000};

// An ssh-agent without keys is useless, and would be used in place of another one.
bool has_keys(const std::string& agent_socket) {
  const auto held = keys_of_agent(agent_socket, agent_limit, agent_limit);
  return held && (!held->keys.empty() || !held->foreign.empty());
}

void take_credentials(const control_request::Lend& lend, const Controlled& task,
                      const std::function<void(const TerminalText&)>& print,
                      ControlAnswer& answer) {
  const Connections& connections = task.driver.connections();
  for (int host = 0; host < connections.count(); ++host)
    if (!connections.is_expected(host)) task.logins.forget(connections.name(host));
  answer.waiting = task.logins.waiting();
  answer.served = task.logins.lend({lend.agent_socket, lend.kerberos_cache});
  if (answer.served.empty()) return;
  print(terminal_text("{} logged in to with what 'train task attach' has lent from now on",
                      hosts_that(answer.served, "is", "are")));
  task.driver.try_hosts_now();
}

// Names missing credentials as the reason, so that the user does not wait for the network.
std::string state_of(int host, const TaskDriver& driver, const std::set<std::string>& refused) {
  const Connections& connections = driver.connections();
  if (!connections.is_away(host))
    return std::string(driver.run().host_state(driver.hosts().node_of(host)).name());
  if (!refused.contains(connections.name(host))) return "out of reach";
  return "out of reach: it refuses what its launcher can log in with";
}

void kill_trial(const control_request::KillTrial& kill, const Controlled& task,
                const std::function<void(const TerminalText&)>& print, ControlAnswer& answer) {
  if (task.search == nullptr) {
    answer.refused = "it is no search, whose trials could be ended one by one";
    return;
  }
  const Search& search = task.search->search();
  if (kill.trial >= search.trials()) {
    answer.refused = fmt::format("it has no trial {}: its trials are 0 to {} so far", kill.trial,
                                 search.trials() - 1);
    return;
  }
  const auto state_now = [&] { return trial_states().row(search.state(kill.trial)).name; };
  if (!task.search->kill_trial(kill.trial))
    answer.refused = search.state(kill.trial) == TrialState::stopping
                         ? fmt::format("trial {} was told to stop already", kill.trial)
                         : fmt::format("trial {} has ended already: {}", kill.trial, state_now());
  else
    print(terminal_text("trial {} is ended by 'train task kill'", kill.trial));
  answer.trial_state = state_now();
}

ControlAnswer answer_to(const ControlRequest& request, const Controlled& task,
                        const std::function<void(const TerminalText&)>& print) {
  ControlAnswer answer;
  TaskDriver& driver = task.driver;
  if (const auto* lend = std::get_if<control_request::Lend>(&request))
    take_credentials(*lend, task, print, answer);
  if (const auto* stop = std::get_if<control_request::Stop>(&request)) {
    if (stop->signal == SIGINT || stop->signal == SIGTERM || stop->signal == SIGHUP)
      task.stop(stop->signal);
    else
      answer.refused = fmt::format("signal {} does not stop a task", stop->signal);
  }
  if (const auto* kill = std::get_if<control_request::KillTrial>(&request))
    kill_trial(*kill, task, print, answer);
  answer.status = status_of(driver, task.logins);
  return answer;
}

// "n[1-3]: running": a line for each host state that occurs.
TerminalText describe_hosts(const ControlStatus& status) {
  std::map<std::string, std::vector<std::string>> by_state;
  for (const auto& host : status.hosts) by_state[host.state].push_back(host.name);
  TerminalText text;
  for (const auto& [state, names] : by_state)
    text += terminal_text("           {}: {}", summarize_hosts(names), state) + "\n";
  return text;
}

}  // namespace

ControlStatus status_of(const TaskDriver& driver, const Logins& logins) {
  const Task& task = driver.task();
  const Connections& connections = driver.connections();
  ControlStatus status;
  status.attempt = task.attempt();
  status.max_restarts = task.rules().max_restarts + task.restarts() - task.counted_restarts();
  status.phase = task.attempts().back().name();
  if (!driver.has_run()) return status;
  status.ranks_left = driver.run().ranks_left();
  const std::vector<std::string> waiting = logins.waiting();
  const std::set<std::string> refused(waiting.begin(), waiting.end());
  for (const int host : driver.hosts().of_task())
    status.hosts.push_back({connections.name(host), state_of(host, driver, refused)});
  for (int rank = 0; rank < driver.run().world_size(); ++rank)
    if (const RankUsage* const usage = driver.run().usage_of(rank))
      status.usage.push_back({rank, *usage});
  return status;
}

std::unique_ptr<ControlServer> open_control(Loop& loop, const std::string& path,
                                            const std::string& task_id, Controlled task,
                                            const std::function<void(const TerminalText&)>& print) {
  auto server = ControlServer::open(
      loop, path, {control_version, task_id, ::getpid(), TRAIN_VERSION},
      [task, print](const ControlRequest& request) { return answer_to(request, task, print); });
  if (server) return std::move(*server);
  print(terminal_text("{}; 'train task show' cannot tell how the task is while it runs",
                      terminal_text(server.error())));
  return nullptr;
}

Result<std::optional<ControlStatus>> ask_now(const std::string& path) {
  auto client = ControlClient::connect(path, answer_limit);
  if (!client) return tl::make_unexpected(client.error());
  if (!*client) return std::nullopt;
  auto answer = (*client)->ask(control_request::Status{}, answer_limit);
  if (!answer) return tl::make_unexpected(answer.error());
  if (!*answer) return std::nullopt;
  return std::move((*answer)->status);
}

TerminalText describe_now(const Result<std::optional<ControlStatus>>& now) {
  if (!now) return terminal_text("now        {}", terminal_text(now.error())) + "\n";
  if (!*now) return {};
  const ControlStatus& status = **now;
  TerminalText text = terminal_text("now        {}", status.phase);
  if (status.max_restarts > 0)
    text +=
        terminal_text(", attempt {} of at most {}", status.attempt + 1, status.max_restarts + 1);
  text += terminal_text("; {} rank{} not ended", status.ranks_left,
                        status.ranks_left == 1 ? " has" : "s have");
  return text + "\n" + describe_hosts(status);
}

void take_usage(TaskRecord& task, const ControlStatus& now) {
  for (const UsageOfRank& each : now.usage)
    if (static_cast<std::size_t>(each.rank) < task.ranks.size())
      record_usage(task.ranks[static_cast<std::size_t>(each.rank)], each.usage);
}

std::optional<TerminalText> lend_credentials(const std::string& path) {
  const auto not_lent = [](const Error& why) {
    return terminal_text("nothing of this terminal is lent to the launcher for logins: {}",
                         terminal_text(why));
  };
  auto client = ControlClient::connect(path, answer_limit);
  if (!client) return not_lent(client.error());
  if (!*client) return std::nullopt;
  Credentials own = own_credentials();
  if (!own.agent_socket.empty() && !has_keys(own.agent_socket)) own.agent_socket.clear();
  const auto answer =
      (*client)->ask(control_request::Lend{own.agent_socket, own.kerberos_cache}, answer_limit);
  if (!answer) return not_lent(answer.error());
  if (!*answer) return std::nullopt;
  const auto& served = (*answer)->served;
  const auto& waiting = (*answer)->waiting;
  if (!served.empty())
    return terminal_text("{} logged in to with the {} of this terminal from now on",
                         hosts_that(served, "is", "are"),
                         own.agent_socket.empty() ? "Kerberos tickets" : "ssh-agent");
  if (waiting.empty()) return TerminalText();
  return terminal_text(
      "{} for a login, and this terminal has nothing to lend that the launcher can use; once "
      "'ssh-add -l' shows a key here, attach again",
      hosts_that(waiting, "waits", "wait"));
}

Result<bool> stop_through(const std::string& path, int signal) {
  auto client = ControlClient::connect(path, answer_limit);
  if (!client) return tl::make_unexpected(client.error());
  if (!*client) return false;
  const auto answer = (*client)->ask(control_request::Stop{signal}, answer_limit);
  // The launcher has the request queued and will read it: an additional signal would count as a
  // second request, which skips the grace period.
  if (!answer && answer.error().error_class == ErrorClass::busy) return true;
  if (!answer) return tl::make_unexpected(answer.error());
  if (!*answer) return false;
  if (!(*answer)->refused.empty()) return fail(ErrorClass::no_input, (*answer)->refused);
  return true;
}

Result<std::optional<TrialState>> kill_trial_through(const std::string& path, int trial) {
  auto client = ControlClient::connect(path, answer_limit);
  if (!client) return tl::make_unexpected(client.error());
  if (!*client) return std::nullopt;
  const auto answer = (*client)->ask(control_request::KillTrial{trial}, answer_limit);
  if (!answer) return tl::make_unexpected(answer.error());
  if (!*answer) return std::nullopt;
  if (!(*answer)->refused.empty()) return fail(ErrorClass::no_input, (*answer)->refused);
  for (const auto& row : trial_states().rows())
    if (row.name == (*answer)->trial_state) return row.state;
  return TrialState::stopping;  // a state name of a later version
}

}  // namespace train
