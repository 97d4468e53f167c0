// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace train {

namespace {

// Calls `read(done)`, where `done` bytes were read already, until `size` bytes or the end.
template <class Read>
ssize_t read_up_to(std::size_t size, Read read) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = uninterrupted([&] { return read(done); });
    if (count < 0) return count;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return static_cast<ssize_t>(done);
}

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  return fail(ErrorClass::no_input,
              fmt::format("cannot write the file '{}': {}", path, system_reason(error)),
              error == ENOENT ? "give the path of a file in a directory that exists" : "");
}

// Returns 0 or errno. Also checks close, which may report a failed write.
int write_and_close(Descriptor file, std::string_view text) {
  int error = write_whole(file.get(), text);
  if (error == 0 && ::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (::close(file.release()) != 0 && error == 0) error = errno;
  return error;
}

// The target of a chain of symbolic links; the path itself if it cannot be resolved.
std::string target_of(const std::string& path) {
  std::error_code trouble;
  const auto target = std::filesystem::weakly_canonical(path, trouble);
  return trouble ? path : target.string();
}

// The name of the file until it is complete.
std::string name_beside(const std::string& target) {
  return fmt::format("{}.{}.part", target, ::getpid());
}

// Renames without replacing an existing file. Returns 0 or errno. Falls back to a hard link on file
// systems that do not support RENAME_NOREPLACE; without hard links it checks the name right before
// a plain rename.
int rename_to_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (::link(from.c_str(), to.c_str()) == 0) {
    ::unlink(from.c_str());
    return 0;
  }
  if (errno == EEXIST) return errno;
  struct stat status {};
  if (::lstat(to.c_str(), &status) == 0) return EEXIST;
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

ssize_t read_some(int fd, char* buffer, std::size_t size) {
  return uninterrupted([&] { return ::read(fd, buffer, size); });
}

ssize_t read_whole(int fd, char* buffer, std::size_t size) {
  return read_up_to(size, [&](std::size_t done) { return ::read(fd, buffer + done, size - done); });
}

ssize_t read_whole_at(int fd, char* buffer, std::size_t size, std::uint64_t at) {
  return read_up_to(size, [&](std::size_t done) {
    return ::pread(fd, buffer + done, size - done, static_cast<off_t>(at + done));
  });
}

int write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = uninterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return errno;
    if (count < 0) {
      pollfd ready{fd, POLLOUT, 0};
      (void)::poll(&ready, 1, -1);
    } else {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  return 0;
}

int write_whole_at(int fd, std::string_view bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t count = uninterrupted(
        [&] { return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at)); });
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    at += static_cast<std::uint64_t>(count);
  }
  return 0;
}

std::string read_small_file(const std::string& path, std::size_t limit) {
  constexpr std::size_t step = 4096;
  std::string text;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  while (file && text.size() < limit) {
    const std::size_t old_size = text.size();
    const std::size_t wanted = std::min(std::max(step, old_size), limit - old_size);
    text.resize(old_size + wanted);
    const ssize_t count = read_some(file.get(), text.data() + old_size, wanted);
    text.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count <= 0) break;
  }
  return text;
}

std::string first_line_of(const std::string& path) {
  std::string text = read_small_file(path);
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

Result<void> write_file(const std::string& path, std::string_view text, mode_t mode) {
  if (path.empty()) return cannot_write(path, ENOENT);
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    const int error = file ? write_and_close(std::move(file), text) : errno;
    if (error != 0) return cannot_write(path, error);
    return {};
  }
  const std::string target = target_of(path);
  const std::string beside = name_beside(target);
  Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file) return cannot_write(path, errno);
  if (exists) ::fchmod(file.get(), status.st_mode & 07777);
  int error = write_and_close(std::move(file), text);
  if (error == 0 && std::rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(beside.c_str());
  return cannot_write(path, error);
}

Result<bool> write_new_file(const std::string& path, std::string_view text) {
  if (path.empty()) return cannot_write(path, ENOENT);
  const std::string beside = name_beside(path);
  Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return cannot_write(path, errno);
  int error = write_and_close(std::move(file), text);
  if (error == 0) error = rename_to_new(beside, path);
  if (error == 0) return true;
  ::unlink(beside.c_str());
  if (error == EEXIST) return false;
  return cannot_write(path, error);
}

FolderReader::FolderReader(const std::string& path) : stream_(::opendir(path.c_str())) {}

FolderReader::FolderReader(int folder)
    : FolderReader(Descriptor(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))) {}

FolderReader::FolderReader(Descriptor folder)
    : stream_(folder ? ::fdopendir(folder.get()) : nullptr) {
  if (stream_) (void)folder.release();  // closed with the stream
}

const char* FolderReader::next() {
  errno = 0;
  while (const dirent* entry = ::readdir(stream_.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry->d_name;
  }
  return nullptr;
}

std::vector<std::string> names_in(FolderReader folder, std::size_t most) {
  std::vector<std::string> names;
  if (!folder) return names;
  for (const char* name = nullptr; names.size() < most && (name = folder.next()) != nullptr;)
    names.emplace_back(name);
  return names;
}

}  // namespace train
