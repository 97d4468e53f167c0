// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Opens the folder `name` of the open folder `parent`, which must be this user's alone: a
/// directory that belongs to this user and has mode 0700, and not a symbolic link. The check is
/// done on the opened folder, so it cannot be replaced in between. The error, of class `host`, says
/// what is wrong with `path`, the full path for users.
Result<Descriptor> open_own_folder(int parent, const std::string& name, const std::string& path);

/// The same; makes the folder if the name does not exist.
Result<Descriptor> make_own_folder(int parent, const std::string& name, const std::string& path);

/// Opens a path below an open folder, close-on-exec, without following any link: so nothing outside
/// of the folder is opened, even if parts of the path are replaced by links meanwhile. An empty
/// descriptor, and errno, when it cannot be opened.
Descriptor open_below(int folder, const std::string& path, int flags);

/// Removes a file, or a folder with its content, from an open folder. Never follows links, even if
/// parts are replaced meanwhile. Goes on after an error, and stops when `cancelled`. Returns 0 when
/// the name no longer exists, else the errno value of the first error.
int remove_tree(int folder, const std::string& name, const std::atomic<bool>& cancelled);

}  // namespace train
