// SPDX-License-Identifier: Apache-2.0
#include "launcher/queue/wait_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace train {

namespace {

// Shorter than usual: the task's order is final only once all hosts have answered or failed.
constexpr milliseconds connect_limit{5'000};

}  // namespace

WaitDriver::WaitDriver(Ports ports, std::vector<Host> hosts, const std::string& task, Ticket ticket,
                       std::optional<nanoseconds> limit, Hooks hooks)
    : ports_(ports),
      hosts_(std::move(hosts)),
      task_(task),
      hooks_(std::move(hooks)),
      waiter_(std::move(ticket), task, static_cast<int>(hosts_.size()), limit),
      of_hosts_(hosts_.size()),
      deadline_(ports.timers, [this] {
        waiter_.tick(ports_.timers.now());
        carry_out();
      }) {}

void WaitDriver::start(std::int64_t unix_now_ns) {
  started_ = ports_.timers.now();
  waiter_.start(started_, unix_now_ns);
  carry_out();
  show_life();
}

void WaitDriver::show_life() {
  life_ = ports_.timers.after(wait_sign_of_life, [this] {
    for (const OfHost& host : of_hosts_)
      if (host.link) host.link->send("\n");
    show_life();
  });
}

void WaitDriver::refused() {
  waiter_.refused(ports_.timers.now());
  carry_out();
}

void WaitDriver::carry_out() {
  for (auto actions = waiter_.take_actions(); !actions.empty(); actions = waiter_.take_actions())
    for (const WaiterAction& action : actions)
      std::visit([this](const auto& each) { perform(each); }, action);
  deadline_.set(waiter_.next_deadline());
}

void WaitDriver::perform(const waiter_action::Open& action) {
  const int host = action.host;
  close(host);
  OfHost& of_host = of_hosts_[static_cast<std::size_t>(host)];
  LinkEvents events;
  events.on_open = [](const LinkInfo&) {};
  events.on_bytes = [this, host](std::string_view bytes) { received(host, bytes); };
  events.on_closed = [this, host](const Error& why) {
    close(host);
    waiter_.lost(host, why, ports_.timers.now());
    carry_out();
  };
  const AgentCall call{fmt::format("{}-{}", task_, host), AgentCall::Verb::wait, connect_limit};
  of_host.text = LineBuffer();
  of_host.link =
      ports_.transport.open(hosts_[static_cast<std::size_t>(host)], call, std::move(events));
  send_ticket(host);
}

void WaitDriver::perform(const waiter_action::Plan&) {
  const Turn turn = hooks_.on_turn();
  waiter_.planned(turn, ports_.timers.now());
}

void WaitDriver::close(int host) {
  auto& link = of_hosts_[static_cast<std::size_t>(host)].link;
  if (!link) return;
  closed_.push_back(std::move(link));
  removal_ = ports_.timers.after(nanoseconds(0), [this] { closed_.clear(); });
}

void WaitDriver::send_ticket(int host) {
  OfHost& of_host = of_hosts_[static_cast<std::size_t>(host)];
  if (!of_host.link) return;
  Ticket ticket = waiter_.ticket(host);
  ticket.waited_ms =
      std::chrono::duration_cast<milliseconds>(ports_.timers.now() - started_).count();
  of_host.link->send(encode_wait_ticket(
      {std::move(ticket), hosts_[static_cast<std::size_t>(host)].lease_directory}));
}

// A malformed or overlong line ends the connection.
void WaitDriver::received(int host, std::string_view bytes) {
  OfHost& of_host = of_hosts_[static_cast<std::size_t>(host)];
  if (!of_host.link) return;
  of_host.text.feed(bytes);
  while (of_host.link) {
    const auto line = of_host.text.next();
    if (!line) break;
    took(host, *line);
  }
  if (!of_host.link || of_host.text.rest().size() <= longest_wait_report) return;
  close(host);
  waiter_.lost(host, make_error(ErrorClass::host, "what it says has no end"), ports_.timers.now());
  carry_out();
}

void WaitDriver::took(int host, std::string_view line) {
  if (line.empty()) {
    waiter_.note_sign_of_life(host, ports_.timers.now());
    return;
  }
  auto report = decode_wait_report(line);
  if (!report) {
    close(host);
    waiter_.lost(host, report.error(), ports_.timers.now());
    return carry_out();
  }
  std::erase_if(report->host.holders,
                [this](const LeaseHolder& holder) { return holder.task == task_; });
  const int idle_slots = hooks_.count_idle_slots(host, report->host);
  of_hosts_[static_cast<std::size_t>(host)].report = std::move(report->host);
  waiter_.reported(host, report->arrived_ns, std::move(report->tickets), ports_.timers.now(),
                   idle_slots);
  carry_out();
}

std::vector<std::optional<HostReport>> WaitDriver::reports() const {
  std::vector<std::optional<HostReport>> all;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    const HostReport& report = of_hosts_[static_cast<std::size_t>(host)].report;
    all.push_back(waiter_.stands_on(host) ? std::optional(report) : std::nullopt);
  }
  return all;
}

}  // namespace train
