// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/metrics_watch.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace train {

using nlohmann::json;

namespace {

constexpr int deepest = 32;

// What Python's json writes although JSON lacks it.
struct Foreign {
  std::string_view word;
  std::string_view instead;
};
constexpr Foreign foreign_words[] = {
    {"-Infinity", "\"-Infinity\""}, {"Infinity", "\"Infinity\""}, {"NaN", "null"}};

// Replaces foreign words outside of texts. Nothing if the nesting is too deep.
std::optional<std::string> standard_json(std::string_view line) {
  std::string text;
  int depth = 0;
  bool is_in_text = false;
  while (!line.empty()) {
    const char next = line.front();
    std::size_t size = 1;
    std::string_view instead = line.substr(0, 1);
    if (is_in_text) {
      if (next == '\\') size = std::min<std::size_t>(2, line.size());
      instead = line.substr(0, size);
      is_in_text = next != '"';
    } else {
      is_in_text = next == '"';
      depth += next == '{' || next == '[' ? 1 : 0;
      depth -= next == '}' || next == ']' ? 1 : 0;
      for (const Foreign& each : foreign_words)
        if (line.starts_with(each.word)) {
          size = each.word.size();
          instead = each.instead;
          break;
        }
    }
    if (depth > deepest) return std::nullopt;
    text += instead;
    line.remove_prefix(size);
  }
  return text;
}

}  // namespace

std::optional<std::string> metrics_of_line(std::string_view line) {
  const auto text = standard_json(line);
  if (!text) return std::nullopt;
  const json value = json::parse(*text, nullptr, false);
  if (!value.is_object()) return std::nullopt;
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<MetricsReport> MetricsWatch::look(const OutputChunk& chunk) {
  std::vector<MetricsReport> reports;
  if (chunk.stream != OutputStream::metrics) return reports;
  Line& line = lines_[chunk.rank];
  line.is_lost = line.is_lost || chunk.dropped > 0;
  std::string_view bytes = chunk.bytes;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    line.is_lost = line.is_lost || line.begin.size() + piece.size() > longest_report_line;
    if (line.is_lost)
      line.begin.clear();
    else
      line.begin += piece;
    if (newline == bytes.npos) break;
    end_line(chunk.rank, line, reports);
    bytes.remove_prefix(newline + 1);
  }
  return reports;
}

void MetricsWatch::end_line(int rank, Line& line, std::vector<MetricsReport>& reports) {
  const Line ended = std::exchange(line, {});
  if (ended.begin.empty() && !ended.is_lost) return;
  auto metrics = ended.is_lost ? std::nullopt : metrics_of_line(ended.begin);
  if (metrics)
    reports.push_back({rank, std::move(*metrics)});
  else
    ++ignored_;
}

void MetricsWatch::end() {
  for (const auto& [rank, line] : lines_)
    if (line.is_lost || !line.begin.empty()) ++ignored_;
  lines_.clear();
}

}  // namespace train
