// SPDX-License-Identifier: Apache-2.0
#include "backends/context/context_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace train {

namespace {

constexpr std::size_t most_named = 5;

std::string biggest_files(const std::vector<ContextEntry>& entries) {
  std::vector<const ContextEntry*> files;
  for (const ContextEntry& entry : entries)
    if (entry.kind == ContextEntry::Kind::file) files.push_back(&entry);
  const std::size_t count = std::min(most_named, files.size());
  std::partial_sort(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(count), files.end(),
                    [](const ContextEntry* a, const ContextEntry* b) { return a->size > b->size; });
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text +=
        fmt::format("{}'{}' has {}", i == 0 ? "" : ", ", files[i]->path, size_text(files[i]->size));
  return text;
}

// The folder, or file, of the context's own folder with most in it.
std::string fullest_folder(const std::vector<ContextEntry>& entries) {
  std::map<std::string, std::size_t, std::less<>> counts;
  for (const ContextEntry& entry : entries) ++counts[entry.path.substr(0, entry.path.find('/'))];
  const auto fullest =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{} of the first {} are in '{}'", fullest->second, entries.size(),
                     fullest->first);
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < (1u << 20)) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string ignore_file_of(const std::string& directory) { return directory + "/.trainignore"; }

Result<void> check_context_limits(const ContextFiles& files) {
  const std::string hint =
      "leave out what the ranks do not need: name it in " + ignore_file_of(files.directory);
  if (files.entries.size() > most_context_entries)
    return fail(ErrorClass::config,
                fmt::format("the context '{}' has more than {} files and folders; {}",
                            files.directory, most_context_entries, fullest_folder(files.entries)),
                hint);
  if (files.bytes > largest_context)
    return fail(ErrorClass::config,
                fmt::format("the context '{}' has {}, more than the {} that may travel; {}",
                            files.directory, size_text(files.bytes), size_text(largest_context),
                            biggest_files(files.entries)),
                hint);
  return {};
}

}  // namespace train
