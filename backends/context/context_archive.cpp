// SPDX-License-Identifier: Apache-2.0
#include "backends/context/context_archive.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <new>
#include <utility>

#include "backends/context/context_files.hpp"
#include "backends/context/sha256_digest.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/own_folder.hpp"
#include "launcher/context/archive.hpp"

namespace train {

namespace {

// The level of the agent's binary too: a third of the default's time, for a tenth more bytes.
constexpr int gzip_level = 3;

bool is_same_state(const struct stat& a, const struct stat& b) {
  const auto same = [](const timespec& x, const timespec& y) {
    return x.tv_sec == y.tv_sec && x.tv_nsec == y.tv_nsec;
  };
  return a.st_size == b.st_size && same(a.st_mtim, b.st_mtim) && same(a.st_ctim, b.st_ctim);
}

// Appends the content of a file, which must have the size with which it was listed and must not
// change while it is read.
Result<void> append_content(const ContextFiles& files, const ContextEntry& entry,
                            std::string& archive) {
  const auto unreadable = [&](int error) {
    return fail(
        ErrorClass::no_input,
        fmt::format("cannot read '{}' of the context: {}", entry.path, system_reason(error)),
        "make it readable, or leave it out: name it in " + ignore_file_of(files.directory));
  };
  const Descriptor file =
      open_below(files.root.get(), entry.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat before {};
  struct stat after {};
  if (!file || ::fstat(file.get(), &before) != 0) return unreadable(errno);
  const std::size_t begin = archive.size();
  const auto size = static_cast<std::size_t>(entry.size);
  archive.resize(begin + size + 1);  // one more byte, to detect that the file is longer
  const ssize_t done = read_whole(file.get(), archive.data() + begin, size + 1);
  if (done < 0) return unreadable(errno);
  archive.resize(begin + size);
  const bool is_whole = static_cast<std::size_t>(done) == size && S_ISREG(before.st_mode) &&
                        ::fstat(file.get(), &after) == 0 && is_same_state(before, after);
  if (is_whole) return {};
  return fail(ErrorClass::config,
              fmt::format("'{}' of the context changed while it was read", entry.path),
              "try again when nothing writes to it, or leave it out: name it in " +
                  ignore_file_of(files.directory));
}

}  // namespace

Result<ArchivedContext> archive_context(const std::string& directory,
                                        const std::vector<FileIdentity>& own_output,
                                        const std::atomic<bool>& cancelled) {
  auto files = find_context_files(directory, own_output, cancelled);
  if (!files) return tl::make_unexpected(files.error());
  ArchivedContext archived;
  archived.bytes = files->bytes;
  archived.warnings = std::move(files->warnings);
  std::uint64_t size = archive_end().size() + 1;
  for (const ContextEntry& entry : files->entries) size += archived_size(entry);
  archived.archive.reserve(static_cast<std::size_t>(size));
  for (const ContextEntry& entry : files->entries) {
    if (cancelled) return fail(ErrorClass::interrupted, "the context is not needed any more");
    archived.archive += archive_header(entry);
    if (entry.kind != ContextEntry::Kind::file) continue;
    ++archived.files;
    if (auto read = append_content(*files, entry, archived.archive); !read)
      return tl::make_unexpected(read.error());
    archived.archive += archive_padding(entry.size);
  }
  archived.archive += archive_end();
  archived.context = {sha256_of(archived.archive), archived.archive.size()};
  return archived;
}

ContextCompressor::ContextCompressor(std::string_view archive)
    : stream_(std::make_unique<z_stream>()) {
  if (deflateInit2(stream_.get(), gzip_level, Z_DEFLATED, gzip_window, 9, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw std::bad_alloc();
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(archive.data()));
  stream_->avail_in = static_cast<uInt>(archive.size());
}

ContextCompressor::~ContextCompressor() { deflateEnd(stream_.get()); }

std::string ContextCompressor::next() {
  std::string piece(context_piece_size, '\0');
  stream_->next_out = reinterpret_cast<Bytef*>(piece.data());
  stream_->avail_out = static_cast<uInt>(piece.size());
  (void)deflate(stream_.get(), Z_FINISH);  // it does not fail, whatever the input
  piece.resize(piece.size() - stream_->avail_out);
  return piece;
}

}  // namespace train
