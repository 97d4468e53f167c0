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

/// One place of a host where contexts are kept, all of it this user's alone (0700; a link, or what
/// belongs to somebody else, is refused):
///
///     contexts/SHA256.tar.gz   packed contexts, by what is in them
///     runs/KEY/                the copy of one that the task of this agent key writes to
///
/// Names that begin with a dot are not complete. The place may be shared by several hosts (NFS).
class HostCache {
 public:
  /// Opens a place, with its folders; makes what is not there unless `only_existing`. Class `host`.
  enum class Make { missing, nothing };
  static Result<HostCache> open(const std::string& path, Make make = Make::missing);

  const std::string& path() const { return path_; }
  int place() const { return place_.get(); }
  int contexts() const { return contexts_.get(); }
  int runs() const { return runs_.get(); }

  /// A packed context of this place, open for reading and marked as used now; none when it is not
  /// there.
  Descriptor find(const Context& context) const;
  /// Makes a new file for a packed context that is to come. Class `host`, also when there is no
  /// room for it and a copy.
  struct Incoming {
    Descriptor file;  ///< for reading and writing
    std::string name;
  };
  Result<Incoming> begin(const Context& context) const;
  /// Appends bytes to the file. After an error, of class `host`, the file is not whole.
  Result<void> write(const Incoming& incoming, std::string_view bytes) const;
  /// Appends the first bytes of another file to it. Class `host`, also when `cancelled`.
  Result<void> fill(const Incoming& incoming, int from, std::uint64_t bytes,
                    const std::atomic<bool>& cancelled) const;
  /// Gives the file its final name, once it is complete and was compared with that name. Another
  /// task may have done so first.
  void commit(const Incoming& incoming, const Context& context) const;
  void forget(const Incoming& incoming) const;
  void remove(const Context& context) const;

  /// Makes the copy of a task from a packed context, which is read from its beginning, in the place
  /// of whatever has its name. None when the file is not that context. The descriptor is the copy's
  /// folder, and carries a lock that says that it is in use.
  struct Copy {
    std::string path;
    Descriptor folder;
  };
  Result<std::optional<Copy>> copy(int packed_file, const Context& context, const std::string& key,
                                   const std::atomic<bool>& cancelled) const;
  /// The copy that an earlier agent of the task has made here, with what its ranks have left in it;
  /// none when there is none that is whole and this user's.
  std::optional<Copy> adopt(const std::string& key) const;
  /// The same for somebody who only reads it: its age goes on.
  std::optional<Copy> existing_copy(const std::string& key) const;
  /// Removes the copy of a task: at once for whoever looks for it, then all that is in it.
  void remove_copy(const std::string& key) const;

 private:
  HostCache() = default;

  std::string path_;
  Descriptor place_;
  Descriptor contexts_;
  Descriptor runs_;
};

/// Where contexts are kept, best first: ~/.cache/train, /var/tmp/train-UID, /tmp/train-UID. `home`
/// may be empty.
std::vector<std::string> cache_places(const std::string& home);

/// The copy that a task has in one of these places, to be read; it stays as long as its folder is
/// open.
std::optional<HostCache::Copy> find_copy(const std::vector<std::string>& places,
                                         const std::string& key);

}  // namespace train
