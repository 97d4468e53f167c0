// SPDX-License-Identifier: Apache-2.0
#include "backends/context/context_packer.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <utility>

#include "launcher/frames/frame.hpp"

namespace train {

namespace {

// How many pieces are packed before the loop is notified: 256 KiB, a few milliseconds.
constexpr std::size_t pieces_at_once = 16;

}  // namespace

// The state that the thread uses during a piece of work, and the loop in between. It outlives the
// packer when a file system hangs.
struct ContextPacker::Work {
  std::atomic<bool> cancelled{false};
  std::optional<Result<ArchivedContext>> archived;
  std::optional<ContextCompressor> compressor;
  std::vector<std::string> packed;  ///< not yet handed over

  void pack() {
    if (!compressor) compressor.emplace((*archived)->archive);
    do packed.push_back(compressor->next());
    while (packed.back().size() == context_piece_size && packed.size() < pieces_at_once &&
           !cancelled);
  }
};

ContextPacker::ContextPacker(Loop& loop, Read read, Events events, Keep keep)
    : loop_(loop),
      events_(std::move(events)),
      keep_(std::move(keep)),
      work_(std::make_shared<Work>()),
      background_(loop) {
  begin(std::move(read));
}

ContextPacker::~ContextPacker() { work_->cancelled = true; }

void ContextPacker::begin(Read read) {
  const auto started = background_.run(
      [work = work_, read = std::move(read)] { work->archived = read(work->cancelled); },
      [this] {
        const Result<ArchivedContext>& archived = *work_->archived;
        if (!archived) return events_.on_failed(archived.error());
        keep_(std::shared_ptr<const ArchivedContext>(work_, &*archived));
        events_.on_named({archived->context, archived->files, archived->bytes, archived->warnings});
      });
  if (started) return;
  loop_.post([this, why = started.error(), weak = std::weak_ptr<Work>(work_)] {
    if (!weak.expired()) events_.on_failed(why);
  });
}

void ContextPacker::pack() {
  if (!std::exchange(is_packing_, true)) pack_more();
}

void ContextPacker::pack_more() {
  // Cannot fail: the thread runs already, since it has read the directory.
  (void)background_.run([work = work_] { work->pack(); },
                        [this] {
                          for (const std::string& piece : std::exchange(work_->packed, {}))
                            add(piece);
                          if (!pieces_.back().is_last) pack_more();
                        });
}

void ContextPacker::add(const std::string& piece) {
  const std::uint64_t begin = pieces_.empty() ? 0 : pieces_.back().end;
  pieces_.push_back({std::make_shared<const std::string>(encode_frame(FrameKind::context, piece)),
                     begin + piece.size(), piece.size() < context_piece_size});
  events_.on_piece();
}

std::vector<FileIdentity> own_output_files() {
  std::vector<FileIdentity> files;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status {};
    if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
      files.push_back({status.st_dev, status.st_ino});
  }
  return files;
}

ContextPacker::Read reads_directory(const std::string& directory) {
  return [directory, own_output = own_output_files()](const std::atomic<bool>& cancelled) {
    return archive_context(directory, own_output, cancelled);
  };
}

}  // namespace train
