// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/shell_words.hpp"

#include <optional>

namespace train {

namespace {

bool is_separator(char c) { return c == ';' || c == '&' || c == '|' || c == '(' || c == ')'; }

class Splitter {
 public:
  explicit Splitter(std::string_view line) : line_(line) {}

  std::vector<std::vector<ShellWord>> split() {
    while (at_ < line_.size()) step();
    end_command();
    return std::move(commands_);
  }

 private:
  void step() {
    const char c = line_[at_];
    if (c == '\\') return take_escaped();
    if (c == '\'' || c == '"') return take_quoted(c);
    if (c == '#' && !word_) return skip_comment();
    if (c == '\n' || is_separator(c)) {
      end_command();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
    } else {
      word().text += c;
    }
    ++at_;
  }

  void take_escaped() {
    const bool is_continued = at_ + 1 < line_.size() && line_[at_ + 1] == '\n';
    if (is_continued)
      end_word();
    else if (at_ + 1 < line_.size())
      word().text += line_[at_ + 1];
    at_ += 2;
  }

  void take_quoted(char quote) {
    ShellWord& current = word();
    for (++at_; at_ < line_.size() && line_[at_] != quote; ++at_) {
      const bool is_escape = quote == '"' && line_[at_] == '\\' && at_ + 1 < line_.size();
      if (is_escape) ++at_;
      current.text += line_[at_];
    }
    ++at_;
  }

  void skip_comment() {
    while (at_ < line_.size() && line_[at_] != '\n') ++at_;
  }

  ShellWord& word() {
    if (!word_) word_ = ShellWord{{}, at_};
    return *word_;
  }

  void end_word() {
    if (!word_) return;
    const std::size_t equals = word_->text.find('=');
    const bool is_assignment =
        command_.empty() && equals != 0 && equals < word_->text.find_first_of("/-. $");
    if (!is_assignment) command_.push_back(std::move(*word_));
    word_.reset();
  }

  void end_command() {
    end_word();
    if (!command_.empty()) commands_.push_back(std::move(command_));
    command_.clear();
  }

  std::string_view line_;
  std::size_t at_ = 0;
  std::optional<ShellWord> word_;
  std::vector<ShellWord> command_;
  std::vector<std::vector<ShellWord>> commands_;
};

}  // namespace

std::string single_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted += "'";
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%^-";
  const bool is_plain = !word.empty() && word.find_first_not_of(plain) == word.npos;
  return is_plain ? std::string(word) : single_quoted(word);
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quoted(word);
  return line;
}

std::vector<std::vector<ShellWord>> shell_commands(std::string_view line) {
  return Splitter(line).split();
}

}  // namespace train
