// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/end_inquiry.hpp"

#include <signal.h>

#include <chrono>
#include <utility>

#include "backends/observe/core_file.hpp"
#include "backends/posix/files.hpp"
#include "backends/process/checkpoint_folder.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds inquiry_patience{2};
constexpr std::size_t longest_error_file = 64u << 10;
// The exit code of a shell whose command was ended by SIGKILL.
constexpr int code_of_killed_child = 128 + SIGKILL;

}  // namespace

void EndInquiry::Thread::run(std::function<void()> work, std::function<void(bool)> done) {
  work_.run(std::move(work), inquiry_patience, std::move(done));
}

struct EndInquiry::Look {
  EndedRank rank;
  std::function<void(FoundAtEnd)> done;
  FoundAtEnd found;
};

void EndInquiry::look(const EndedRank& rank, std::function<void(FoundAtEnd)> done) {
  const auto look = std::make_shared<Look>(Look{rank, std::move(done), {}});
  const bool is_killed = rank.status.signal == SIGKILL && !rank.was_killed_here;
  if (!is_killed && rank.status.code != code_of_killed_child) return look_for_core(look);
  const auto kill = std::make_shared<std::optional<message::MemoryKill>>();
  memory_kills_.run(
      [kills = kills_, kill, pid = rank.pid, is_killed] {
        if (kills) *kill = is_killed ? kills->kill_of(pid) : kills->kill_below();
      },
      [this, look, kill](bool is_done) {
        if (is_done) look->found.memory_kill = std::move(*kill);
        look_for_core(look);
      });
}

void EndInquiry::look_for_core(const std::shared_ptr<Look>& look) {
  const EndedRank& rank = look->rank;
  if (!rank.status.dumped_core) return read_error_file(look);
  const DumpedProcess process{rank.pid, rank.status.signal.value_or(0), rank.working_directory};
  const auto place = std::make_shared<std::string>();
  cores_.run([process, place] { *place = place_of_core(process); },
             [this, look, place](bool is_done) {
               look->found.core = is_done ? *place : "not looked for: its folder does not answer";
               read_error_file(look);
             });
}

void EndInquiry::read_error_file(const std::shared_ptr<Look>& look) {
  const auto text = std::make_shared<std::string>();
  error_files_.run(
      [path = look->rank.error_file, text] { *text = read_small_file(path, longest_error_file); },
      [this, look, text](bool is_done) {
        if (is_done) look->found.error_file = std::move(*text);
        look_for_checkpoint(look);
      });
}

void EndInquiry::look_for_checkpoint(const std::shared_ptr<Look>& look) {
  if (look->rank.checkpoints.empty()) return look->done(std::move(look->found));
  const auto newest = std::make_shared<NewestCheckpoint>();
  checkpoints_.run([newest, path = look->rank.checkpoints] { *newest = newest_checkpoint(path); },
                   [look, newest](bool is_done) {
                     const bool is_new = is_done && newest->at > look->rank.newest_checkpoint;
                     if (is_new || (is_done && newest->is_whole))
                       look->found.has_new_checkpoint = is_new;
                     look->done(std::move(look->found));
                   });
}

}  // namespace train
