// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/lease_fields.hpp"

namespace train {

using nlohmann::json;

json json_of_ranges(const std::vector<LeaseRange>& ranges) {
  json ends = json::array();
  for (const LeaseRange& range : ranges) {
    ends.push_back(range.begin);
    ends.push_back(range.end);
  }
  return ends;
}

std::vector<LeaseRange> ranges_of_json(const json& ends) {
  constexpr std::int64_t last = INT64_MAX / 2;
  if (!ends.is_array() || ends.size() % 2 != 0 || ends.size() > 2 * most_lease_ranges)
    throw Malformed{"ranges of units that are no pairs"};
  std::vector<LeaseRange> ranges;
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    if (!ends[i].is_number_unsigned() || !ends[i + 1].is_number_unsigned())
      throw Malformed{"a range of units that are no numbers"};
    const LeaseRange range{ends[i].get<std::uint64_t>(), ends[i + 1].get<std::uint64_t>()};
    if (range.begin >= range.end || range.end > last) throw Malformed{"an empty range of units"};
    ranges.push_back(range);
  }
  return merged(std::move(ranges));
}

std::string encode_holder(const HolderRecord& record) { return line_of_fields(record); }

Result<HolderRecord> decode_holder(std::string_view text) {
  return decode_fields<HolderRecord>(text, longest_holder_record,
                                     "what a holder says of itself is not understood");
}

}  // namespace train
