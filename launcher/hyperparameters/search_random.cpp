// SPDX-License-Identifier: Apache-2.0
#include "launcher/hyperparameters/search_random.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace train {

using nlohmann::json;

namespace {

constexpr std::size_t hex_digits = 8;  // of a word in a snapshot

}  // namespace

SearchRandom::SearchRandom(std::uint32_t seed) {
  words_[0] = seed;
  for (std::size_t i = 1; i < size; ++i) {
    const std::uint32_t before = words_[i - 1];
    words_[i] = 1'812'433'253u * (before ^ (before >> 30)) + static_cast<std::uint32_t>(i);
  }
}

// Each word is computed from three of the previous round, some of which are already replaced.
void SearchRandom::refill() {
  constexpr std::size_t distance = 397;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t joined =
        (words_[i] & 0x8000'0000u) | (words_[(i + 1) % size] & 0x7fff'ffffu);
    const std::uint32_t twist = (joined & 1u) != 0 ? 0x9908'b0dfu : 0u;
    words_[i] = words_[(i + distance) % size] ^ (joined >> 1) ^ twist;
  }
  next_ = 0;
}

std::uint32_t SearchRandom::word() {
  if (next_ == size) refill();
  std::uint32_t drawn = words_[next_++];
  drawn ^= drawn >> 11;
  drawn ^= (drawn << 7) & 0x9d2c'5680u;
  drawn ^= (drawn << 15) & 0xefc6'0000u;
  return drawn ^ (drawn >> 18);
}

double SearchRandom::unit() {
  const std::uint32_t high = word() >> 5;  // 27 bits
  const std::uint32_t low = word() >> 6;   // 26 bits
  return (high * 67'108'864.0 + low) / 9'007'199'254'740'992.0;
}

std::uint64_t SearchRandom::whole(std::uint64_t most) {
  if (most == 0) return 0;
  const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(most);
  while (true) {
    std::uint64_t drawn = word();
    if (most > UINT32_MAX) drawn = (drawn << 32) | word();
    drawn &= mask;
    if (drawn <= most) return drawn;
  }
}

double SearchRandom::normal() {
  if (kept_normal_) return *std::exchange(kept_normal_, std::nullopt);
  while (true) {
    const double x = 2.0 * unit() - 1.0;
    const double y = 2.0 * unit() - 1.0;
    const double square = x * x + y * y;
    if (square >= 1.0 || square == 0.0) continue;
    const double factor = std::sqrt(-2.0 * std::log(square) / square);
    kept_normal_ = factor * x;
    return factor * y;
  }
}

json SearchRandom::snapshot() const {
  std::string words;
  for (const std::uint32_t word : words_) words += fmt::format("{:08x}", word);
  return {{"words", std::move(words)},
          {"next", next_},
          {"normal", kept_normal_ ? json(*kept_normal_) : json()}};
}

Result<SearchRandom> SearchRandom::restored(const json& snapshot) {
  const auto damaged = [] {
    return fail(ErrorClass::no_input, "the random numbers of the search are damaged");
  };
  if (!snapshot.is_object() || !snapshot.contains("words") || !snapshot.contains("next") ||
      !snapshot.contains("normal"))
    return damaged();
  const json& words = snapshot["words"];
  const json& next = snapshot["next"];
  const json& normal = snapshot["normal"];
  if (!words.is_string() || !next.is_number_unsigned() || !(normal.is_null() || normal.is_number()))
    return damaged();
  const auto& text = words.get_ref<const std::string&>();
  SearchRandom random(0);
  random.next_ = next.get<std::size_t>();
  if (text.size() != size * hex_digits || random.next_ > size) return damaged();
  for (std::size_t i = 0; i < size; ++i) {
    const char* begin = text.data() + i * hex_digits;
    const auto read = std::from_chars(begin, begin + hex_digits, random.words_[i], 16);
    if (read.ec != std::errc() || read.ptr != begin + hex_digits) return damaged();
  }
  if (normal.is_number()) random.kept_normal_ = normal.get<double>();
  return random;
}

}  // namespace train
