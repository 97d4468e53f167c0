// SPDX-License-Identifier: Apache-2.0
#include "backends/process/rank_starter.hpp"

#include <utility>

#include "backends/process/rank_process.hpp"

namespace train {

// What the thread works with: it may outlive the starter when a file system never answers.
struct RankStarter::Start {
  int rank = 0;
  RankCommand command;
  std::optional<rlimit> open_files;
  std::shared_ptr<FileCalls> calls;
  Result<SpawnedProcess> process;

  void run() {
    const auto spec = process_of_rank(command, calls.get());
    process = spec ? LinuxSpawner(open_files, calls.get()).spawn(*spec)
                   : Result<SpawnedProcess>(tl::make_unexpected(spec.error()));
  }
};

RankStarter::RankStarter(Loop& loop, std::optional<rlimit> open_files,
                         std::shared_ptr<FileCalls> calls, Events events)
    : loop_(loop),
      events_(std::move(events)),
      open_files_(open_files),
      calls_(std::move(calls)),
      background_(loop) {}

void RankStarter::start(int rank) {
  waiting_.push_back(rank);
  next();
}

void RankStarter::next() {
  if (is_starting_ || waiting_.empty()) return;
  const int rank = waiting_.front();
  waiting_.pop_front();
  is_starting_ = true;
  const auto start =
      std::make_shared<Start>(Start{rank, events_.command_of(rank), open_files_, calls_, {}});
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
