// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "config_schema/text/place_cursor.hpp"

namespace train {

namespace {

constexpr const char* form_of_counted = "lines are 'host slots queue processors'";
constexpr const char* form_of_pairs = "hosts and numbers take turns: 'node01 8 node02 8'";

Place place_at(const HostCounts::Line& line, std::size_t offset) {
  Place place = PlaceCursor(line.source, line.text).shown_at(offset);
  place.line += line.number - 1;  // the value of a variable may have several lines
  return place;
}

}  // namespace

void HostCounts::report(const Line& line, std::size_t offset, const HostSetError& error) {
  diagnostics_.error(
      place_at(line, offset + error.offset), {},
      line.context.empty() ? error.message : fmt::format("{}: {}", line.context, error.message),
      error.hint);
}

void HostCounts::add(const HostWord& name, int slots, const Line& line) {
  constexpr int most = 65'536;
  std::string text(name.text);
  const auto known = known_.find(text);
  if (known != known_.end()) {
    is_each_once_ = false;
    Host& host = hosts_[known->second];
    host.slots = std::min(*host.slots + slots, most);
    return;
  }
  if (const std::size_t bracket = text.find_first_of("[]"); bracket != text.npos)
    return report(line, name.offset,
                  {bracket, fmt::format("'{}' is no host's name", text),
                   "sets of hosts are not expanded here"});
  if (const auto checked = expand_host_pattern(text, max_hosts - hosts_.size()); !checked)
    return report(line, name.offset, checked.error());
  Host host;
  host.name = host.address = text;
  host.slots = slots;
  host.place = {line.source, line.number, 0, {}};
  known_.emplace(std::move(text), hosts_.size());
  hosts_.push_back(std::move(host));
}

void HostCounts::add_repeated(const Line& line) {
  const auto words = host_words(line.text);
  if (words.size() > 1)
    return report(line, words[1].offset,
                  {0, fmt::format("'{}' is not understood", words[1].text),
                   "one host's name is expected on each line"});
  add(words[0], 1, line);
}

void HostCounts::add_counted(const Line& line) {
  const auto words = host_words(line.text);
  if (words.size() < 2)
    return report(line, words[0].offset,
                  {words[0].text.size(),
                   fmt::format("the slots of '{}' are missing", words[0].text), form_of_counted});
  const auto slots = read_slots(words[1].text, 0);
  if (!slots) return report(line, words[1].offset, {0, slots.error().message, form_of_counted});
  add(words[0], *slots, line);
}

void HostCounts::add_gpu(const Line& line) {
  const HostWord word = host_words(line.text).front();
  constexpr std::string_view mark = "-gpu";
  const std::size_t at = word.text.rfind(mark);
  const std::string_view digits = at == word.text.npos ? "" : word.text.substr(at + mark.size());
  int index = -1;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || index < 0)
    return report(
        line, word.offset,
        {0, fmt::format("'{}' is no GPU of a host", word.text), "they are written as node01-gpu0"});
  const std::string name(word.text.substr(0, at));
  const auto known = known_.find(name);
  if (known == known_.end())
    return report(
        line, word.offset,
        {0, fmt::format("'{}' is not among the hosts of the job", name), "see $PBS_NODEFILE"});
  Host& host = hosts_[known->second];
  std::vector<int>& devices = host.device_indices;
  if (std::find(devices.begin(), devices.end(), index) != devices.end()) return;
  constexpr std::size_t most_gpus = 1'024;
  if (devices.size() == most_gpus)
    return report(line, word.offset,
                  {0, fmt::format("more than {} GPUs on one host", most_gpus), {}});
  devices.push_back(index);
  host.accelerators = static_cast<int>(devices.size());
  host.slots.reset();  // they are the GPUs
}

void HostCounts::add_names(const Line& line) {
  for (const HostWord& word : host_words(line.text)) add(word, 1, line);
}

void HostCounts::add_pairs(const Line& line) {
  const auto words = host_words(line.text);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size())
      return report(
          line, words[i].offset,
          {0, fmt::format("the slots of '{}' are missing", words[i].text), form_of_pairs});
    const auto slots = read_slots(words[i + 1].text, 0);
    if (!slots) return report(line, words[i + 1].offset, {0, slots.error().message, form_of_pairs});
    add(words[i], *slots, line);
  }
}

void HostCounts::set_slots(int each) {
  for (Host& host : hosts_) host.slots = each;
}

std::optional<std::string> HostCounts::drop_first_of_one_slot() {
  if (hosts_.empty() || hosts_.front().slots != 1) return std::nullopt;
  std::string name = hosts_.front().name;
  hosts_.erase(hosts_.begin());
  known_.clear();
  for (std::size_t i = 0; i < hosts_.size(); ++i) known_.emplace(hosts_[i].name, i);
  return name;
}

}  // namespace train
