// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_watch.hpp"

namespace train {

namespace {

std::vector<std::string> patterns_of(const std::vector<LogPolicy>& policies) {
  std::vector<std::string> patterns;
  patterns.reserve(policies.size());
  for (const LogPolicy& policy : policies) patterns.push_back(policy.pattern);
  return patterns;
}

}  // namespace

LogWatch::LogWatch(const std::vector<LogPolicy>& policies)
    : patterns_(patterns_of(policies)), is_idle_(policies.empty()) {}

std::vector<PolicyMatch> LogWatch::look(const OutputChunk& chunk) {
  std::vector<PolicyMatch> matches;
  if (is_idle_ || chunk.stream == OutputStream::metrics) return matches;
  if (chunk.dropped > 0) end_lines(chunk.rank, matches);
  lines_[{chunk.rank, chunk.stream}].add(
      chunk.bytes, [&](std::string_view line) { look(chunk.rank, line, matches); });
  return matches;
}

// It is not known which stream the missing bytes belong to.
void LogWatch::end_lines(int rank, std::vector<PolicyMatch>& matches) {
  for (const OutputStream stream : {OutputStream::out, OutputStream::err})
    if (const auto lines = lines_.find({rank, stream}); lines != lines_.end())
      lines->second.end([&](std::string_view line) { look(rank, line, matches); });
}

std::vector<PolicyMatch> LogWatch::end() {
  std::vector<PolicyMatch> matches;
  for (auto& [source, lines] : lines_)
    lines.end([&, rank = source.first](std::string_view line) { look(rank, line, matches); });
  lines_.clear();
  found_.clear();
  return matches;
}

void LogWatch::look(int rank, std::string_view line, std::vector<PolicyMatch>& matches) {
  for (const int policy : patterns_.found_in(line))
    if (found_.insert(policy).second)
      matches.push_back(
          {static_cast<std::size_t>(policy), rank, std::string(line.substr(0, longest_match))});
}

}  // namespace train
