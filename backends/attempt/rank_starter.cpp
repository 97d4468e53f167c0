// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/rank_starter.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "backends/attempt/rank_process.hpp"

namespace train {

namespace {

// A larger piece would delay the started event of the first rank in it.
constexpr std::size_t most_in_a_piece = 16;

}  // namespace

// Used by the thread only while it works. It may outlive the starter when a file system never
// answers.
struct RankStarter::Spawning {
  Spawning(Gifts gifts, std::shared_ptr<FileCalls> of_attempt, StartChild start)
      : trial(gifts.trial),
        calls(std::move(of_attempt)),
        spawner(gifts.open_files, calls.get(), std::move(start)),
        processes(std::move(gifts.tools)) {}

  Result<SpawnedProcess> start(const RankCommand& command) {
    const auto spec = processes.process_of(command, calls.get());
    if (!spec) return tl::make_unexpected(spec.error());
    auto process = spawner.spawn(*spec);
    if (process && recorder) recorder->add(*process, trial, command.rank);
    return process;
  }

  const int trial;
  std::shared_ptr<FileCalls> calls;
  Descriptor cgroup;
  LinuxSpawner spawner;
  std::shared_ptr<AgentRecorder> recorder;
  RankProcesses processes;
};

// A few ranks that are started one after the other and reported together: waking the loop and the
// launcher for each rank would cost as much as starting it.
struct RankStarter::Piece {
  std::shared_ptr<Spawning> spawning;
  std::vector<RankCommand> commands;
  std::atomic<bool> is_forgotten = false;  ///< ranks that have not begun are not started
  std::size_t told = 0;                    ///< number of commands reported; used by the loop only

  void run() {
    for (const RankCommand& command : commands) {
      if (is_forgotten) return;
      auto result = spawning->start(command);
      if (!result && is_forgotten) return;
      const std::lock_guard lock(mutex);
      results.push_back(std::move(result));
    }
  }

  /// The results of the ranks that were tried since the last call.
  std::vector<Result<SpawnedProcess>> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(results, {});
  }

  std::mutex mutex;
  std::vector<Result<SpawnedProcess>> results;  ///< of the commands after those told
};

RankStarter::RankStarter(Loop& loop, Background& background, Gifts gifts,
                         std::shared_ptr<FileCalls> calls, StartChild start, Events events)
    : loop_(loop),
      events_(std::move(events)),
      spawning_(std::make_shared<Spawning>(std::move(gifts), std::move(calls), std::move(start))),
      background_(background) {}

// Ignores the error when no thread can be had: then no rank can be started either, and `next`
// reports that.
void RankStarter::record_with(std::shared_ptr<AgentRecorder> recorder, Descriptor cgroup) {
  const auto begun = background_.run(
      [spawning = spawning_, recorder = std::move(recorder),
       opened = std::make_shared<Descriptor>(std::move(cgroup))] {
        spawning->recorder = recorder;
        spawning->cgroup = std::move(*opened);
        spawning->spawner.start_in(spawning->cgroup.get());
      },
      [this] {
        is_working_ = false;
        next();
        if (!is_working_) events_.on_idle();
      });
  is_working_ = begun.has_value();
}

void RankStarter::start(int rank) {
  waiting_.push_back(rank);
  // Posted, so that ranks requested in this turn of the loop start together.
  if (waiting_.size() == 1) loop_.post([this] { next(); });
}

void RankStarter::forget_waiting() {
  waiting_.clear();
  if (piece_) piece_->is_forgotten = true;
}

void RankStarter::next() {
  if (is_working_ || waiting_.empty()) return;
  is_working_ = true;
  piece_ = std::make_shared<Piece>();
  piece_->spawning = spawning_;
  for (; !waiting_.empty() && piece_->commands.size() < most_in_a_piece; waiting_.pop_front())
    piece_->commands.push_back(events_.command_of(waiting_.front()));
  const auto begun = background_.run([piece = piece_] { piece->run(); }, [this] { ended(); });
  if (begun) return;
  piece_->results.assign(piece_->commands.size(), tl::make_unexpected(begun.error()));
  loop_.post([this] { ended(); });
}

void RankStarter::report() {
  if (!piece_) return;
  for (const auto& process : piece_->take()) {
    const int rank = piece_->commands[piece_->told++].rank;
    if (process)
      events_.on_started(rank, *process);
    else
      events_.on_failed(rank, process.error());
  }
}

void RankStarter::ended() {
  report();
  piece_.reset();
  is_working_ = false;
  next();
  if (!is_working_) events_.on_idle();
}

}  // namespace train
