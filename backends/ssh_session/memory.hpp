// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace train {

/// Returns those pages of a block of private memory that contain only zeros to the system: they
/// still read as zeros, and take memory again only when they are written to.
void release_zero_pages(void* block, std::size_t size);

}  // namespace train
