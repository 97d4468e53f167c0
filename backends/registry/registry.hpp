// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "config_schema/text/error.hpp"

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's name
class Database;
class Exception;
}  // namespace SQLite

namespace train {

/// How long a registry that another process has locked is waited for, in milliseconds.
inline constexpr int registry_wait_ms = 5'000;

/// Opens the SQLite database of all tasks at `path`, creating it (0600) and bringing its schema up
/// to date. One that a newer train has written is refused where this one cannot use it. Errors are
/// those of `registry_error`. `file_system` is the kind of the one that `path` is on
/// (`file_system_kind`), which is found out when nothing is said. At most one thread at a time may
/// use it.
Result<std::unique_ptr<SQLite::Database>> open_registry(
    const std::string& path, std::optional<std::uint32_t> file_system = {});

/// Writes the write-ahead log back, waits for the disk, and empties it: what was recorded so far is
/// then in the database alone, and survives damage to the log and a loss of power. False when other
/// users of the registry kept it from happening. Throws SQLite::Exception.
bool settle_registry(SQLite::Database& database);

/// Whether something in the file is not as any train or SQLite has written it.
bool is_damage(const SQLite::Exception& exception);

/// What to do with a registry at `path` that is damaged.
std::string damaged_hint(const std::string& path);

/// A failure of SQLite in the user's words, with a next step. Damaged, unreadable, read-only and
/// full are of class `no_input`, locked for too long is `busy`, all else is a bug.
Error registry_error(const std::string& path, const std::exception& exception);

}  // namespace train
