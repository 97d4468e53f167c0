// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/output_spool.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/posix/files.hpp"

namespace train {

namespace {

constexpr std::uint64_t part_of_free_room = 10;

Descriptor open_without_name(int folder) {
  Descriptor file(::openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  // Some file systems do not support O_TMPFILE. Two agents may try to create the same name at once;
  // then one of them gets no file.
  constexpr const char* name = "spool";
  file.reset(::openat(folder, name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file) ::unlinkat(folder, name, 0);
  return file;
}

}  // namespace

// Used by the thread only.
struct OutputSpool::File {
  int folder = -1;  ///< of the agent's directory, which outlives this
  Descriptor file;
  std::uint64_t longest = 0;  ///< RLIMIT_FSIZE; a write beyond it would raise SIGXFSZ

  std::optional<SpoolAnswer> perform(const spool_work::Open& work);
  std::optional<SpoolAnswer> perform(const spool_work::Write& work);
  std::optional<SpoolAnswer> perform(const spool_work::Read& work);
  std::optional<SpoolAnswer> perform(const spool_work::Release& work);
  std::optional<SpoolAnswer> perform(const spool_work::Clear& work);
};

std::optional<SpoolAnswer> OutputSpool::File::perform(const spool_work::Open& work) {
  rlimit length{};
  if (::getrlimit(RLIMIT_FSIZE, &length) != 0) length.rlim_cur = 0;
  longest = length.rlim_cur == RLIM_INFINITY ? INT64_MAX : length.rlim_cur;
  file = open_without_name(folder);
  struct statvfs status {};
  if (!file || ::fstatvfs(file.get(), &status) != 0) return spool_answer::Opened{0};
  const std::uint64_t room = static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  return spool_answer::Opened{std::min({work.limit, room / part_of_free_room, longest})};
}

std::optional<SpoolAnswer> OutputSpool::File::perform(const spool_work::Write& work) {
  if (work.offset + work.size > longest) return spool_answer::Written{work.block, false};
  const int error = write_whole_at(file.get(), encode_spooled(work.chunks), work.offset);
  return spool_answer::Written{work.block, error == 0};
}

std::optional<SpoolAnswer> OutputSpool::File::perform(const spool_work::Read& work) {
  std::string bytes(work.size, '\0');
  const ssize_t size = read_whole_at(file.get(), bytes.data(), bytes.size(), work.offset);
  if (size < 0) return spool_answer::Read{work.block, false, {}};
  auto chunks = decode_spooled(std::string_view(bytes).substr(0, static_cast<std::size_t>(size)));
  if (!chunks) return spool_answer::Read{work.block, false, {}};
  return spool_answer::Read{work.block, true, std::move(*chunks)};
}

// Where the file system cannot do this, the space is freed when the whole file is cleared.
std::optional<SpoolAnswer> OutputSpool::File::perform(const spool_work::Release& work) {
  (void)::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(work.offset), static_cast<off_t>(work.size));
  return std::nullopt;
}

std::optional<SpoolAnswer> OutputSpool::File::perform(const spool_work::Clear&) {
  (void)::ftruncate(file.get(), 0);
  return std::nullopt;
}

OutputSpool::OutputSpool(Loop& loop, const HostDirectory& directory,
                         std::function<void(SpoolAnswer)> answer)
    : background_(loop), loop_(loop), file_(std::make_shared<File>()), answer_(std::move(answer)) {
  file_->folder = directory.descriptor();
}

void OutputSpool::perform(const SpoolWork& work) {
  const auto answer = std::make_shared<std::optional<SpoolAnswer>>();
  const auto started = background_.run(
      [file = file_, work, answer] {
        *answer = std::visit([&](const auto& w) { return file->perform(w); }, work);
      },
      [this, answer] {
        if (*answer) answer_(std::move(**answer));
      });
  // Without a thread there is no file. Only Open, the first work, can fail this way: the thread
  // stays.
  if (!started) loop_.post([this] { answer_(spool_answer::Opened{0}); });
}

}  // namespace train
