// SPDX-License-Identifier: Apache-2.0
#include "backends/context/context_unpacker.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "backends/context/sha256_digest.hpp"
#include "backends/posix/files.hpp"
#include "launcher/context/archive.hpp"

namespace train {

namespace {

constexpr std::uint64_t hole_size = 4'096;

// The end of a run of blocks that are all zeros, or all not. Blocks begin at multiples of their
// size in the file; the first and the last one may be only partly in `bytes`.
std::size_t end_of_run(std::string_view bytes, std::uint64_t offset, bool& is_hole) {
  std::size_t end = 0;
  while (end < bytes.size()) {
    const auto block = static_cast<std::size_t>(
        std::min<std::uint64_t>(hole_size - (offset + end) % hole_size, bytes.size() - end));
    const std::string_view part = bytes.substr(end, block);
    const bool is_zero = part.find_first_not_of('\0') == part.npos;
    if (end == 0) is_hole = is_zero;
    if (is_zero != is_hole) break;
    end += block;
  }
  return end;
}

}  // namespace

tl::unexpected<Error> ContextUnpacker::trouble(std::string_view doing, int error) const {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  return fail(ErrorClass::host,
              fmt::format("cannot {} '{}/{}': {}", doing, name_, entry_.path, system_reason(error)),
              is_full ? "make room there for this user" : "");
}

Result<int> ContextUnpacker::open_folder(std::string_view folder) {
  const auto is_above = [folder](const OpenFolder& open) {
    return folder == open.path ||
           (folder.starts_with(open.path) && folder[open.path.size()] == '/');
  };
  while (!open_.empty() && !is_above(open_.back())) open_.pop_back();
  std::size_t done = open_.empty() ? 0 : open_.back().path.size() + 1;
  while (done < folder.size()) {
    const std::size_t end = std::min(folder.find('/', done), folder.size());
    const std::string part(folder.substr(done, end - done));
    Descriptor next(::openat(open_.empty() ? root_ : open_.back().descriptor.get(), part.c_str(),
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return trouble("enter the folder of", errno);
    open_.push_back({std::string(folder.substr(0, end)), std::move(next)});
    done = end + 1;
  }
  return open_.empty() ? root_ : open_.back().descriptor.get();
}

Result<void> ContextUnpacker::begin(const ContextEntry& entry) {
  entry_ = entry;
  offset_ = 0;
  const auto folder = open_folder(folder_of(entry.path));
  if (!folder) return tl::make_unexpected(folder.error());
  const std::size_t slash = entry.path.rfind('/');
  const std::string name = slash == entry.path.npos ? entry.path : entry.path.substr(slash + 1);
  switch (entry.kind) {
    case ContextEntry::Kind::folder:
      // fchmod, since the umask affects mkdir.
      if (::mkdirat(*folder, name.c_str(), 0700) != 0 ||
          ::fchmodat(*folder, name.c_str(), entry.mode | 0700, 0) != 0)
        return trouble("make", errno);
      break;
    case ContextEntry::Kind::link:
      if (::symlinkat(entry.target.c_str(), *folder, name.c_str()) != 0)
        return trouble("make", errno);
      break;
    case ContextEntry::Kind::file:
      file_ = Descriptor(::openat(*folder, name.c_str(),
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      if (!file_) return trouble("make", errno);
      break;
  }
  return {};
}

Result<void> ContextUnpacker::content(std::string_view bytes) {
  while (!bytes.empty()) {
    bool is_hole = false;
    const std::size_t size = end_of_run(bytes, offset_, is_hole);
    const int error = is_hole ? 0 : write_whole_at(file_.get(), bytes.substr(0, size), offset_);
    if (error != 0) return trouble("write", error);
    bytes.remove_prefix(size);
    offset_ += size;
  }
  return {};
}

Result<void> ContextUnpacker::end() {
  if (!file_) return {};
  // A hole at the end exists only once the file has its full size.
  if (::ftruncate(file_.get(), static_cast<off_t>(entry_.size)) != 0 ||
      ::fchmod(file_.get(), entry_.mode) != 0)
    return trouble("write", errno);
  // On a network file system, a full disk is noticed here.
  if (::close(file_.release()) != 0 && errno != EINTR) return trouble("write", errno);
  return {};
}

namespace {

// Unpacks bytes, updates the checksum and passes the archive to the sink.
class PackedReader {
 public:
  PackedReader(const Context& context, ArchiveSink& sink) : context_(context), reader_(sink) {
    if (inflateInit2(&stream_, gzip_window) != Z_OK) throw std::bad_alloc();
  }
  ~PackedReader() { inflateEnd(&stream_); }
  PackedReader(const PackedReader&) = delete;
  PackedReader& operator=(const PackedReader&) = delete;

  // False when these bytes do not belong to this context.
  bool feed(std::string_view packed) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    while (stream_.avail_in > 0) {
      if (is_over_) return false;
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END) return false;
      is_over_ = code == Z_STREAM_END;
      if (!take({buffer_.data(), buffer_.size() - stream_.avail_out})) return false;
    }
    return true;
  }

  // Whether the context is complete and correct.
  bool finish() {
    return is_over_ && total_ == context_.size && reader_.finish() &&
           digest_.finish() == context_.sha256;
  }

  // The error of the archive reader or its sink.
  const std::optional<Error>& error() const { return error_; }

 private:
  bool take(std::string_view bytes) {
    total_ += bytes.size();
    if (total_ > context_.size) return false;
    digest_.add(bytes);
    auto fed = reader_.feed(bytes);
    if (!fed) error_ = fed.error();
    return fed.has_value();
  }

  const Context& context_;
  ArchiveReader reader_;
  z_stream stream_{};
  Sha256Digest digest_;
  std::vector<char> buffer_ = std::vector<char>(256u << 10);
  std::uint64_t total_ = 0;
  bool is_over_ = false;
  std::optional<Error> error_;
};

// Records errors of the sink, to distinguish a disk error from a wrong archive.
class WatchedSink final : public ArchiveSink {
 public:
  explicit WatchedSink(ArchiveSink& sink) : sink_(sink) {}
  Result<void> begin(const ContextEntry& entry) override { return watch(sink_.begin(entry)); }
  Result<void> content(std::string_view bytes) override { return watch(sink_.content(bytes)); }
  Result<void> end() override { return watch(sink_.end()); }
  bool has_failed() const { return has_failed_; }

 private:
  Result<void> watch(Result<void> result) {
    has_failed_ = has_failed_ || !result;
    return result;
  }
  ArchiveSink& sink_;
  bool has_failed_ = false;
};

}  // namespace

Result<bool> unpack_context(int packed_file, const Context& context, int folder,
                            const std::string& folder_name, const std::atomic<bool>& cancelled) {
  ContextUnpacker unpacker(folder, folder_name);
  WatchedSink sink(unpacker);
  PackedReader reader(context, sink);
  std::array<char, 64u << 10> buffer;
  while (true) {
    if (cancelled) return fail(ErrorClass::host, "the context is not needed any more");
    const ssize_t count = read_some(packed_file, buffer.data(), buffer.size());
    if (count < 0)
      return fail(ErrorClass::host, fmt::format("cannot read the packed context for '{}': {}",
                                                folder_name, system_reason(errno)));
    if (count == 0) return reader.finish();
    if (reader.feed({buffer.data(), static_cast<std::size_t>(count)})) continue;
    if (sink.has_failed() && reader.error()) return tl::make_unexpected(*reader.error());
    return false;
  }
}

}  // namespace train
