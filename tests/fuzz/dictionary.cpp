// SPDX-License-Identifier: Apache-2.0
// Prints a dictionary for libFuzzer: the words of all keys and choices of the tables of fields.
//   fuzz_dictionary experiment|hosts
#include <cstdio>
#include <set>
#include <string>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/text/text.hpp"

using namespace train;

namespace {

void add_words(std::string_view text, char separator, std::set<std::string>& words) {
  for (const std::string_view word : split(text, separator))
    if (!word.empty()) words.emplace(word);
}

std::set<std::string> words_of(const FieldTable& table) {
  std::set<std::string> words;
  for (const Field& field : table.fields()) {
    add_words(field.path, '.', words);
    add_words(field.choices, '|', words);
    add_words(field.later_choices, '|', words);
    add_words(field.default_text, '\n', words);
  }
  return words;
}

void print(const std::set<std::string>& words) {
  for (const std::string& word : words)
    if (word.find_first_of("\"\\") == word.npos) std::printf("\"%s\"\n", word.c_str());
}

}  // namespace

int main(int argc, char* argv[]) {
  const std::string target = argc == 2 ? argv[1] : "";
  if (target == "experiment") {
    print(words_of(experiment_fields()));
    print(words_of(hyperparameter_fields()));
  } else if (target == "hosts") {
    print(words_of(host_fields()));
    print(words_of(inventory_fields()));
  } else {
    std::fputs("usage: fuzz_dictionary experiment|hosts\n", stderr);
    return 64;
  }
}
