// SPDX-License-Identifier: Apache-2.0
#include "config_schema/search/tune_words.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "config_schema/search/hyperparameters.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_writer.hpp"

namespace train {

namespace {

class TuneReader {
 public:
  TuneReader(const YamlEntry& word, const std::string& path, Diagnostics& diagnostics)
      : word_(word.key),
        list_(*word.value),
        place_(value_place(word)),
        path_(path + '.' + word.key),
        diagnostics_(diagnostics) {}

  std::optional<SearchParameter> read() {
    const bool has_values = word_ == "choice" || word_ == "grid_search";
    if (has_values) return read_values();
    const std::size_t wanted = word_ == "quniform" ? 3 : 2;
    if (list_.kind != YamlKind::sequence || list_.items.size() != wanted) {
      complain(fmt::format("must be a list of {} numbers, not {}", wanted, shown()), example());
      return std::nullopt;
    }
    return word_ == "randint" ? read_randint() : read_range();
  }

 private:
  std::optional<SearchParameter> read_values() {
    if (list_.kind != YamlKind::sequence || list_.items.empty()) {
      complain(fmt::format("must be a list of values, not {}", shown()), example());
      return std::nullopt;
    }
    check_for_json(list_, path_, diagnostics_);
    std::vector<std::string> values;
    for (const YamlNodePtr& item : list_.items) values.push_back(json_text(*item));
    if (word_ == "choice") return SearchParameter{parameter::Choice{std::move(values)}};
    return SearchParameter{parameter::GridSearch{std::move(values)}};
  }

  std::optional<SearchParameter> read_randint() {
    for (const YamlNodePtr& item : list_.items)
      if (!item->integer) {
        complain(fmt::format("must be two whole numbers of 64 bits, not {}", shown()), example());
        return std::nullopt;
      }
    const std::int64_t low = *list_.items[0]->integer;
    const std::int64_t end = *list_.items[1]->integer;
    if (!check_order(low < end)) return std::nullopt;
    return SearchParameter{parameter::WholeRange{low, end - 1, {}}};
  }

  std::optional<SearchParameter> read_range() {
    for (const YamlNodePtr& item : list_.items) {
      const bool is_number = item->is_number();
      if (is_number && std::isfinite(item->real)) continue;
      complain(fmt::format("must be a list of finite numbers, not {}", shown()), example());
      return std::nullopt;
    }
    const double first = list_.items[0]->real;
    const double second = list_.items[1]->real;
    if (word_ == "normal") return read_normal(first, second);
    if (!check_order(first < second)) return std::nullopt;
    if (!std::isfinite(second - first)) return beyond_doubles();
    if (word_ == "uniform") return SearchParameter{parameter::Range{first, second, {}, {}}};
    if (word_ == "quniform") return read_steps(first, second, list_.items[2]->real);
    if (first > 0) return SearchParameter{parameter::LogRange{std::log(first), std::log(second)}};
    complain("has a logarithm: it must begin above 0", "write 'uniform', or a positive range");
    return std::nullopt;
  }

  std::optional<SearchParameter> read_normal(double mean, double deviation) {
    if (deviation < 0) {
      complain("has a negative deviation", "write [mean, deviation]");
      return std::nullopt;
    }
    constexpr double farthest = 40;  // a bound that no normal number in double precision exceeds
    if (!std::isfinite(std::abs(mean) + farthest * deviation)) return beyond_doubles();
    return SearchParameter{parameter::Normal{mean, deviation}};
  }

  std::optional<SearchParameter> read_steps(double low, double high, double step) {
    if (!(step > 0)) {
      complain("must have a step above 0", "write [low, high, step]");
      return std::nullopt;
    }
    const parameter::StepRange range{std::ceil(low / step) * step, std::floor(high / step) * step,
                                     step};
    if (!std::isfinite(range.low) || !std::isfinite(range.high)) return beyond_doubles();
    if (range.low <= range.high) return SearchParameter{range};
    complain(fmt::format("has no multiple of {} in its range", list_.items[2]->text),
             "widen the range, or write a smaller step");
    return std::nullopt;
  }

  bool check_order(bool is_ordered) {
    if (is_ordered) return true;
    const bool are_equal = list_.items[0]->real == list_.items[1]->real;
    complain(fmt::format("must end above its begin, unlike {}", shown()),
             are_equal ? "write the plain value" : "swap the two");
    return false;
  }

  std::optional<SearchParameter> beyond_doubles() {
    complain("has values that no double can hold", "write a smaller range");
    return std::nullopt;
  }

  std::string shown() const {
    if (list_.kind != YamlKind::sequence) return describe(list_);
    return list_.items.empty() ? "an empty list" : json_text(list_);
  }

  std::string example() const {
    if (word_ == "choice" || word_ == "grid_search") return fmt::format("write {}: [a, b]", word_);
    if (word_ == "normal") return "write normal: [mean, deviation]";
    return fmt::format("write {}: [low, high{}]", word_, word_ == "quniform" ? ", step" : "");
  }

  void complain(const std::string& what, std::string hint) {
    diagnostics_.error(place_, path_, fmt::format("'{}' {}", path_, what), std::move(hint));
  }

  const std::string& word_;
  const YamlNode& list_;
  Place place_;
  std::string path_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<SearchParameter> read_tune_word(const YamlEntry& word, const std::string& path,
                                              Diagnostics& diagnostics) {
  return TuneReader(word, path, diagnostics).read();
}

}  // namespace train
