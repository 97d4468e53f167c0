// SPDX-License-Identifier: Apache-2.0
#include "cli/host_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace train {

namespace {

// One question to one host.
struct Question {
  std::unique_ptr<HostLink> link;
  std::string text;
  bool is_answered = false;
};

Result<SweepReport> unanswered(nanoseconds limit) {
  return fail(ErrorClass::host,
              fmt::format("no answer within {} s", limit / std::chrono::seconds(1)));
}

// Lines that are alike but for the host: the first few, and the number of the rest.
constexpr std::size_t most_lines = 8;

TerminalText processes(int count) {
  if (count == 1) return "1 process that it had left was ended";
  return terminal_text("{} processes that it had left were ended", count);
}

TerminalText describe(const SweepReport& report) {
  if (report.is_running) return "its agent is still there, and ends its ranks by itself";
  if (report.ended > 0) return "its agent was killed; " + processes(report.ended);
  if (report.found_state && report.survivors.empty())
    return "its agent was killed; it had left no processes";
  return {};
}

}  // namespace

std::vector<Result<SweepReport>> sweep_hosts(Loop& loop, Transport& transport,
                                             const std::vector<AbandonedHost>& hosts,
                                             nanoseconds limit) {
  std::vector<Result<SweepReport>> answers(hosts.size(), unanswered(limit));
  std::vector<Question> questions(hosts.size());
  std::size_t open = hosts.size();
  const auto answer = [&](std::size_t i, Result<SweepReport> what) {
    if (std::exchange(questions[i].is_answered, true)) return;
    answers[i] = std::move(what);
    if (--open == 0) loop.stop();
  };
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    LinkEvents events;
    events.on_open = [](const LinkInfo&) {};
    events.on_bytes = [&, i](std::string_view bytes) {
      std::string& text = questions[i].text;
      text +=
          bytes.substr(0, longest_sweep_report + 1 - std::min(text.size(), longest_sweep_report));
      const std::size_t end = text.find('\n');
      if (end != text.npos || text.size() > longest_sweep_report)
        answer(i, decode_sweep_report(std::string_view(text).substr(0, end)));
    };
    events.on_closed = [&, i](const Error& why) { answer(i, tl::make_unexpected(why)); };
    questions[i].link =
        transport.open(hosts[i].host, {hosts[i].key, AgentCall::Verb::sweep}, std::move(events));
  }
  const auto deadline = loop.after(limit, [&] { loop.stop(); });
  if (open > 0) loop.run();
  return answers;
}

TerminalText describe_sweep(const std::vector<AbandonedHost>& hosts,
                            const std::vector<Result<SweepReport>>& answers) {
  std::vector<TerminalText> lines;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string& name = hosts[i].host.name;
    const auto& report = answers[i];
    if (!report) {
      lines.push_back(terminal_text("host '{}': it is not known what its agent has left: {}", name,
                                    report.error().diagnostics.front().message));
      continue;
    }
    if (const TerminalText what = describe(*report); !what.empty())
      lines.push_back(terminal_text("host '{}': {}", name, what));
    for (const message::Survivor& survivor : report->survivors)
      lines.push_back(terminal_text("left on '{}': process {} of user {} could not be killed: {}",
                                    name, survivor.pid, survivor.uid, survivor.command));
  }
  TerminalText text;
  for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i)
    text += (i == 0 ? lines[i] : "\n" + lines[i]);
  if (lines.size() > most_lines)
    text += terminal_text("\n... and {} more", lines.size() - most_lines);
  return text;
}

}  // namespace train
