// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/context/context.hpp"

namespace train {

/// One place of a host where contexts are kept, private to this user (0700; links, and folders of
/// other users, are refused):
///
///     contexts/SHA256.tar.gz   packed contexts, by checksum
///     runs/KEY/                the copy of a context, for the task of this agent key
///
/// Names that begin with a dot are incomplete. Several hosts may share the place (NFS).
class HostCache {
 public:
  /// Opens a place and its folders; creates missing ones with `Make::missing`. Without it,
  /// `contexts` and `runs` may be -1. Class `host`.
  enum class Make { missing, nothing };
  static Result<HostCache> open(const std::string& path, Make make = Make::missing);

  const std::string& path() const { return path_; }
  int place() const { return place_.get(); }
  int contexts() const { return contexts_.get(); }
  int runs() const { return runs_.get(); }

  /// A packed context of this place, open for reading and marked as used now; empty when the place
  /// does not have it.
  Descriptor find(const Context& context) const;
  /// Creates a file for a packed context that will be received. Class `host`, also when there is no
  /// space for it and a copy.
  struct Incoming {
    Descriptor file;  ///< for reading and writing
    std::string name;
  };
  Result<Incoming> begin(const Context& context) const;
  /// Appends bytes to the file. After an error, of class `host`, the file is incomplete.
  Result<void> write(const Incoming& incoming, std::string_view bytes) const;
  /// Appends the first `bytes` bytes of another file. Class `host`, also when `cancelled`.
  Result<void> fill(const Incoming& incoming, int from, std::uint64_t bytes,
                    const std::atomic<bool>& cancelled) const;
  /// Gives the file its final name, after it is complete and its checksum was compared with that
  /// name. Another task may have done so first.
  void commit(const Incoming& incoming, const Context& context) const;
  void forget(const Incoming& incoming) const;
  void remove(const Context& context) const;

  /// Makes the copy of a task from a packed context, which is read from its beginning. Replaces an
  /// existing file or folder of this name. None when the file is not that context. The descriptor
  /// is the folder of the copy, with a lock that marks it as in use.
  struct Copy {
    std::string path;
    Descriptor folder;
  };
  Result<std::optional<Copy>> copy(int packed_file, const Context& context, const std::string& key,
                                   const std::atomic<bool>& cancelled) const;
  /// The copy that an earlier agent of the task has made here, including the results of its ranks;
  /// none when there is no complete copy of this user.
  std::optional<Copy> adopt(const std::string& key) const;
  /// The same for readers: does not mark the copy as used now.
  std::optional<Copy> existing_copy(const std::string& key) const;
  /// Removes the copy of a task: first its name, then its content.
  void remove_copy(const std::string& key) const;

 private:
  HostCache() = default;

  std::string path_;
  Descriptor place_;
  Descriptor contexts_;
  Descriptor runs_;
};

/// The places for contexts, best first: ~/.cache/train, /var/tmp/train-UID, /tmp/train-UID. `home`
/// may be empty.
std::vector<std::string> cache_places(const std::string& home);

/// The copy of a task in one of these places, for reading; it stays as long as its folder is open.
std::optional<HostCache::Copy> find_copy(const std::vector<std::string>& places,
                                         const std::string& key);

}  // namespace train
