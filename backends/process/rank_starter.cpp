// SPDX-License-Identifier: Apache-2.0
#include "backends/process/rank_starter.hpp"

#include <utility>

#include "backends/process/rank_process.hpp"

namespace train {

// What the thread works with, and nobody else while it does: it may outlive the starter when a file
// system never answers.
struct RankStarter::Spawning {
  Spawning(std::optional<rlimit> open_files, std::shared_ptr<FileCalls> of_agent)
      : calls(std::move(of_agent)), spawner(open_files, calls.get()) {}

  Result<SpawnedProcess> start(const RankCommand& command) {
    const auto spec = process_of_rank(command, calls.get());
    if (!spec) return tl::make_unexpected(spec.error());
    auto process = spawner.spawn(*spec);
    if (process && recorder) recorder->add(*process);
    return process;
  }

  std::shared_ptr<FileCalls> calls;
  LinuxSpawner spawner;
  std::shared_ptr<AgentRecorder> recorder;
};

struct RankStarter::Start {
  int rank = 0;
  RankCommand command;
  std::shared_ptr<Spawning> spawning;
  Result<SpawnedProcess> process;

  void run() { process = spawning->start(command); }
};

RankStarter::RankStarter(Loop& loop, std::optional<rlimit> open_files,
                         std::shared_ptr<FileCalls> calls, Events events)
    : loop_(loop),
      events_(std::move(events)),
      spawning_(std::make_shared<Spawning>(open_files, std::move(calls))),
      background_(loop) {}

// Where there can be no thread, no rank is started either.
void RankStarter::record_with(std::shared_ptr<AgentRecorder> recorder) {
  (void)background_.run(
      [spawning = spawning_, recorder = std::move(recorder)] {
        spawning->recorder = recorder;
        spawning->spawner.start_in(recorder->cgroup());
      },
      nullptr);
}

void RankStarter::start(int rank) {
  waiting_.push_back(rank);
  next();
}

void RankStarter::next() {
  if (is_starting_ || waiting_.empty()) return;
  const int rank = waiting_.front();
  waiting_.pop_front();
  is_starting_ = true;
  const auto start = std::make_shared<Start>(Start{rank, events_.command_of(rank), spawning_, {}});
  const auto begun = background_.run([start] { start->run(); }, [this, start] { ended(*start); });
  if (begun) return;
  start->process = tl::make_unexpected(begun.error());
  loop_.post([this, start] { ended(*start); });
}

void RankStarter::ended(const Start& start) {
  is_starting_ = false;
  if (start.process)
    events_.on_started(start.rank, *start.process);
  else
    events_.on_failed(start.rank, start.process.error());
  next();
}

}  // namespace train
