// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/table.hpp"

#include <algorithm>

#include "config_schema/text/terminal_text.hpp"
#include "launcher/picture/columns.hpp"

namespace train {

namespace {

std::string csv_field(const std::string& outside) {
  std::string text = escaped(outside);  // names also come from other users
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string table_text(TableRows rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (plain_length(row[i]) < row[i].size()) row[i] = escaped(row[i]);
      widths[i] = std::max(widths[i], count_columns(row[i]));
    }
  std::size_t columns = 1;
  for (const std::size_t width : widths) columns += width + 2;
  std::string text;
  text.reserve(rows.size() * columns);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      text.append(widths[i] - count_columns(row[i]) + 2, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string table_csv(const TableRows& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + csv_field(row[i]);
    text += "\r\n";
  }
  return text;
}

}  // namespace train
