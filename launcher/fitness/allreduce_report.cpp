// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/allreduce_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "config_schema/text/line_words.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/frames/fields.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr std::uint64_t least_size = 8;
constexpr std::uint64_t size_factor = 8;
constexpr std::size_t most_sizes = 13;  // up to `most_allreduce_bytes`
constexpr int looked_at = 3;            // checked sums of each size on each rank
constexpr int most_others_lines = 1'000;
constexpr std::size_t longest_version = 16;
constexpr std::size_t longest_gpu_name = 96;
constexpr std::size_t id_digits = 2 * 128;
constexpr std::size_t longest_quote = 80;

bool is_version(std::string_view word) {
  return !word.empty() && word.size() <= longest_version &&
         word.find_first_not_of("0123456789.") == word.npos;
}

bool is_one_of_ours(std::string_view word) {
  for (const std::string_view ours : {"ready", "copy", "id", "size", "done", "trouble"})
    if (word == ours) return true;
  return false;
}

}  // namespace

void fields(auto& f, Described<AllReduceTime> auto& time) {
  f.number("bytes", time.bytes);
  f.duration("ns", time.time, 1);
  f.number("wrong", time.wrong, 0, looked_at * most_allreduce_ranks);
}

void fields(auto& f, Described<AllReduceRank> auto& rank) {
  f.number("rank", rank.rank, 0, most_allreduce_ranks - 1);
  f.text("cuda", rank.cuda, longest_version);
  f.text("nccl", rank.nccl, longest_version);
  f.words("gpu", rank.gpu, longest_gpu_name);
  f.words("network", rank.network, longest_nccl_network);
  f.number("to_device", rank.to_device);
  f.number("from_device", rank.from_device);
  f.number("wrong", rank.wrong, 0, looked_at * static_cast<int>(most_sizes));
  f.check([&] { return is_version(rank.cuda); }, "'cuda' is no version");
  f.check([&] { return is_version(rank.nccl); }, "'nccl' is no version");
}

// The sizes are the usual ones, and the ranks are in order.
void fields(auto& f, Described<AllReduceReport> auto& report) {
  f.number("world", report.world, 1, most_allreduce_ranks);
  f.list("times", report.times, most_sizes);
  f.list("ranks", report.ranks, most_allreduce_ranks);
  std::uint64_t size = least_size;
  for (const AllReduceTime& time : report.times) {
    f.check([&] { return time.bytes == size; }, "'times' is not of the usual sizes");
    size *= size_factor;
  }
  int least = 0;
  for (const AllReduceRank& rank : report.ranks) {
    f.check([&] { return rank.rank >= least && rank.rank < report.world; },
            "'ranks' is out of order");
    least = rank.rank + 1;
  }
}

namespace {

json json_of(const AllReduceGroup& group) {
  if (group.troubles.empty())
    return {{"members", group.members}, {"report", json_of_fields(group.report)}};
  json troubles = json::array();
  for (const auto& [place, words] : group.troubles)
    troubles.push_back(
        {{"place", place}, {"words", from_bytes(cut_to_json(words, longest_trouble))}});
  return {{"members", group.members}, {"troubles", std::move(troubles)}};
}

// A group has either a report of all members, or the trouble of at least one.
AllReduceGroup group_of(const json& value, int world) {
  AllReduceGroup group;
  group.members = int_list_field(value, "members", 0, world - 1, static_cast<std::size_t>(world));
  const auto count = static_cast<int>(group.members.size());
  if (value.contains("report")) {
    group.report = struct_of_json<AllReduceReport>(field(value, "report"));
    if (group.report.world != count || group.report.ranks.size() != group.members.size() ||
        group.report.times.empty())
      throw Malformed{"a group's report is not of all its members"};
    return group;
  }
  for (const json& trouble : array_field(value, "troubles", group.members.size()))
    group.troubles[int_field(trouble, "place", 0, count - 1)] =
        text_field(trouble, "words", longest_trouble);
  if (group.troubles.empty()) throw Malformed{"a group has measured nothing"};
  return group;
}

tl::unexpected<Error> cannot_join(const std::string& why) {
  return fail(ErrorClass::host,
              "the all-reduce of several hosts is not told by all of them: " + why);
}

bool are_alike(const std::vector<AllReduceTime>& one, const std::vector<AllReduceTime>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const auto& a, const auto& b) { return a.bytes == b.bytes; });
}

void add(AllReduceReport& whole, const AllReduceReport& part) {
  for (std::size_t i = 0; i < whole.times.size(); ++i) {
    whole.times[i].time = std::max(whole.times[i].time, part.times[i].time);
    whole.times[i].wrong += part.times[i].wrong;
  }
  whole.ranks.insert(whole.ranks.end(), part.ranks.begin(), part.ranks.end());
}

}  // namespace

std::vector<std::uint64_t> allreduce_sizes(std::uint64_t largest) {
  std::vector<std::uint64_t> sizes;
  const std::uint64_t most = std::min(largest, most_allreduce_bytes);
  for (std::uint64_t bytes = least_size; bytes <= most; bytes *= size_factor)
    sizes.push_back(bytes);
  return sizes;
}

double bus_bandwidth(std::uint64_t bytes, nanoseconds time, int world) {
  if (time.count() <= 0 || world <= 0) return 0;
  const double algorithm = static_cast<double>(bytes) * 1e9 / static_cast<double>(time.count());
  return algorithm * 2 * (world - 1) / world;
}

