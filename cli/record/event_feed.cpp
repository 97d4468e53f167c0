// SPDX-License-Identifier: Apache-2.0
#include "cli/record/event_feed.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <vector>

#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/short_run.hpp"
#include "launcher/journal/recorded_events.hpp"
#include "launcher/record/task_json.hpp"

namespace train {

namespace {

constexpr milliseconds command_limit{30'000};
constexpr std::size_t most_output = 4'096;  // its last words are reported if it fails
/// Events beyond this many that are not delivered yet are left out.
constexpr std::size_t most_pending = 10'000;
/// Longer ones come without their text.
constexpr std::size_t longest_line = 60u << 10;

Result<void> append_line(const std::string& file, const std::string& line) {
  const Descriptor opened(
      ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
  const int error = opened ? write_whole(opened.get(), line) : errno;
  if (error == 0) return {};
  return fail(ErrorClass::host,
              fmt::format("events are missing in '{}': {}", file, system_reason(error)));
}

Result<void> run_command(const EventTargets& targets, const std::string& line) {
  ProgramCall call;
  call.program = "/bin/sh";
  call.arguments = {"sh", "-c", R"(cd "$1" && eval "$0")", targets.command, targets.directory};
  call.environment = environment_texts();
  const auto done = run_shortly(call, command_limit, most_output, line);
  if (done) return {};
  return fail(ErrorClass::host,
              "'on_event' has failed: " + done.error().diagnostics.front().message);
}

}  // namespace

EventFeed::EventFeed(Loop& loop, Journal& journal, const TaskRecord& task, Print print)
    : loop_(loop),
      journal_(journal),
      task_(task),
      print_(std::move(print)),
      file_thread_(loop, Background::Idle::goes),
      command_thread_(loop, Background::Idle::goes) {}

void EventFeed::take_over(std::optional<int> attempt) {
  if (!has_targets()) return;
  const Instant now = loop_.now();
  const JournalEntry taken{
      journal_record::Supervised{2},
      now,
      {},
      std::chrono::floor<milliseconds>(std::chrono::system_clock::now().time_since_epoch())};
  send(recorded_events(task_, {taken})[1], std::nullopt);
  if (attempt) attempts_.emplace(0, JournalEntry{journal_record::AttemptBegun{*attempt}, now, {}});
}

void EventFeed::append(std::string entry, bool durable,
                       std::function<void(Result<void>)> on_written) {
  if (!has_targets()) return journal_.append(std::move(entry), durable, std::move(on_written));
  auto then = [this, entry, on_written = std::move(on_written)](const Result<void>& result) {
    if (result) written(entry);
    on_written(result);
  };
  journal_.append(std::move(entry), durable, std::move(then));
}

// The end is sent by `finish`, once the record has it.
void EventFeed::written(const std::string& entry) {
  auto decoded = decode_entry(entry);
  if (!decoded || std::holds_alternative<journal_record::TaskOver>(decoded->record)) return;
  const std::optional<int> trial =
      is_of_trial(decoded->record) ? std::optional(decoded->trial) : std::nullopt;
  std::vector<JournalEntry> entries;
  const bool is_begin = std::holds_alternative<journal_record::AttemptBegun>(decoded->record);
  if (const auto begun = attempts_.find(decoded->trial);
      trial && !is_begin && begun != attempts_.end())
    entries.push_back(begun->second);
  entries.push_back(*decoded);
  send(recorded_events(task_, entries)[entries.size()], trial);
  if (is_begin) attempts_.insert_or_assign(decoded->trial, *decoded);
  if (std::holds_alternative<journal_record::TrialOver>(decoded->record))
    attempts_.erase(decoded->trial);
}

void EventFeed::finish(milliseconds limit) {
  if (!has_targets()) return;
  const auto events = recorded_events(task_, {});
  if (events.back().what == RecordedEvent::What::task_over) send(events.back(), std::nullopt);
  if (pending_ == 0) return;
  is_finishing_ = true;
  bool is_late = false;
  const auto timeout = loop_.after(limit, [&] {
    is_late = true;
    loop_.stop();
  });
  loop_.run();
  if (is_late)
    print_(terminal_text("{} last event{} of the task may be missing where they are sent to",
                         pending_, pending_ == 1 ? "" : "s"));
}

void EventFeed::send(const RecordedEvent& event, std::optional<int> trial) {
  if (pending_ >= most_pending)
    return report(fail(ErrorClass::host, "events are left out, since they are not taken in time"));
  std::string line = event_to_json(task_, event, trial);
  if (line.size() > longest_line) {
    RecordedEvent brief = event;
    brief.words.clear();
    line = event_to_json(task_, brief, trial);
  }
  if (!targets_.file.empty())
    deliver(file_thread_, [file = targets_.file, line] { return append_line(file, line); });
  if (!targets_.command.empty())
    deliver(command_thread_, [targets = targets_, line] { return run_command(targets, line); });
}

void EventFeed::deliver(Background& thread, std::function<Result<void>()> work) {
  const auto result = std::make_shared<Result<void>>();
  ++pending_;
  const auto started = thread.run([work = std::move(work), result] { *result = work(); },
                                  [this, result] {
                                    --pending_;
                                    report(*result);
                                    if (is_finishing_ && pending_ == 0) loop_.stop();
                                  });
  if (started) return;
  --pending_;
  report(started);
}

void EventFeed::report(const Result<void>& delivered) {
  if (delivered) return;
  const TerminalText words =
      terminal_text("warning: {}", delivered.error().diagnostics.front().message);
  if (reported_.insert(words.text()).second && reported_.size() <= 10) print_(words);
}

}  // namespace train
