// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/line_patterns.hpp"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <cassert>

#include "config_schema/text/quiet_re2.hpp"

namespace train {

std::optional<std::string> pattern_fault(const std::string& pattern) {
  const RE2 compiled(pattern, quietly());
  return compiled.ok() ? std::nullopt : std::optional(compiled.error());
}

struct LinePatterns::Compiled {
  RE2::Set all{quietly(), RE2::UNANCHORED};
  std::vector<std::unique_ptr<RE2>> each;
  bool is_whole = false;  // `all` could be compiled within its bounds
};

LinePatterns::LinePatterns(const std::vector<std::string>& patterns)
    : compiled_(std::make_unique<Compiled>()) {
  for (const std::string& pattern : patterns) {
    compiled_->each.push_back(std::make_unique<RE2>(pattern, quietly()));
    assert(compiled_->each.back()->ok());
    (void)compiled_->all.Add(pattern, nullptr);
  }
  compiled_->is_whole = compiled_->all.Compile();
}

LinePatterns::~LinePatterns() = default;

std::vector<int> LinePatterns::found_in(std::string_view line) const {
  std::vector<int> found;
  if (compiled_->each.empty()) return found;
  const re2::StringPiece text(line.data(), line.size());
  if (compiled_->is_whole) {
    RE2::Set::ErrorInfo error{};
    const bool is_found = compiled_->all.Match(text, &found, &error);
    std::sort(found.begin(), found.end());
    if (is_found || error.kind == RE2::Set::kNoError) return found;
  }
  // The combined pattern exceeded its memory limit: matches each one separately.
  found.clear();
  for (std::size_t i = 0; i < compiled_->each.size(); ++i)
    if (RE2::PartialMatch(text, *compiled_->each[i])) found.push_back(static_cast<int>(i));
  return found;
}

}  // namespace train
