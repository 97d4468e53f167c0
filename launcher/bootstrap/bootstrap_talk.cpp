// SPDX-License-Identifier: Apache-2.0
#include "launcher/bootstrap/bootstrap_talk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config_schema/text/line_words.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/bootstrap/bootstrap_command.hpp"

namespace train {
namespace {

constexpr std::size_t max_kept_noise = 500;
constexpr const char* be_quiet = "make the login shell of this user quiet for commands";

// "10.77.1.3", "fe80::1%eth0"; sshd writes UNKNOWN for an unknown address.
bool is_numeric_address(std::string_view word) {
  const auto is_part = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == ':' || c == '%' ||
           c == '-' || c == '_';
  };
  return !word.empty() && word.size() <= 64 && std::all_of(word.begin(), word.end(), is_part) &&
         word.find_first_of(".:") != word.npos;
}

// $SSH_CONNECTION: the client's address and port, the server's address and port; or empty.
bool parse_connection(std::string_view line, BootstrapAnswer& answer) {
  if (line.empty()) return true;
  const std::string_view client = next_word(line);
  (void)next_word(line);
  const std::string_view host = next_word(line);
  (void)next_word(line);
  if (is_numeric_address(client)) answer.client_address = client;
  if (is_numeric_address(host)) answer.host_address = host;
  return line.empty();
}

}  // namespace

BootstrapReader::BootstrapReader(const std::string& nonce) : marker_(bootstrap_marker(nonce)) {}

void BootstrapReader::feed(std::string_view bytes) {
  if (!broken_) buffer_ += bytes;
}

Result<std::optional<BootstrapAnswer>> BootstrapReader::next() {
  if (broken_) return tl::make_unexpected(*broken_);
  if (ready_) return std::nullopt;
  const auto give_up = [this](std::string message) {
    buffer_.clear();
    broken_ = make_error(ErrorClass::host, std::move(message), be_quiet);
    return tl::make_unexpected(*broken_);
  };

  const std::size_t start = buffer_.find(marker_);
  // A marker may be split over two pieces: a possible beginning is kept.
  if (start == std::string::npos)
    skip(buffer_.size() < marker_.size() ? 0 : buffer_.size() - marker_.size() + 1);
  else
    skip(start);
  if (skipped_ > max_noise)
    return give_up(
        fmt::format("the host printed more than {} KiB before it answered", max_noise >> 10));
  if (start == std::string::npos) return std::nullopt;

  const std::size_t end = buffer_.find('\n');
  if (std::min(end, buffer_.size()) > max_answer) return give_up("the host's answer has no end");
  if (end == std::string::npos) return std::nullopt;
  const std::string line = buffer_.substr(marker_.size(), end - marker_.size());
  buffer_.erase(0, end + 1);
  auto answer = parse(line);
  if (!answer) return give_up(fmt::format("the host's answer '{:.80}' is not understood", line));
  ready_ = answer->kind == BootstrapAnswer::Kind::ready;
  skipped_ = 0;
  return answer;
}

std::string BootstrapReader::take_rest() { return ready_ ? std::exchange(buffer_, {}) : ""; }

std::string BootstrapReader::noise() const {
  if (ready_) return noise_;
  return noise_ + buffer_.substr(0, max_kept_noise - noise_.size());
}

std::optional<BootstrapAnswer> BootstrapReader::parse(std::string_view line) const {
  using Kind = BootstrapAnswer::Kind;
  const std::string_view word = next_word(line);
  BootstrapAnswer answer;
  if (word == "ready") {
    answer.kind = Kind::ready;
    if (!parse_connection(line, answer)) return std::nullopt;
  } else if (word == "need") {
    answer.kind = Kind::need;
    answer.machine = next_word(line);
    answer.system = next_word(line);
  } else if (word == "failed") {
    answer.kind = Kind::failed;
    answer.reason = line;
    if (!answer.reason.empty() && answer.reason.back() == ';') answer.reason.pop_back();
  } else {
    return std::nullopt;
  }
  return answer;
}

void BootstrapReader::skip(std::size_t count) {
  if (noise_.size() < max_kept_noise)
    noise_.append(buffer_, 0, std::min(count, max_kept_noise - noise_.size()));
  buffer_.erase(0, count);
  skipped_ += count;
}

namespace {

constexpr int max_uploads = 4;  // the number of places
constexpr std::size_t max_reason = 2000;

tl::unexpected<Error> no_place(const std::string& reason) {
  // The agent needs nothing from the host, so the kernel, or a security module on top of it,
  // refuses it.
  if (reason.find("(it does not run there)") != std::string::npos)
    return fail(ErrorClass::host, fmt::format("train's agent does not run on the host: {}", reason),
                "it needs Linux 5.3 or newer, and leave to execute what is in one of these places");
  return fail(ErrorClass::host, fmt::format("no place on the host takes the binary: {}", reason),
              "make room, or a folder that allows programs, in one of these places");
}

}  // namespace

BootstrapTalk::BootstrapTalk(const std::string& nonce, std::string machine)
    : reader_(nonce), machine_(std::move(machine)) {}

Result<BootstrapTalk::Step> BootstrapTalk::next() {
  auto answer = reader_.next();
  if (!answer) return tl::make_unexpected(answer.error());
  if (!*answer) return Step::listen;
  switch ((*answer)->kind) {
    case BootstrapAnswer::Kind::ready:
      client_address_ = (*answer)->client_address;
      host_address_ = (*answer)->host_address;
      return Step::ready;
    case BootstrapAnswer::Kind::failed:
      return no_place(printable((*answer)->reason, max_reason));
    case BootstrapAnswer::Kind::need:
      break;
  }
  return on_need(**answer);
}

Result<void> BootstrapTalk::take_errors(std::size_t bytes) {
  errors_ += bytes;
  if (errors_ <= max_errors) return {};
  return fail(ErrorClass::host,
              fmt::format("the host printed more than {} MiB on standard error before it answered",
                          max_errors >> 20),
              be_quiet);
}

Result<BootstrapTalk::Step> BootstrapTalk::on_need(const BootstrapAnswer& answer) {
  if (answer.machine != machine_ || answer.system != "Linux")
    return fail(
        ErrorClass::host,
        fmt::format("the host is a {} {} machine, and this is a train for Linux {}",
                    printable(answer.system, 100), printable(answer.machine, 100), machine_),
        "launch from a machine of the same kind as the hosts");
  if (uploads_++ == max_uploads)
    return fail(ErrorClass::host, "the host asks for the binary again and again",
                "check the free space of its home and /tmp");
  return Step::upload;
}

}  // namespace train