bool is_allreduce_id(std::string_view text) {
  return text.size() == id_digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

AllReduceTalk::AllReduceTalk(int rank, std::uint64_t largest)
    : rank_(rank), sizes_(allreduce_sizes(largest)) {}

Result<void> AllReduceTalk::take(std::string_view line) {
  std::string_view rest = line;
  const std::string_view word = next_word(rest);
  if (!is_one_of_ours(word)) {
    if (++others_lines_ <= most_others_lines) return {};
    return fail(ErrorClass::host, "NCCL or the driver prints without end where answers belong");
  }
  if (word == "trouble" && !rest.empty())
    return fail(ErrorClass::host, std::string(rest.substr(0, longest_trouble)));
  if (take_known(line)) return {};
  return fail(ErrorClass::host,
              fmt::format("what a rank says of its all-reduce is not understood: '{}'",
                          line.substr(0, longest_quote)));
}

bool AllReduceTalk::take_known(std::string_view line) {
  if (is_done_) return false;
  const std::string_view word = next_word(line);
  if (word == "ready") return take_ready(line);
  if (word == "copy") return take_copy(line);
  if (word == "id") return take_id(line);
  if (word == "size") return take_size(line);
  is_done_ = line.empty() && !facts_.times.empty();
  return is_done_;
}

bool AllReduceTalk::take_ready(std::string_view line) {
  if (is_ready()) return false;
  facts_.cuda = next_word(line);
  facts_.nccl = next_word(line);
  if (!is_version(facts_.cuda) || !is_version(facts_.nccl) || line.size() > longest_gpu_name)
    return false;
  facts_.gpu = line;
  return is_ready();
}

bool AllReduceTalk::take_copy(std::string_view line) {
  const auto to_device = natural_number(next_word(line));
  const auto from_device = natural_number(next_word(line));
  if (!is_ready() || facts_.to_device != 0 || !line.empty()) return false;
  facts_.to_device = to_device.value_or(0);
  facts_.from_device = from_device.value_or(0);
  return facts_.to_device != 0 && facts_.from_device != 0;
}

bool AllReduceTalk::take_id(std::string_view line) {
  if (rank_ != 0 || facts_.from_device == 0 || !id_.empty() || !is_allreduce_id(line)) return false;
  id_ = line;
  return true;
}

bool AllReduceTalk::take_size(std::string_view line) {
  const std::size_t index = facts_.times.size();
  const auto bytes = natural_number(next_word(line));
  const auto time = natural_number(next_word(line));
  const auto wrong = natural_number(next_word(line));
  if (facts_.from_device == 0 || index == sizes_.size() || bytes != sizes_[index] ||
      time.value_or(0) == 0 || wrong.value_or(looked_at + 1) > looked_at || !line.empty())
    return false;
  facts_.times.push_back(
      {*bytes, nanoseconds(static_cast<std::int64_t>(*time)), static_cast<int>(*wrong)});
  return true;
}

AllReduceReport report_of_rank(int rank, int world, const AllReduceFacts& facts) {
  AllReduceReport report{world, facts.times, {}};
  report.ranks.push_back({.rank = rank,
                          .cuda = facts.cuda,
                          .nccl = facts.nccl,
                          .gpu = facts.gpu,
                          .network = facts.network,
                          .to_device = facts.to_device,
                          .from_device = facts.from_device});
  for (const AllReduceTime& time : facts.times) report.ranks[0].wrong += time.wrong;
  return report;
}

Result<AllReduceReport> report_of_all(const std::vector<AllReduceReport>& parts) {
  if (parts.empty()) return cannot_join("no rank has reported");
  AllReduceReport whole{parts[0].world, parts[0].times, {}};
  for (AllReduceTime& time : whole.times) time.wrong = 0;
  for (const AllReduceReport& part : parts) {
    if (part.world != whole.world || !are_alike(part.times, whole.times))
      return cannot_join("they have measured different things");
    add(whole, part);
  }
  std::sort(whole.ranks.begin(), whole.ranks.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  for (int rank = 0; rank < std::max(whole.world, static_cast<int>(whole.ranks.size())); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    if (place >= whole.ranks.size() || whole.ranks[place].rank > rank)
      return cannot_join(fmt::format("rank {} is missing", rank));
    if (whole.ranks[place].rank < rank)
      return cannot_join(fmt::format("rank {} is there twice", whole.ranks[place].rank));
  }
  return whole;
}

std::string encode_allreduce_report(const AllReduceReport& report) {
  return line_of_fields(report);
}

Result<AllReduceReport> decode_allreduce_report(std::string_view line) {
  return decode_fields<AllReduceReport>(line, longest_allreduce_report,
                                        "what hosts say of their all-reduce is not understood");
}

std::string encode_allreduce_groups(const std::vector<AllReduceGroup>& groups) {
  json all = json::array();
  for (const AllReduceGroup& group : groups) all.push_back(json_of(group));
  return json{{"groups", std::move(all)}}.dump() + "\n";
}

Result<std::vector<AllReduceGroup>> decode_allreduce_groups(std::string_view line, int world) {
  return decode_document<std::vector<AllReduceGroup>>(
      line, longest_allreduce_groups, "what ranks say of their all-reduces is not understood",
      [&](const json& value) {
        std::vector<AllReduceGroup> groups;
        for (const json& group : array_field(value, "groups", most_allreduce_groups))
          groups.push_back(group_of(group, world));
        return groups;
      });
}

}  // namespace train
