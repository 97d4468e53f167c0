// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Opens the folder `name` of the open folder `parent`, which must be this user's alone: a
/// directory that belongs to this user and has mode 0700, and no symbolic link. The check is done
/// on the folder that was opened, so nobody can exchange it in between. The error, of class `host`,
/// says what is wrong with `path`, the name that users know it by.
Result<Descriptor> open_own_folder(int parent, const std::string& name, const std::string& path);

/// The same; makes the folder if nothing has its name.
Result<Descriptor> make_own_folder(int parent, const std::string& name, const std::string& path);

/// Opens a path below an open folder, close-on-exec, and follows no link on the way, nor at its
/// end: whatever is exchanged for a link meanwhile, nothing outside of the folder is opened. None,
/// and errno, when it cannot be opened.
Descriptor open_below(int folder, const std::string& path, int flags);

/// Removes what has this name in an open folder: a file, or a folder with all that is in it. Every
/// folder is opened by itself, never through a link, whatever is exchanged meanwhile. Goes on after
/// an error, and stops when `cancelled`. 0 when nothing has the name any more, else the errno value
/// of what went wrong first.
int remove_tree(int folder, const std::string& name, const std::atomic<bool>& cancelled);

}  // namespace train
