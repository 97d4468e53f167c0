// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace train {

/// `page.css`.
std::string_view page_style();
/// `page.js`.
std::string_view page_script();
/// The SHA-256 of `page.js` in base64, as a content security policy names it.
std::string_view page_script_sha256();

}  // namespace train
