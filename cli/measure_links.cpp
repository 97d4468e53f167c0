// SPDX-License-Identifier: Apache-2.0
#include "cli/measure_links.hpp"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "backends/network/link_measure.hpp"

namespace train {

namespace {

std::optional<int> number_of(const char* name, int least, int most) {
  const char* const value = std::getenv(name);
  const std::string_view text = value != nullptr ? value : "";
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || number < least || number > most) return std::nullopt;
  return number;
}

std::string text_of(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

Result<std::string> measure_links_of_task() {
  const auto world = number_of("WORLD_SIZE", 1, most_linked_ranks);
  const auto rank = number_of("RANK", 0, world.value_or(1) - 1);
  const auto port = number_of("MASTER_PORT", 1, 65'535);
  if (!world || !rank || !port)
    return fail(ErrorClass::usage, "measure-links runs as the ranks of a task",
                "'train check --full' starts it, one rank on each host");
  const LinkRank own{*rank, *world, text_of("MASTER_ADDR"), *port, text_of("TRAIN_TASK_ID")};
  const auto links = measure_links(own);
  if (!links) return tl::make_unexpected(links.error());
  return *rank == 0 ? encode_link_report(*links) : std::string();
}

}  // namespace train
