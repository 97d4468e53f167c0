// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// read(2), repeated when a signal interrupts it.
ssize_t read_some(int fd, char* buffer, std::size_t size);

/// Reads until the buffer is full or the file has ended. Returns the number of bytes read; -1 and
/// errno on error. The second form reads from byte `at` and does not change the file's position.
ssize_t read_whole(int fd, char* buffer, std::size_t size);
ssize_t read_whole_at(int fd, char* buffer, std::size_t size, std::uint64_t at);

/// Writes everything. Returns 0 or errno. Waits if a non-blocking descriptor takes no more for now.
int write_whole(int fd, std::string_view bytes);
/// Writes everything from byte `at` on, over existing content. Returns 0 or errno.
int write_whole_at(int fd, std::string_view bytes, std::uint64_t at);

/// The content of a file, at most `limit` bytes; empty when it cannot be read. Does not block on
/// pipes or terminals, which a rank may have put there.
std::string read_small_file(const std::string& path, std::size_t limit = std::size_t{64} << 10);

/// The first line of a file, without the newline, as in /proc and /sys.
std::string first_line_of(const std::string& path);

/// Writes a file atomically: readers see either the old content or all of `text`. Writes beside it
/// under another name, then renames. Follows a symbolic link; writes in place if the path is not a
/// regular file (a device, a pipe). A new file gets `mode`, less the umask; an existing one keeps
/// its own. Errors are of class `no_input` and name the path.
Result<void> write_file(const std::string& path, std::string_view text, mode_t mode = 0666);
/// The same for a new file. Returns false, and writes nothing, if the name already exists when the
/// file would get it.
Result<bool> write_new_file(const std::string& path, std::string_view text);

/// Reads the names in a folder, unordered, without "." and "..". Names may come and go meanwhile.
class FolderReader {
 public:
  explicit FolderReader(const std::string& path);
  /// Reads a folder that the caller has open (O_PATH is enough), from its first name on.
  explicit FolderReader(int folder);
  explicit FolderReader(Descriptor folder);

  /// Whether the folder could be opened; errno says why not, right after the constructor.
  explicit operator bool() const { return stream_ != nullptr; }
  /// The descriptor of the open folder.
  int descriptor() const { return ::dirfd(stream_.get()); }
  /// The next name, valid until the next call; null after the last one, with errno 0, or when the
  /// folder cannot be read, with another errno.
  const char* next();

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  std::unique_ptr<DIR, Close> stream_;
};

/// The first `most` names of a folder; none when it cannot be read.
std::vector<std::string> names_in(FolderReader folder, std::size_t most = SIZE_MAX);

}  // namespace train
