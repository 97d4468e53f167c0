// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/error_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

std::string first_line(std::string_view text) {
  constexpr std::size_t longest = 400;
  text = text.substr(0, text.find('\n'));
  if (text.size() <= longest) return std::string(text);
  std::size_t end = longest;
  while (end > 0 && is_continuation(text[end])) --end;
  return std::string(text.substr(0, end)) + "...";
}

// Takes the message from the JSON while it is parsed: hostile input builds no tree, and a file that
// was cut off after its message still gives it. Every `false` ends the parsing.
class MessageReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  const std::optional<std::string>& message() const { return message_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& text) override {
    if (!is_at_message()) return true;
    message_ = std::move(text);
    return false;
  }
  bool start_object(std::size_t) override {
    // The outer object, or the object that is its message.
    if (depth_ == 0 || (depth_ == 1 && is_at_message())) ++messages_deep_;
    ++depth_;
    key_.clear();
    return depth_ < most_nested;
  }
  bool end_object() override {
    --depth_;
    messages_deep_ = std::min(messages_deep_, depth_);
    key_.clear();
    return true;
  }
  bool start_array(std::size_t) override { return ++depth_ < most_nested; }
  bool end_array() override {
    --depth_;
    key_.clear();
    return true;
  }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  static constexpr int most_nested = 64;
  bool is_at_message() const { return depth_ == messages_deep_ && depth_ > 0 && key_ == "message"; }

  int depth_ = 0;
  int messages_deep_ = 0;  // how many of the enclosing objects are the outer one or its message
  std::string key_;
  std::optional<std::string> message_;
};

}  // namespace

std::string message_of_error_file(std::string_view text) {
  MessageReader reader;
  nlohmann::json::sax_parse(text, &reader);
  return first_line(reader.message() ? *reader.message() : trim(text));
}

}  // namespace train
