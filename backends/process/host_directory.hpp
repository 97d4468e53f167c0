// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// This user's own directory on a host, where agents keep their sockets and run directories, not
/// accessible to other users: `/tmp/train-UID`, or, if another user has taken that name,
/// `train-UID-XXXXXX` in /tmp or /var/tmp (state_folder.hpp). It is not in the home directory,
/// which may be on NFS, nor in /dev/shm, which a logout may empty. While it is open the directory
/// is locked (shared), which tells tmp cleaners to leave it alone. Everything in it is accessed
/// through the open directory, never by its path, which other users may be able to replace.
///
/// An agent's key ("<task>-<node rank>") names its files: `KEY.sock`, `KEY.lock` and `KEY/`.
class HostDirectory {
 public:
  /// Opens the directory of the agent `key`, and makes it if necessary; all callers get the same
  /// one. An error of class `host` says what is wrong with each place.
  static Result<HostDirectory> find(const std::string& key,
                                    const std::vector<std::string>& places = {"/tmp", "/var/tmp"});
  /// Opens exactly this directory, for tests, and makes it if necessary. Refuses (class `host`) one
  /// that is a symbolic link, belongs to another user, or is accessible to other users.
  static Result<HostDirectory> open(const std::string& path);

  const std::string& path() const { return path_; }
  /// The open directory; it carries the lock.
  int descriptor() const { return directory_.get(); }

  /// Checks that a key is short and has only letters, digits, '-' and '_'; class `usage`.
  static Result<void> check_key(const std::string& key);

  /// The agent's socket and lock: names in the open directory, and full paths for users.
  static std::string socket_name(const std::string& key) { return key + ".sock"; }
  static std::string lock_name(const std::string& key) { return key + ".lock"; }
  std::string socket_path(const std::string& key) const;
  std::string lock_path(const std::string& key) const;
  /// The address that this process connects or binds the socket to. It goes through the open
  /// directory, even if the path names another one by now, and is short enough for an address (107
  /// bytes) however long the path is.
  std::string socket_address(const std::string& key) const;
  /// Used as `trial` for the folder that all trials of the agent share.
  static constexpr int shared = -1;
  /// The run directory of a trial. The first trial uses the agent's; each later one has its own
  /// inside of that.
  std::string run_directory(const std::string& key, int trial = 0) const;

  /// Makes the run directory of a trial, 0700; an existing one stays as it is.
  Result<std::string> make_run_directory(const std::string& key, int trial = 0) const;

  /// Writes a file into the run directory of a trial, 0600; an existing file is an error, of class
  /// `host`.
  Result<void> write_file(const std::string& key, const std::string& name, const std::string& text,
                          int trial = 0) const;

  /// Makes a symbolic link in the run directory of a trial; an existing file is an error, of class
  /// `host`.
  Result<void> link_file(const std::string& key, const std::string& name, const std::string& target,
                         int trial = 0) const;

  /// Removes a file of the run directory of a trial, if it exists and can be removed.
  void remove_file(const std::string& key, const std::string& name, int trial = 0) const;

  /// Removes socket, run directory and, last, lock of an agent. Missing files are no error. Goes on
  /// after an error, and returns the first.
  Result<void> remove(const std::string& key) const;

 private:
  HostDirectory(std::string path, Descriptor directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  std::string path_;
  Descriptor directory_;
};

}  // namespace train
