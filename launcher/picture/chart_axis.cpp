// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/chart_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace train {
namespace {

// Minimum ratio of largest and smallest metric for a logarithmic axis.
constexpr double log_from = 100;

// "2e+07" without its sign and zero.
std::string tick_label(double value, int digits) {
  std::string text = fmt::format("{:.{}g}", value, digits);
  const std::size_t exponent = text.find('e');
  if (exponent == text.npos) return text;
  std::size_t begin = exponent + 1;
  if (text[begin] == '-')
    ++begin;
  else
    text.erase(begin, 1);
  const std::size_t digit = std::min(text.find_first_not_of('0', begin), text.size() - 1);
  return text.erase(begin, digit - begin);
}

// The smallest of 1, 2 and 5 times a power of ten that is not below this.
long double round_step(long double at_least) {
  const long double power = std::pow(10.0L, std::floor(std::log10(at_least)));
  for (const int times : {1, 2, 5})
    if (times * power >= at_least) return times * power;
  return 10 * power;
}

}  // namespace

ChartAxis::ChartAxis(double least, double most, bool is_logarithmic)
    : least_(least), most_(most), is_logarithmic_(is_logarithmic) {
  if (least_ < most_) return;
  const long double around = least_ == 0 ? 1 : std::abs(least_) / 10;
  least_ -= around;
  most_ += around;
}

ChartAxis ChartAxis::of_steps(double least, double most, bool are_whole) {
  const bool from_zero = least >= 0;
  ChartAxis axis(from_zero ? 0 : least, from_zero && most == 0 ? 1 : most, false);
  axis.are_whole_ = are_whole;
  return axis;
}

ChartAxis ChartAxis::of_metrics(double least, double most) {
  return {least, most, least > 0 && most / least > log_from};
}

double ChartAxis::place(double value) const {
  if (is_logarithmic_)
    return static_cast<double>(std::log10(value / least_) / std::log10(most_ / least_));
  return static_cast<double>((value - least_) / (most_ - least_));
}

std::vector<Tick> ChartAxis::ticks() const {
  return is_logarithmic_ ? decade_ticks() : even_ticks();
}

std::vector<Tick> ChartAxis::even_ticks() const {
  constexpr int aim = 6;
  constexpr int least_digits = 6;
  constexpr int most_digits = 17;
  long double step = round_step((most_ - least_) / aim);
  if (are_whole_) step = std::max(step, 1.0L);
  const long double largest = std::max(std::abs(least_), std::abs(most_));
  const int digits = std::clamp(static_cast<int>(std::ceil(std::log10(largest / step))) + 1,
                                least_digits, most_digits);
  std::vector<Tick> ticks;
  // Fraction of a step: most decimal numbers are not exact in binary.
  constexpr long double slack = 1e-9L;
  const long double first = std::ceil(least_ / step - slack);
  const long double last = std::floor(most_ / step + slack);
  for (long double i = first; i <= last; ++i) {
    const double value = i == 0 ? 0 : static_cast<double>(i * step);
    if (std::isfinite(value)) ticks.push_back({value, tick_label(value, digits)});
  }
  return ticks;
}

// Powers of ten, and intermediate values if these are few.
std::vector<Tick> ChartAxis::decade_ticks() const {
  constexpr int most_decades = 8;
  constexpr int few_decades = 3;
  constexpr int digits = 6;
  const int first = static_cast<int>(std::floor(std::log10(least_)));
  const int last = static_cast<int>(std::floor(std::log10(most_)));
  const int stride = (last - first) / most_decades + 1;
  const bool are_few = last - first <= few_decades;
  std::vector<Tick> ticks;
  for (int decade = first; decade <= last; decade += stride)
    for (const int times : {1, 3}) {
      const auto value = static_cast<double>(times * std::pow(10.0L, decade));
      if (value < least_ || value > most_ || (times != 1 && !are_few)) continue;
      ticks.push_back({value, tick_label(value, digits)});
    }
  return ticks;
}

}  // namespace train
