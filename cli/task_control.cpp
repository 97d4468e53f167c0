// SPDX-License-Identifier: Apache-2.0
#include "cli/task_control.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "backends/control/control_client.hpp"
#include "config_schema/hosts/host_fold.hpp"

namespace train {

namespace {

// A supervisor answers from its loop, which nothing blocks.
constexpr std::chrono::milliseconds answer_limit{2'000};

ControlAnswer answer_to(const ControlRequest& request, TaskDriver& driver) {
  ControlAnswer answer;
  if (const auto* stop = std::get_if<control_request::Stop>(&request)) {
    if (stop->signal == SIGINT || stop->signal == SIGTERM || stop->signal == SIGHUP)
      driver.stop(stop->signal);
    else
      answer.refused = fmt::format("signal {} does not stop a task", stop->signal);
  }
  answer.status = status_of(driver);
  return answer;
}

// "n[1-3]: running", a line for each state that hosts are in.
TerminalText describe_hosts(const ControlStatus& status) {
  std::map<std::string, std::vector<std::string>> by_state;
  for (const auto& host : status.hosts) by_state[host.state].push_back(host.name);
  TerminalText text;
  for (const auto& [state, names] : by_state)
    text += terminal_text("           {}: {}", summarize_hosts(names), state) + "\n";
  return text;
}

}  // namespace

ControlStatus status_of(const TaskDriver& driver) {
  const Task& task = driver.task();
  const Connections& connections = driver.connections();
  ControlStatus status;
  status.attempt = task.attempt();
  status.max_restarts = task.rules().max_restarts;
  status.phase = task.attempts().back().name();
  if (!driver.has_run()) return status;
  status.ranks_left = driver.run().ranks_left();
  for (int host = 0; host < connections.count(); ++host) {
    std::string state(driver.run().host_state(host).name());
    if (connections.is_away(host)) state = "out of reach";
    status.hosts.push_back({connections.name(host), std::move(state)});
  }
  return status;
}

std::unique_ptr<ControlServer> open_control(Loop& loop, const std::string& path,
                                            const std::string& task_id, TaskDriver& driver,
                                            const std::function<void(const TerminalText&)>& say) {
  auto server = ControlServer::open(
      loop, path, {control_version, task_id, ::getpid(), TRAIN_VERSION},
      [&driver](const ControlRequest& request) { return answer_to(request, driver); });
  if (server) return std::move(*server);
  say(terminal_text("{}; 'train task show' cannot tell how the task is while it runs",
                    terminal_text(server.error())));
  return nullptr;
}

TerminalText describe_now(const std::string& path) {
  auto client = ControlClient::connect(path, answer_limit);
  if (client && !*client) return {};
  const auto answer = client ? (*client)->ask(control_request::Status{}, answer_limit)
                             : Result<ControlAnswer>(tl::make_unexpected(client.error()));
  if (!answer) return terminal_text("now        {}", terminal_text(answer.error())) + "\n";
  const ControlStatus& status = answer->status;
  TerminalText text = terminal_text("now        {}", status.phase);
  if (status.max_restarts > 0)
    text +=
        terminal_text(", attempt {} of at most {}", status.attempt + 1, status.max_restarts + 1);
  text += terminal_text("; {} rank{} not ended", status.ranks_left,
                        status.ranks_left == 1 ? " has" : "s have");
  return text + "\n" + describe_hosts(status);
}

Result<bool> stop_through(const std::string& path, int signal) {
  auto client = ControlClient::connect(path, answer_limit);
  if (!client) return tl::make_unexpected(client.error());
  if (!*client) return false;
  const auto answer = (*client)->ask(control_request::Stop{signal}, answer_limit);
  // It was told, and will hear it: a signal as well would be a second request, without grace.
  if (!answer && answer.error().error_class == ErrorClass::busy) return true;
  if (!answer) return tl::make_unexpected(answer.error());
  if (!answer->refused.empty()) return fail(ErrorClass::no_input, answer->refused);
  return true;
}

}  // namespace train
