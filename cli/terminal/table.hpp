// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace train {

/// Texts in columns, all rows of one size. The first is the heading.
using TableRows = std::vector<std::vector<std::string>>;

/// Rows as lines whose columns stand below each other. Texts are escaped.
std::string table_text(TableRows rows);

/// Rows as RFC 4180 CSV. Texts are escaped here as well.
std::string table_csv(const TableRows& rows);

}  // namespace train
