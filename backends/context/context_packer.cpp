// SPDX-License-Identifier: Apache-2.0
#include "backends/context/context_packer.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "backends/context/context_archive.hpp"
#include "launcher/wire/frame.hpp"

namespace train {

// The loop's side, and between the two threads only what the mutex or an atomic guards.
struct ContextPacker::State : std::enable_shared_from_this<State> {
  State(Loop& own_loop, Events own_events) : loop(own_loop), events(std::move(own_events)) {}

  Loop& loop;
  Events events;
  std::vector<ContextPiece> pieces;

  std::atomic<bool> cancelled{false};
  std::mutex mutex;
  std::condition_variable changed;
  bool is_wanted = false;

  void run(const std::string& directory, const std::vector<FileIdentity>& own_output) {
    auto archived = archive_context(directory, own_output, cancelled);
    if (!archived) return tell([why = archived.error()](State& s) { s.events.on_failed(why); });
    tell([summary = ContextSummary{archived->context, archived->files, archived->bytes,
                                   std::move(archived->warnings)}](State& s) {
      s.events.on_named(summary);
    });
    if (!await_demand()) return;
    compress_context(archived->archive, cancelled, [this](std::string_view piece) {
      auto frame = std::make_shared<const std::string>(encode_frame(FrameKind::context, piece));
      tell([frame = std::move(frame), size = piece.size()](State& s) { s.add(frame, size); });
    });
  }

  bool await_demand() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return is_wanted || cancelled; });
    return !cancelled;
  }

  void add(const std::shared_ptr<const std::string>& frame, std::uint64_t size) {
    const std::uint64_t begin = pieces.empty() ? 0 : pieces.back().end;
    pieces.push_back({frame, begin + size, size < context_piece_size});
    events.on_piece();
  }

  template <class What>
  void tell(What what) {
    loop.post([weak = weak_from_this(), what = std::move(what)] {
      const auto state = weak.lock();
      if (state && !state->cancelled) what(*state);
    });
  }
};

ContextPacker::ContextPacker(Loop& loop, std::string directory,
                             std::vector<FileIdentity> own_output, Events events)
    : state_(std::make_shared<State>(loop, std::move(events))) {
  thread_ =
      std::thread([state = state_.get(), directory = std::move(directory),
                   own_output = std::move(own_output)] { state->run(directory, own_output); });
}

ContextPacker::~ContextPacker() {
  state_->cancelled = true;
  {
    const std::lock_guard lock(state_->mutex);
    state_->changed.notify_all();
  }
  thread_.join();
}

void ContextPacker::pack() {
  const std::lock_guard lock(state_->mutex);
  state_->is_wanted = true;
  state_->changed.notify_all();
}

const std::vector<ContextPiece>& ContextPacker::pieces() const { return state_->pieces; }

std::vector<FileIdentity> own_output_files() {
  std::vector<FileIdentity> files;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status {};
    if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
      files.push_back({status.st_dev, status.st_ino});
  }
  return files;
}

}  // namespace train
