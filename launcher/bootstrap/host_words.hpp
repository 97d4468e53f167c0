// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace train {

/// What a host said, for a sentence of ours: one line of at most `limit` printable bytes, the last
/// ones of `text`.
std::string printable(std::string_view text, std::size_t limit);

}  // namespace train
