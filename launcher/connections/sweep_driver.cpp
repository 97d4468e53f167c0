// SPDX-License-Identifier: Apache-2.0
#include "launcher/connections/sweep_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "config_schema/text/duration.hpp"

namespace train {

namespace {

// Pause between two questions to a host whose agent was told to leave and is still there.
constexpr milliseconds goodbye_pause{1'000};

Result<SweepReport> unanswered(nanoseconds limit) {
  return fail(ErrorClass::host, fmt::format("no answer within {}", duration_text(limit)));
}

}  // namespace

SweepVerdict verdict_of(const std::vector<Result<SweepReport>>& answers) {
  SweepVerdict verdict = SweepVerdict::clean;
  for (const auto& answer : answers) {
    if (!answer || !answer->survivors.empty()) return SweepVerdict::unclear;
    if (answer->is_running) verdict = SweepVerdict::busy;
  }
  return verdict;
}

SweepDriver::SweepDriver(Ports ports, std::vector<AbandonedHost> hosts, nanoseconds limit,
                         std::function<void()> on_over, std::optional<Goodbye> goodbye)
    : ports_(ports),
      hosts_(std::move(hosts)),
      limit_(limit),
      on_over_(std::move(on_over)),
      goodbye_(goodbye),
      answers_(hosts_.size(), unanswered(limit)),
      questions_(hosts_.size()),
      open_(hosts_.size()) {}

void SweepDriver::start() {
  // Without hosts there is nothing to wait for, but `on_over` never comes from inside this call.
  const nanoseconds wait = hosts_.empty() ? nanoseconds(0) : limit_;
  deadline_ = ports_.timers.after(wait, [this] { end(); });
  for (std::size_t host = 0; host < hosts_.size(); ++host) ask(host);
}

void SweepDriver::ask(std::size_t host) {
  questions_[host].goodbye.reset();
  questions_[host].question = std::make_unique<HostQuestion>(
      ports_.transport, hosts_[host].host, AgentCall{hosts_[host].key, AgentCall::Verb::sweep},
      longest_sweep_report, [this, host](Result<std::string_view> line) {
        reported(host, line ? decode_sweep_report(*line) : tl::make_unexpected(line.error()));
      });
}

// At the limit, the last report is the answer.
void SweepDriver::reported(std::size_t host, Result<SweepReport> what) {
  Question& question = questions_[host];
  if (is_over_ || question.is_answered) return;
  if (what) what->was_dismissed = question.goodbyes > 0;
  if (!what || !what->is_running || !goodbye_) return answer(host, std::move(what));
  answers_[host] = std::move(what);
  later(host, question.goodbyes > 0 ? goodbye_pause : nanoseconds(0),
        [this, host] { send_goodbye(host); });
}

// The agent leaves once its ranks have ended, and its stream ends with it. An agent that is already
// leaving closes the stream at once.
void SweepDriver::send_goodbye(std::size_t host) {
  Question& question = questions_[host];
  message::Attach attach;
  attach.epoch = goodbye_->epoch;
  attach.connection = goodbye_->first_connection + question.goodbyes++;
  answers_[host]->was_dismissed = true;
  LinkEvents events;
  events.on_open = [](const LinkInfo&) {};
  events.on_bytes = [](std::string_view) {};
  events.on_closed = [this, host](const Error&) {
    later(host, nanoseconds(0), [this, host] { ask(host); });
  };
  question.question.reset();
  question.goodbye = ports_.transport.open(
      hosts_[host].host, {hosts_[host].key, AgentCall::Verb::reattach}, std::move(events));
  question.goodbye->send(frame_of(attach) + frame_of(message::Bye{}));
}

// A link must not be destroyed inside its own callbacks.
void SweepDriver::later(std::size_t host, nanoseconds wait, std::function<void()> step) {
  if (is_over_) return;
  questions_[host].next_step = ports_.timers.after(wait, [this, step = std::move(step)] {
    if (!is_over_) step();
  });
}

void SweepDriver::answer(std::size_t host, Result<SweepReport> what) {
  if (is_over_ || std::exchange(questions_[host].is_answered, true)) return;
  answers_[host] = std::move(what);
  if (--open_ == 0) end();
}

void SweepDriver::cut_short() {
  for (std::size_t host = 0; host < hosts_.size(); ++host)
    if (!questions_[host].is_answered && !answers_[host])
      answers_[host] = fail(ErrorClass::host, "it was not waited for any longer");
  end();
}

void SweepDriver::forget() {
  is_over_ = true;
  deadline_.reset();
}

void SweepDriver::end() {
  if (std::exchange(is_over_, true)) return;
  deadline_.reset();
  on_over_();
}

}  // namespace train
