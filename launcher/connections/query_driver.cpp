// SPDX-License-Identifier: Apache-2.0
#include "launcher/connections/query_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config_schema/text/duration.hpp"

namespace train {

namespace {

// Shorter than usual: the user waits for the answers of the other hosts.
constexpr milliseconds connect_limit{5'000};

}  // namespace

HostQuery inspection_query(const Host& host) {
  return {{look_word(host.lease_directory), AgentCall::Verb::look}, longest_host_report};
}

QueryDriver::QueryDriver(Ports ports, std::vector<Host> hosts,
                         std::function<HostQuery(const Host&)> question_of, nanoseconds limit,
                         std::function<void()> on_over)
    : ports_(ports),
      hosts_(std::move(hosts)),
      question_of_(std::move(question_of)),
      limit_(limit),
      on_over_(std::move(on_over)),
      answers_(hosts_.size(),
               fail(ErrorClass::host, fmt::format("no answer within {}", duration_text(limit)))),
      open_(hosts_.size()) {}

void QueryDriver::start() {
  // Without hosts there is nothing to wait for, but `on_over` never comes from inside this call.
  const nanoseconds wait = hosts_.empty() ? nanoseconds(0) : limit_;
  deadline_ = ports_.timers.after(wait, [this] { reach_limit(); });
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    HostQuery question = question_of_(hosts_[host]);
    question.call.connect_limit = connect_limit;
    questions_.push_back(std::make_unique<HostQuestion>(
        ports_.transport, hosts_[host], question.call, question.longest,
        [this, host](Result<std::string_view> line) { answer(host, std::move(line)); },
        question.request));
  }
}

// A user who is asked for a passphrase has unlimited time for it; after that the hosts have the
// full limit.
void QueryDriver::reach_limit() {
  const bool is_asking = std::any_of(questions_.begin(), questions_.end(),
                                     [](const auto& each) { return each->is_asking(); });
  if (!is_asking && !was_asking_) return end();
  constexpr milliseconds next_look{500};
  const nanoseconds wait = is_asking ? nanoseconds(next_look) : limit_;
  was_asking_ = is_asking;
  deadline_ = ports_.timers.after(wait, [this] { reach_limit(); });
}

void QueryDriver::answer(std::size_t host, Result<std::string_view> what) {
  if (is_over_) return;
  if (what)
    answers_[host] = Answer{std::string(*what), ports_.timers.now()};
  else
    answers_[host] = tl::make_unexpected(std::move(what.error()));
  if (--open_ == 0) end();
}

void QueryDriver::end() {
  if (std::exchange(is_over_, true)) return;
  deadline_.reset();
  on_over_();
}

}  // namespace train
