// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace train {

/// Whether a file of a context commonly holds keys or passwords, by its path: `.env`, `id_rsa`,
/// `.aws/credentials`, `*.pem`, ... Templates (`.env.example`) and public keys do not count.
bool is_private_file(std::string_view path);

/// A line that warns of such files, which names the first few of them and says how to exclude them;
/// empty if there are none.
std::string warning_of_private_files(const std::vector<std::string>& paths);

}  // namespace train
