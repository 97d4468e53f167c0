// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/record/task_recorder.hpp"
#include "launcher/drivers/task_driver.hpp"
#include "launcher/measures/host_start.hpp"
#include "launcher/measures/usage_sampler.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/task/event_time.hpp"

namespace train {

/// Records, beside a task of one trial, what its ranks use while they run, and when its hosts came
/// to each step of a start. The thread that records the task writes; the task never waits for it. A
/// file that cannot be written is reported once, and nothing more is recorded; a full disk costs
/// lines, and is told by the logs alone.
class MeasureRecord {
 public:
  struct Files {
    std::string usage;
    std::string starts;
  };
  using Print = std::function<void(const TerminalText& said)>;

  /// All references must outlive this object, and this object the work of the recorder. `ranks`: no
  /// attempt has more.
  MeasureRecord(Timers& timers, TaskRecorder& recorder, EventTime& time, Files files,
                const Trial& trial, int ranks, Print print);

  /// The same hooks, which also record. `attempt` is the one that begins now, or is resumed: of
  /// that the start is not recorded.
  TaskHooks recording(TaskHooks hooks, int attempt, bool is_resumed);

 private:
  void begin(int attempt);
  void step(int node, StartStep step, Instant at);
  void write_start();
  void used(int rank, const RankUsage& usage);
  void sample_later();
  void sample();
  void report(const Result<void>& written);

  Timers& timers_;
  TaskRecorder& recorder_;
  EventTime& time_;
  const Files files_;
  const Trial& trial_;
  const int ranks_;
  Print print_;
  int attempt_ = 0;
  Instant begun_{0};
  std::optional<AttemptStart> start_;  ///< until it is written
  std::unique_ptr<Subscription> started_;
  UsageSampler sampler_;
  nanoseconds pause_ = std::chrono::seconds(5);  ///< between two samples
  std::unique_ptr<Subscription> next_;
  bool is_writing_ = false;
  bool has_failed_ = false;
};

}  // namespace train
