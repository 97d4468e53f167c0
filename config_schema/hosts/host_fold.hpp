// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace train {

/// Folds names into a short host set from which `expand_host_set` makes the same names in the same
/// order (not only the same set): `node[01-16],gpu-b`, `r[1-2]n[1-4]`, `n[3,1]`, `n[0-98/2]`. Folds
/// only neighbours, so the result is shortest for sorted names. Folds up to four numbers of a name;
/// numbers with different padding are not merged (`n[1,01]`); IPv6 addresses are not folded. Takes
/// linear time.
std::string fold_hosts(const std::vector<std::string>& names);

/// The same for messages and tables, with at most `most_parts` parts of a few ranges each; the
/// number of omitted hosts is added: "node[01-16], gpu-b and 3 more".
std::string summarize_hosts(const std::vector<std::string>& names, std::size_t most_parts = 6);

}  // namespace train
