// SPDX-License-Identifier: Apache-2.0
#include "cli/record/measure_record.hpp"

#include <algorithm>
#include <utility>

#include "cli/record/measure_files.hpp"

namespace train {

MeasureRecord::MeasureRecord(Timers& timers, TaskRecorder& recorder, EventTime& time, Files files,
                             const Trial& trial, int ranks, Print print)
    : timers_(timers),
      recorder_(recorder),
      time_(time),
      files_(std::move(files)),
      trial_(trial),
      ranks_(ranks),
      print_(std::move(print)),
      sampler_(ranks) {}

TaskHooks MeasureRecord::recording(TaskHooks hooks, int attempt, bool is_resumed) {
  attempt_ = attempt;
  if (!is_resumed) begin(attempt);
  hooks.on_attempt = [this, then = std::move(hooks.on_attempt)](int number,
                                                                std::optional<milliseconds> begun) {
    begin(number);
    then(number, begun);
  };
  hooks.on_start_step = [this](int node, StartStep which, Instant at) { step(node, which, at); };
  hooks.on_all_started = [this, then = std::move(hooks.on_all_started)] {
    // The messages that are being handled may have the last step of a host.
    started_ = timers_.after(nanoseconds(0), [this] { write_start(); });
    then();
  };
  hooks.on_attempt_over = [this, then = std::move(hooks.on_attempt_over)](
                              int number, const RunOutcome& outcome) {
    write_start();
    then(number, outcome);
  };
  hooks.on_usage = [this, then = std::move(hooks.on_usage)](int rank, const RankUsage& usage) {
    used(rank, usage);
    then(rank, usage);
  };
  return hooks;
}

void MeasureRecord::begin(int attempt) {
  attempt_ = attempt;
  begun_ = timers_.now();
  sampler_ = UsageSampler(ranks_);
  start_ = AttemptStart{attempt, time_.now_ms().count(), {}};
  for (const PlannedHost& planned : trial_.hosts) start_->hosts.push_back({planned.host.name, {}});
}

// An existing connection was made before the attempt began.
void MeasureRecord::step(int node, StartStep which, Instant at) {
  if (!start_) return;
  HostStart& host = start_->hosts[static_cast<std::size_t>(node)];
  host.at[static_cast<std::size_t>(which)] =
      std::max<std::int64_t>(0, std::chrono::floor<milliseconds>(at - begun_).count());
}

void MeasureRecord::write_start() {
  started_.reset();
  if (!start_ || has_failed_) return;
  recorder_.run_first(
      [file = files_.starts, line = encode_start(*start_)]() -> Result<void> {
        const auto halved = append_halving(file, line, longest_starts_file);
        return halved ? Result<void>() : tl::make_unexpected(halved.error());
      },
      [this](const Result<void>& written) { report(written); });
  start_.reset();
}

void MeasureRecord::used(int rank, const RankUsage& usage) {
  sampler_.used(rank, usage, timers_.now());
  if (!next_ && !has_failed_ && !sampler_.is_empty()) sample_later();
}

void MeasureRecord::sample_later() {
  next_ = timers_.after(pause_, [this] { sample(); });
}

// A disk that hangs loses samples: they do not pile up.
void MeasureRecord::sample() {
  next_.reset();
  if (sampler_.is_empty() || has_failed_) return;
  sample_later();
  if (std::exchange(is_writing_, true)) return;
  UsageSample sample = sampler_.sample(timers_.now());
  sample.at = time_.now_ms().count();
  sample.attempt = attempt_;
  const auto was_halved = std::make_shared<bool>(false);
  recorder_.run_first(
      [file = files_.usage, line = encode_sample(sample), was_halved]() -> Result<void> {
        const auto halved = append_halving(file, line, longest_usage_file);
        if (!halved) return tl::make_unexpected(halved.error());
        *was_halved = *halved;
        return {};
      },
      [this, was_halved](const Result<void>& written) {
        is_writing_ = false;
        if (*was_halved) pause_ *= 2;
        report(written);
      });
}

void MeasureRecord::report(const Result<void>& written) {
  if (written || std::exchange(has_failed_, true)) return;
  print_(terminal_text("the page of this task will lack what its ranks use: {}",
                       written.error().diagnostics.front().message));
}

}  // namespace train
