// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace train {

/// Gives the whole pages of a block of private memory that hold nothing but zeros back to the
/// system: they read as zeros as before, and take room again only when they are written to.
void release_zero_pages(void* block, std::size_t size);

}  // namespace train
