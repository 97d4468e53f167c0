// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace train {

/// Folds names into a short host set from which `expand_host_set` makes the same names in the same
/// order (not only the same set): `node[01-16],gpu-b`, `r[1-2]n[1-4]`, `n[3,1]`, `n[0-98/2]`. Only
/// neighbours fold, so the result is shortest for sorted names. Up to four numbers of a name fold;
/// digits that are padded differently stay apart (`n[1,01]`); IPv6 addresses do not fold. Takes
/// time in proportion to the names.
std::string fold_hosts(const std::vector<std::string>& names);

/// The same for messages and tables, never longer than `most_parts` parts of a few ranges each; the
/// hosts left out are counted: "node[01-16], gpu-b and 3 more".
std::string summarize_hosts(const std::vector<std::string>& names, std::size_t most_parts = 6);

}  // namespace train
