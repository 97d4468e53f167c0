// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "launcher/context/context.hpp"

namespace train {

/// How a context is written down: as a POSIX tar archive (IEEE 1003.1, pax) that says nothing which
/// could differ between two packings of the same files. Entries come in the order of their paths'
/// bytes, folders before what is in them; no owner, no times; a pax header only for a path or
/// target of more than 100 bytes. tar(1) reads it.
///
///     for each entry: archive_header, the bytes of a file, archive_padding;  then archive_end

/// Everything before the content of an entry.
std::string archive_header(const ContextEntry& entry);
/// What follows the content of a file of that size: zeros up to a whole block.
std::string archive_padding(std::uint64_t size);
/// The end of an archive.
std::string archive_end();

/// Bytes that an entry takes in the archive, with its content.
std::uint64_t archived_size(const ContextEntry& entry);

constexpr std::size_t archive_block = 512;

}  // namespace train
