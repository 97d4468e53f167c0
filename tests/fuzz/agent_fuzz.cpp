// SPDX-License-Identifier: Apache-2.0
// What the agent of a host says, where anybody may answer: the first line of an input says how far
// an honest run had come, every other is the payload of a control frame. Whatever it is, the run
// ends, and what is said of it in the end is short and ours.
#include <cstdlib>

#include "cli/story/launch_report.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/frames/frame.hpp"
#include "launcher/run/run.hpp"
#include "launcher/wire/message_limits.hpp"
#include "tests/fuzz/property.hpp"
#include "tests/launcher/run/trial_of.hpp"

using namespace train;
using fuzz::require;

namespace {

constexpr int hostile = 1;
constexpr std::size_t most_said = 100'000;

/// Two hosts of two ranks each, of which the second is hostile from some step on.
class Attempt {
 public:
  Attempt()
      : trial_(trial_of({2, 2})),
        connections_({"h0", "h1"}, Connections::Timing()),
        run_(trial_, {connections_, TrialHosts::all(connections_.count())},
             {PortNeeds(), milliseconds(1'000)}) {}

  // Each step needs those before it.
  void begin(std::string_view steps) {
    const std::size_t count = std::min<std::size_t>(steps.size(), 4);
    if (count > 0)
      on_both([](int host) {
        return connection_event::HostOpened{host, "10.0.0." + std::to_string(host + 1)};
      });
    if (count > 1) on_both([&](int host) { return said(host, message::Pong{now_, now_}); });
    if (count > 2) on_both([&](int host) { return said(host, message::Ready{{}, "/run"}); });
    if (count > 3)
      for (int rank = 0; rank < trial_.world_size; ++rank)
        on(said(trial_.ranks[static_cast<std::size_t>(rank)].host, message::RankStarted{rank, 1}));
  }
  void on(const ConnectionEvent& event) {
    now_ += std::chrono::milliseconds(1);
    if (!run_.over()) carry_out(connections_.on(event, now_));
  }
  const RunOutcome& end() {
    const Error gone = make_error(ErrorClass::host, "gone");
    on_both([&](int host) { return connection_event::HostClosed{host, gone}; });
    for (int i = 0; i < 100 && !run_.over(); ++i) {
      now_ = std::max(run_.next_deadline().value_or(now_),
                      connections_.next_deadline().value_or(now_));
      on(connection_event::Tick{});
      feed(run_event::Tick{});
    }
    require(run_.over(), "a run ends");
    return run_.outcome();
  }
  static connection_event::HostSaid said(int host, Message message) {
    return {host, std::move(message)};
  }
  const Trial& trial() const { return trial_; }

 private:
  void carry_out(const std::vector<ConnectionAction>& actions) {
    for (const ConnectionAction& action : actions)
      if (const auto* news = std::get_if<HostNews>(&action)) feed(*news);
  }
  void feed(const RunEvent& event) {
    for (const RunAction& action : run_.on(event, now_)) {
      if (const auto* let_go = std::get_if<run_action::LetGo>(&action))
        carry_out(connections_.let_go(let_go->host));
      if (const auto* dismiss = std::get_if<run_action::Dismiss>(&action))
        carry_out(connections_.dismiss(dismiss->host));
      if (const auto* go = std::get_if<run_action::SendGo>(&action))
        connections_.begin_ranks(go->host, now_);
    }
  }
  template <class MakeEvent>
  void on_both(MakeEvent make_event) {
    for (int host = 0; host < 2; ++host) on(make_event(host));
  }

  Trial trial_;
  Connections connections_;
  Run run_;
  Instant now_{1'000'000'000};
};

void check(const Message& message) {
  const std::string encoded = encode_message(message);
  const auto again = decode_message(encoded);
  require(again && *again == message, "what was encoded is decoded", encoded);
  const Message limited = within_limits(message);
  require(within_limits(limited) == limited, "what was cut is within the limits", encoded);
  const auto back = decode_message(encode_message(limited));
  require(back && *back == limited, "what was cut is decoded", encoded);
}

void check_last_words(const RunOutcome& outcome, const Trial& trial) {
  static Terminal terminal([] {});
  static const RankOutput output(terminal, Tee{});
  TaskRecord task;
  task.ranks.resize(trial.ranks.size());
  record_outcome(task, outcome, trial);
  const std::string told = talk_text(last_words(outcome, trial, output, task));
  require(told.size() <= most_said, "what is said in the end is short", told);
  for (const std::string& line : split_lines(told)) {
    require(plain_length(line) == line.size(), "nothing steers the terminal", line);
    require(line.starts_with("train: ") || line.starts_with("  "), "every line is ours", line);
    require(!line.starts_with("train: forged"), "nobody makes our lines", told);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const fuzz::CpuLimit limit;
  Attempt attempt;
  bool is_first = true;
  for (const std::string_view line : split(input, '\n')) {
    if (std::exchange(is_first, false)) {
      attempt.begin(line);
      continue;
    }
    auto message = decode_message(line);
    if (!message) {
      attempt.on(connection_event::HostClosed{hostile, message.error()});
      continue;
    }
    check(*message);
    attempt.on(Attempt::said(hostile, std::move(*message)));
  }
  check_last_words(attempt.end(), attempt.trial());
  return 0;
}
