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

/// How long to wait for a registry that another process has locked, in milliseconds.
inline constexpr int registry_wait_ms = 5'000;

/// Opens the SQLite database of all tasks at `path`, creating it (0600) and bringing its schema up
/// to date. A registry that a newer train has written is refused if this train cannot use it.
/// Errors are those of `registry_error`. `file_system` is the kind of file system that `path` is on
/// (`file_system_kind`); it is looked up when not given. At most one thread at a time may use the
/// database.
Result<std::unique_ptr<SQLite::Database>> open_registry(
    const std::string& path, std::optional<std::uint32_t> file_system = {});

/// The library of registries, with its version: "SQLite 3.40.1".
std::string registry_library();

/// Writes the write-ahead log back, waits for the disk, and empties the log: what was recorded so
/// far is then in the database alone, and survives damage to the log and a loss of power. False
/// when other users of the registry prevented it. Throws SQLite::Exception.
bool settle_registry(SQLite::Database& database);

/// Whether the exception says that the file is damaged: its contents are not what train or SQLite
/// writes.
bool is_damage(const SQLite::Exception& exception);

/// The hint for a damaged registry at `path`.
std::string damaged_hint(const std::string& path);

/// A failure of SQLite in the user's words, with a next step. A damaged, unreadable, read-only or
/// full registry is of class `no_input`, one that was locked for too long is `busy`, everything
/// else is `bug`.
Error registry_error(const std::string& path, const std::exception& exception);

}  // namespace train
