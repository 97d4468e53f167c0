// SPDX-License-Identifier: Apache-2.0
#include "launcher/context/context.hpp"

#include <algorithm>

namespace train {

namespace {

constexpr std::size_t longest_part = 255;
constexpr std::size_t longest_path = 4'000;
constexpr int most_parts = 128;

// Removes the part up to the next slash, and the slash, from a path.
std::string_view take_part(std::string_view& path) {
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return part;
}

}  // namespace

bool is_well_formed(const Context& context) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return context.sha256.size() == 64 &&
         std::all_of(context.sha256.begin(), context.sha256.end(), is_digit) &&
         context.size <= largest_archive;
}

bool is_context_path(std::string_view path) {
  if (path.empty() || path.size() > longest_path || path.back() == '/') return false;
  if (path.find('\0') != path.npos) return false;
  int parts = 0;
  while (!path.empty()) {
    const std::string_view part = take_part(path);
    const bool is_good =
        !part.empty() && part != "." && part != ".." && part.size() <= longest_part;
    if (!is_good || ++parts > most_parts) return false;
  }
  return true;
}

bool is_inside(std::string_view path, std::string_view target) {
  if (target.empty() || target.size() > longest_path || target.front() == '/' ||
      target.find('\0') != target.npos)
    return false;
  auto depth = std::count(path.begin(), path.end(), '/');
  while (!target.empty()) {
    const std::string_view part = take_part(target);
    if (part == "..") --depth;
    if (part != ".." && part != "." && !part.empty()) ++depth;
    if (depth < 0) return false;
  }
  return true;
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

}  // namespace train
