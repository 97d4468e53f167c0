// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/context/context.hpp"

namespace train {

/// A file by what it is, whatever its name.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  bool operator==(const FileIdentity&) const = default;
};

/// The files of a directory that are sent to the hosts.
struct ContextFiles {
  std::string directory;  ///< as the user named it
  Descriptor root;
  std::vector<ContextEntry> entries;  ///< in the order of the archive
  std::uint64_t bytes = 0;            ///< of all files
  std::vector<std::string> warnings;  ///< a line each
};

/// Looks through a directory, by the rules of its `.detignore`, as Determined does, or without one
/// by those of the `.gitignore` of every folder, as git does; and after them by those of its
/// `.trainignore`. Files in `own_output`, what this very process writes, are left out. Files that
/// commonly hold secrets are warned of. No link is followed, also where a folder becomes one while
/// it is read.
///
/// Errors are all that is wrong: of class `no_input` what cannot be read, of class `config` what a
/// context cannot have (a link that leaves it, too much of everything). `cancelled` ends it early,
/// with an error that nobody needs.
Result<ContextFiles> find_context_files(const std::string& directory,
                                        const std::vector<FileIdentity>& own_output,
                                        const std::atomic<bool>& cancelled);

/// Checks that a context is not too large and has not too many entries; else an error of class
/// `config` that names what takes most.
Result<void> check_context_limits(const ContextFiles& files);

/// The file of a directory in which a user names what is not sent, whatever other ignore files say.
std::string ignore_file_of(const std::string& directory);

/// "3.4 MiB", "512 bytes", "120.5 GiB".
std::string size_text(std::uint64_t bytes);

}  // namespace train
