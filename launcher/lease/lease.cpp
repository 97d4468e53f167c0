// SPDX-License-Identifier: Apache-2.0
#include "launcher/lease/lease.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

using Kind = LeaseKey::Kind;

constexpr std::array<std::pair<Kind, const char*>, 8> kinds{{{Kind::place, "place"},
                                                             {Kind::cuda, "cuda"},
                                                             {Kind::rocm, "rocm"},
                                                             {Kind::device, "device"},
                                                             {Kind::slot, "slot"},
                                                             {Kind::cpus, "cpus"},
                                                             {Kind::memory, "memory"},
                                                             {Kind::custom, "custom"}}};

// A file name has at most 255 bytes; other parts of the name take some of them.
constexpr std::size_t longest_name = 120;

std::string name_in_file(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (is_plain_byte(c))
      text += c;
    else
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  if (text.size() <= longest_name) return text;
  return text.substr(0, longest_name) + fmt::format("%{:016x}", hash_of(name));
}

}  // namespace

const char* to_string(Kind kind) {
  return std::find_if(kinds.begin(), kinds.end(),
                      [kind](const auto& each) { return each.first == kind; })
      ->second;
}

std::optional<Kind> lease_kind_of(const std::string& word) {
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const auto& each) { return each.second == word; });
  return found == kinds.end() ? std::nullopt : std::optional(found->first);
}

std::uint64_t size_of(const std::vector<LeaseRange>& ranges) {
  std::uint64_t size = 0;
  for (const LeaseRange& range : ranges) size += range.end - range.begin;
  return size;
}

std::vector<LeaseRange> merged(std::vector<LeaseRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const LeaseRange& a, const LeaseRange& b) { return a.begin < b.begin; });
  std::vector<LeaseRange> result;
  for (const LeaseRange& range : ranges) {
    if (range.begin >= range.end) continue;
    if (!result.empty() && range.begin <= result.back().end)
      result.back().end = std::max(result.back().end, range.end);
    else
      result.push_back(range);
  }
  return result;
}

std::vector<LeaseRange> without(const std::vector<LeaseRange>& from,
                                const std::vector<LeaseRange>& ranges) {
  std::vector<LeaseRange> result;
  auto next = ranges.begin();
  for (LeaseRange left : from) {
    while (next != ranges.end() && next->end <= left.begin) ++next;
    for (auto each = next; each != ranges.end() && each->begin < left.end; ++each) {
      if (each->begin > left.begin) result.push_back({left.begin, each->begin});
      left.begin = std::max(left.begin, std::min(each->end, left.end));
    }
    if (left.begin < left.end) result.push_back(left);
  }
  return result;
}

std::optional<std::vector<LeaseRange>> choose_ranges(const LeaseWant& want,
                                                     const std::vector<LeaseRange>& held) {
  std::vector<LeaseRange> chosen;
  std::uint64_t lacking = want.amount;
  for (const LeaseRange& free : without({{0, want.capacity}}, held)) {
    if (lacking == 0) break;
    const std::uint64_t size = std::min(lacking, free.end - free.begin);
    chosen.push_back({free.begin, free.begin + size});
    lacking -= size;
  }
  if (lacking > 0) return std::nullopt;
  return chosen;
}

std::string lease_file_name(const LeaseKey& key) {
  switch (key.kind) {
    case Kind::cpus:
    case Kind::memory:
      return to_string(key.kind);
    case Kind::custom:
      return fmt::format("custom-{}", name_in_file(key.name));
    default:
      if (!key.name.empty())
        return fmt::format("{}-{}", to_string(key.kind), name_in_file(key.name));
      return fmt::format("{}-{}", to_string(key.kind), key.index);
  }
}

LeaseKey settled(const LeaseKey& key, int slots, const std::vector<int>& cuda,
                 const std::vector<int>& rocm) {
  if (key.kind != Kind::slot) return key;
  const auto slot = static_cast<std::size_t>(key.index);
  const auto is_one_of = [&](const std::vector<int>& gpus) {
    return static_cast<int>(gpus.size()) >= slots && slot < gpus.size();
  };
  if (is_one_of(cuda)) return {Kind::cuda, cuda[slot], {}};
  if (cuda.empty() && is_one_of(rocm)) return {Kind::rocm, rocm[slot], {}};
  return {Kind::place, key.index, {}};
}

bool is_same_slot(const LeaseKey& one, const LeaseKey& other) {
  if (one.kind != other.kind) return false;
  if (is_gpu(one) && !one.name.empty() && !other.name.empty()) return one.name == other.name;
  return one.index == other.index;
}

bool is_gpu(const LeaseKey& key) {
  return key.kind == LeaseKey::Kind::cuda || key.kind == LeaseKey::Kind::rocm;
}

LeaseKey named(LeaseKey key, const std::vector<std::string>& cuda,
               const std::vector<std::string>& rocm) {
  if (!is_gpu(key)) return key;
  const std::vector<std::string>& known = key.kind == LeaseKey::Kind::cuda ? cuda : rocm;
  const auto index = static_cast<std::size_t>(key.index);
  if (index < known.size() && known[index].size() <= longest_resource_name) key.name = known[index];
  return key;
}

}  // namespace train
