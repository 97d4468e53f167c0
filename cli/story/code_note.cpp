// SPDX-License-Identifier: Apache-2.0
#include "cli/story/code_note.hpp"

#include <utility>

#include "backends/context/git_state.hpp"
#include "backends/posix/child.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

constexpr std::chrono::milliseconds longest_look{1'000};

// A missing commit is not an error: the task continues.
void note(SqliteTaskStore& store, const std::string& id, const std::string& directory) {
  const GitRecord git = read_git(directory, longest_look);
  if (git.commit.empty()) return;
  if (const auto noted = store.note_git(id, git); !noted)
    talk(terminal_text("warning: the commit of the code is not recorded: {}",
                       terminal_text(noted.error())));
}

}  // namespace

CodeNote::CodeNote(std::shared_ptr<SqliteTaskStore> store, const TaskRecord& task) {
  const std::string directory =
      task.context.directory.empty() ? task.working_directory : task.context.directory;
  auto thread = start_joinable_thread(
      [store = std::move(store), id = task.id, directory] { note(*store, id, directory); });
  if (thread)
    thread_ = std::move(*thread);
  else
    talk(terminal_text("warning: the commit of the code is not recorded: {}",
                       terminal_text(thread.error())));
}

CodeNote::~CodeNote() { finish(); }

void CodeNote::finish() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace train
