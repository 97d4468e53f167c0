// SPDX-License-Identifier: Apache-2.0
#include "backends/log/trial_logs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "backends/log/log_files.hpp"
#include "backends/log/log_sync.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

namespace {

std::string cannot_make(const std::string& folder, int error) {
  return fmt::format("cannot make the folder '{}': {}", folder, system_reason(error));
}

}  // namespace

TrialLogs::TrialLogs(std::string directory, int ranks, std::optional<std::uint64_t> limit)
    : directory_(std::move(directory)), ranks_(ranks), limit_(limit) {}

bool TrialLogs::is_over(int trial) const {
  const auto number = static_cast<std::size_t>(trial);
  return number < over_.size() && over_[number];
}

TrialLogs::Trial& TrialLogs::trial(int number) {
  const auto found = trials_.find(number);
  if (found != trials_.end()) return found->second;
  AttemptLogs logs(trial_log_directory(directory_, number), ranks_, limit_);
  return trials_.emplace(number, Trial{std::move(logs)}).first->second;
}

// Returns 0 or errno.
int TrialLogs::make_folder(int number, Trial& trial) {
  constexpr mode_t mode = 0700;
  if (trial.has_folder) return 0;
  if (::mkdir(trial_log_directory(directory_, number).c_str(), mode) != 0 && errno != EEXIST)
    return errno;
  trial.has_folder = has_new_folders_ = true;
  return 0;
}

Result<std::vector<std::uint64_t>> TrialLogs::adopt(AttemptId of) {
  Trial& adopted = trial(of.trial);
  if (const int error = make_folder(of.trial, adopted); error != 0)
    return fail(ErrorClass::no_input,
                cannot_make(trial_log_directory(directory_, of.trial), error));
  return adopted.logs.adopt(of.attempt);
}

LogSink::Outcome TrialLogs::append(const LogPiece& piece, std::size_t from, NoRoom no_room) {
  const std::size_t size = piece.bytes.size();
  if (is_over(piece.of.trial))
    return {size, false, size - from, "it came after its trial had ended"};
  Trial& of = trial(piece.of.trial);
  std::string trouble;
  if (const int error = make_folder(piece.of.trial, of); error != 0) {
    trouble = cannot_make(trial_log_directory(directory_, piece.of.trial), error);
    if (size == 0 && piece.dropped == 0) return {0, false, 0, std::move(trouble)};
    // Otherwise the piece is lost, which `append` of the logs counts.
    if (may_pass(error) && no_room == NoRoom::waits) return {from, true, 0, std::move(trouble)};
  }
  Outcome outcome = of.logs.append(piece, from, no_room);
  if (!trouble.empty()) outcome.trouble = std::move(trouble);
  open_.remove(&of);
  if (of.logs.open_logs() > 0) open_.push_front(&of);
  // The write may wait because descriptors have run out.
  close_surplus(outcome.is_waiting ? 0 : most_open);
  return outcome;
}

// The logs of the last used trial stay open; their number is bounded too.
void TrialLogs::close_surplus(std::size_t most) {
  std::size_t open = 0;
  for (auto each = open_.begin(); each != open_.end();) {
    open += (*each)->logs.open_logs();
    if (each == open_.begin() || open <= most) {
      ++each;
      continue;
    }
    (*each)->logs.close_files();
    each = open_.erase(each);
  }
}

LogSink::Sync TrialLogs::begin_sync() {
  auto syncs = std::exchange(ended_, {});
  for (auto& [number, trial] : trials_) syncs.push_back(trial.logs.begin_sync());
  if (std::exchange(has_new_folders_, false)) syncs.emplace_back(LogSync{{}, directory_, {}});
  return join_syncs(std::move(syncs));
}

void TrialLogs::end_trial(int trial) {
  const auto number = static_cast<std::size_t>(trial);
  if (over_.size() <= number) over_.resize(number + 1);
  over_[number] = true;
  const auto ended = trials_.find(trial);
  if (ended == trials_.end()) return;
  ended_.push_back(ended->second.logs.begin_sync());
  open_.remove(&ended->second);
  trials_.erase(ended);
}

}  // namespace train
