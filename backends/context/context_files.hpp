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

/// Identifies a file independent of its name.
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

/// Lists a directory, applying the rules of its `.detignore`, as Determined does, or without one
/// the rules of the `.gitignore` of every folder, as git does; and then the rules of its
/// `.trainignore`. Files in `own_output`, to which this process writes, are left out. Files that
/// commonly hold secrets cause a warning. Links are not followed, even when a folder is replaced by
/// one meanwhile.
///
/// Reports all problems in one error: class `no_input` for what cannot be read, class `config` for
/// what a context must not have (a link out of it, too many entries, too many bytes). `cancelled`
/// ends it early, with an error that need not be shown.
Result<ContextFiles> find_context_files(const std::string& directory,
                                        const std::vector<FileIdentity>& own_output,
                                        const std::atomic<bool>& cancelled);

/// Checks the limits of size and entries of a context; the error, of class `config`, names the
/// largest parts.
Result<void> check_context_limits(const ContextFiles& files);

/// The file in which a user names what is not sent, with precedence over other ignore files.
std::string ignore_file_of(const std::string& directory);

/// "3.4 MiB", "512 bytes", "120.5 GiB".
std::string size_text(std::uint64_t bytes);

}  // namespace train
