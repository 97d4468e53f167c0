// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/host_inquiry.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <utility>

#include "backends/event_loop/loop.hpp"
#include "cli/surroundings/time_text.hpp"
#include "launcher/connections/query_driver.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds inspection_limit{15};
// Python and slow disks on a host may take long.
constexpr std::chrono::seconds check_limit{30};

std::vector<Result<QueryDriver::Answer>> ask(const std::vector<Host>& hosts,
                                             HostConnections& connections, nanoseconds limit,
                                             std::function<HostQuery(const Host&)> question_of) {
  Loop loop(connections.loop);
  QueryDriver driver({loop, connections.transports}, hosts, std::move(question_of), limit,
                     [&loop] { loop.stop(); });
  driver.start();
  loop.run();
  return driver.answers();
}

}  // namespace

std::vector<Result<HostReport>> query_hosts(const std::vector<Host>& hosts,
                                            HostConnections& connections) {
  std::vector<Result<HostReport>> reports;
  for (const auto& answer : ask(hosts, connections, inspection_limit, inspection_query))
    reports.push_back(answer ? decode_host_report(answer->line)
                             : tl::make_unexpected(answer.error()));
  return reports;
}

HostInquiry::HostInquiry(std::vector<Host> hosts)
    : hosts_(std::move(hosts)), connections_(std::in_place, hosts_) {
  signals_.end();
}

HostInquiry::~HostInquiry() {
  connections_.reset();
  signals_.end();
  if (stop_signal_) std::raise(*stop_signal_);
}

std::vector<Result<HostReport>> HostInquiry::query() {
  heed_signals();
  auto reports = query_hosts(hosts_, *connections_);
  signals_.end();
  return reports;
}

std::vector<CheckedHost> HostInquiry::check(
    const std::function<FitnessRequest(const Host&)>& request_of) {
  heed_signals();
  const nanoseconds began = wall_time();
  const Instant began_at = connections_->loop.now();
  const auto answers = ask(hosts_, *connections_, check_limit, [&](const Host& host) {
    return HostQuery{{"check", AgentCall::Verb::check},
                     longest_host_fitness,
                     encode_fitness_request(request_of(host))};
  });
  signals_.end();
  std::vector<CheckedHost> checked;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const auto& answer = answers[i];
    CheckedHost each{hosts_[i], answer ? decode_host_fitness(answer->line)
                                       : tl::make_unexpected(answer.error())};
    if (each.fitness) {
      const nanoseconds theirs(each.fitness->wall_ns);
      each.clock_ahead_least = theirs - (began + (answer->at - began_at));
      each.clock_ahead_most = theirs - began;
    }
    checked.push_back(std::move(each));
  }
  return checked;
}

void HostInquiry::keep_sessions() { connections_->transports.keep_sessions(true); }

void HostInquiry::pause(nanoseconds length, const std::function<bool()>& is_enough) {
  constexpr milliseconds often{100};
  Loop loop(connections_->loop);
  const auto over = loop.after(length, [&loop] { loop.stop(); });
  std::unique_ptr<Subscription> next;
  std::function<void()> ask = [&] {
    if (is_enough()) return loop.stop();
    next = loop.after(often, ask);
  };
  next = loop.after(nanoseconds(0), ask);
  heed_signals();
  loop.run();
  signals_.end();
}

void HostInquiry::heed_signals() {
  signals_.deliver(connections_->loop, [this](int number) {
    stop_signal_ = number;
    connections_->loop.stop();
  });
}

std::vector<std::optional<HostReport>> answered(const std::vector<Result<HostReport>>& reports,
                                                const std::string& own_task) {
  std::vector<std::optional<HostReport>> said;
  for (const Result<HostReport>& report : reports) {
    said.push_back(report ? std::optional(*report) : std::nullopt);
    if (!report || own_task.empty()) continue;
    std::erase_if(said.back()->holders,
                  [&](const LeaseHolder& holder) { return holder.task == own_task; });
  }
  return said;
}

}  // namespace train
