// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace train {

/// Texts in columns, all rows of the same length. The first row is the heading.
using TableRows = std::vector<std::vector<std::string>>;

/// Rows as lines with aligned columns. Texts are escaped.
std::string table_text(TableRows rows);

/// Rows as RFC 4180 CSV. Texts are escaped as well.
std::string table_csv(const TableRows& rows);

}  // namespace train
